"""The pairs that everybody learns from."""

import gzip

import pytest

from benchmarks import ours
from benchmarks.tasks import Task, write_pairs, write_task


def zipped(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_words_are_spelled_and_have_their_first_sounds(tmp_path):
    folder = tmp_path / "data/cmudict-g2p/g014b2b"
    zipped(folder / "train.tsv.gz", "AB\tEY B", "AB\tAH B", "BB\tB IY")
    zipped(folder / "dev.tsv.gz", "BA\tB AH")
    task = write_task("g2p", tmp_path / "data", tmp_path / "work")
    pairs = set(task.pairs("train").read_text().splitlines())
    assert pairs == {"a b\tEY B", "b b\tB IY"}
    assert task.lines("dev", "target") == ["B AH"]
    assert task.vocabulary("source") == ["b", "a"]
    assert task.vocabulary("target") == ["B", "EY", "IY"]


def test_what_is_written_is_not_written_again(tmp_path):
    write_pairs(Task("mt", tmp_path / "mt", 9), [("a b", "c")], [("a", "c")])
    assert write_task("mt", tmp_path / "nowhere", tmp_path).vocabulary("target") == ["c"]


def test_a_pair_with_an_empty_side_is_left_out(tmp_path):
    for part in ("train", "val"):
        for side, lines in (("de", ("ein  Hund", "")), ("en", ("a dog", "a cat"))):
            zipped(tmp_path / f"multi30k/tok/{part}.lc.norm.tok.{side}.gz", *lines)
    task = write_task("mt", tmp_path, tmp_path / "work")
    assert task.lines("train", "source") == ["ein Hund"]
    assert task.lines("train", "target") == ["a dog"]


def test_data_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SystemExit) as refused:
        write_task("g2p", tmp_path, tmp_path / "work")
    path = tmp_path / "cmudict-g2p/g014b2b/train.tsv.gz"
    assert str(refused.value) == (
        f"{path} is not there, but it must be; a --data folder that holds it would do"
    )


def test_a_budget_makes_batches_of_so_many_rows(tmp_path):
    # all widths are 3 + 1 with the end: 5 rows take 20 symbols
    pairs = [("a b c", "d e")] * 50
    task = write_pairs(Task("same", tmp_path / "same", 9), pairs, pairs[:1])
    assert ours.budget(task, 5) == 20
