"""The data sets of the benchmarks."""

import gzip

import pytest

from benchmarks.datasets import BenchmarkDataset, write_dataset, write_pairs
from benchmarks.regard import batch_tokens


def zipped(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_words_are_split_into_letters_and_have_their_first_pronunciation(tmp_path):
    folder = tmp_path / "data/cmudict-g2p/g014b2b"
    zipped(folder / "train.tsv.gz", "AB\tEY B", "AB\tAH B", "BB\tB IY")
    zipped(folder / "dev.tsv.gz", "BA\tB AH")
    dataset = write_dataset("g2p", tmp_path / "data", tmp_path / "work")
    pairs = set(dataset.pairs("train").read_text().splitlines())
    assert pairs == {"a b\tEY B", "b b\tB IY"}
    assert dataset.lines("dev", "target") == ["B AH"]
    assert dataset.vocabulary("source") == ["b", "a"]
    assert dataset.vocabulary("target") == ["B", "EY", "IY"]


def test_complete_data_sets_are_not_written_again(tmp_path):
    write_pairs(BenchmarkDataset("mt", tmp_path / "mt", 9), [("a b", "c")], [("a", "c")])
    assert write_dataset("mt", tmp_path / "nowhere", tmp_path).vocabulary("target") == ["c"]


def test_a_pair_with_an_empty_side_is_left_out(tmp_path):
    for part in ("train", "val"):
        for side, lines in (("de", ("ein  Hund", "")), ("en", ("a dog", "a cat"))):
            zipped(tmp_path / f"multi30k/tok/{part}.lc.norm.tok.{side}.gz", *lines)
    dataset = write_dataset("mt", tmp_path, tmp_path / "work")
    assert dataset.lines("train", "source") == ["ein Hund"]
    assert dataset.lines("train", "target") == ["a dog"]


def test_missing_data_is_named(tmp_path):
    with pytest.raises(SystemExit) as refused:
        write_dataset("g2p", tmp_path, tmp_path / "work")
    path = tmp_path / "cmudict-g2p/g014b2b/train.tsv.gz"
    assert str(refused.value) == (f"{path} is missing; --data must name a folder that has it")


def test_a_token_budget_yields_the_requested_rows_per_batch(tmp_path):
    # all lengths are 3 + 1 with EOS: 5 rows take 20 tokens
    pairs = [("a b c", "d e")] * 50
    dataset = write_pairs(BenchmarkDataset("same", tmp_path / "same", 9), pairs, pairs[:1])
    assert batch_tokens(dataset, 5) == 20
