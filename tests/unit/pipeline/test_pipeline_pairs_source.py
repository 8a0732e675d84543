"""Where pairs may come from, and that each can be read again."""

import io
import os
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from pipeline_cases import tsv

from regard.data import pair_blocks
from regard.errors import ConfigError, DataError
from regard.pipeline import corpus_profile, messages, split
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.input_pairs import InputPairs, read_pairs
from regard.pipeline.pairs_source import PairsSource
from regard.pipeline.preprocessing import preprocess

PAIRS = [("a", "x"), ("b c", "y z")]


def refusal(kind, do, *arguments):
    with pytest.raises(kind) as caught:
        do(*arguments)
    return str(caught.value)


def read(source, skip=None):
    """Read pairs once, into a spool."""
    return read_pairs(source, "NFC", skip=skip).spool


def twice(source):
    spool = read(source)
    return list(spool.pairs()), list(spool.pairs())


def test_a_file_can_be_read_again(tmp_path):
    assert twice(PairsSource(tsv(tmp_path / "p.tsv", PAIRS))) == (PAIRS, PAIRS)


def test_two_parallel_files_can_be_read_again(tmp_path):
    (tmp_path / "s").write_text("a\nb c\n")
    (tmp_path / "t").write_text("x\ny z\n")
    assert twice(PairsSource(source=tmp_path / "s", target=tmp_path / "t")) == (PAIRS, PAIRS)


@pytest.mark.parametrize("given", [PAIRS, [list(pair) for pair in PAIRS], dict(PAIRS).items()])
def test_a_list_can_be_read_again(given):
    assert twice(PairsSource(given)) == (PAIRS, PAIRS)


def test_a_one_shot_iterator_can_be_read_again():
    assert twice(PairsSource(pair for pair in PAIRS)) == (PAIRS, PAIRS)


@pytest.mark.parametrize("name", ["-", Path("-")])
def test_standard_input_can_be_read_again(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("a file of that name is another matter")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tx\nb c\ty z\n")))
    assert twice(PairsSource(name)) == (PAIRS, PAIRS)


def test_a_pipe_can_be_read_again(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=tsv, args=(tmp_path / "pipe", PAIRS))
    writer.start()
    assert twice(PairsSource(tmp_path / "pipe")) == (PAIRS, PAIRS)
    writer.join()


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("ab", messages.NOT_A_PAIR),
        (("a",), messages.NOT_A_PAIR),
        (("a", "b", "c"), messages.NOT_A_PAIR),
        (("a", 3), messages.NOT_A_PAIR),
        ((b"a", b"b"), messages.NOT_A_PAIR),
        (None, messages.NOT_A_PAIR),
        ((" ", ""), "both sides are blank. Remove the line."),
        (
            ("", "b"),
            "the source is blank. Fill it in or remove the line.",
        ),
        (
            ("a", "\t"),
            "the target is blank. Fill it in or remove the line.",
        ),
        (("a\nb", "c"), "it contains a line end; both sides must be lines. Remove it."),
        (("a", "\0c"), "it contains NUL; both sides must be lines. Remove it."),
        (
            ("a\ud800", "c"),
            "it contains a lone surrogate; both sides must be lines. Remove it.",
        ),
    ],
)
def test_an_invalid_pair_is_refused_by_its_number(pair, problem):
    given = [("a", "b"), pair, ("c", "d")]
    assert refusal(DataError, read, PairsSource(given)) == f"pairs, line 2: {problem}"
    assert refusal(DataError, read, PairsSource(given, label="dev")) == f"dev, line 2: {problem}"
    skipped = []
    assert list(read(PairsSource(given), skipped.append).pairs()) == [("a", "b"), ("c", "d")]
    assert [error.line for error in skipped] == [2]


def test_a_list_of_pairs_excludes_other_sources():
    assert refusal(ConfigError, read, PairsSource(PAIRS, source="x")) == (
        "data: pairs is a list; source, target and columns are for files. Pass the list alone."
    )


def test_a_bad_line_stops_reading_unless_skipping_is_allowed(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("a\tx\nno tab\nb c\ty z\n")
    assert "p.tsv, line 2: the line has no tab" in refusal(DataError, read, PairsSource(path))
    skipped = []
    spool = read(PairsSource(path), skipped.append)
    assert list(spool.pairs()) == PAIRS
    assert [error.line for error in skipped] == [2]
    assert list(spool.pairs()) == PAIRS
    assert len(skipped) == 1


def test_a_file_that_cannot_be_read_is_never_skipped(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("x\n")
    source = PairsSource(source=tmp_path / "s", target=tmp_path / "t")
    assert "it has 2 lines, but" in refusal(DataError, read, source, print)
    assert "there is no such file" in refusal(DataError, read, PairsSource(tmp_path / "no"), print)


@pytest.mark.parametrize(
    ("source", "stem"),
    [
        (PairsSource("data/dates.tsv"), "dates"),
        (PairsSource("dates.tsv.gz"), "dates"),
        (PairsSource("dates.v2.jsonl"), "dates.v2"),
        (PairsSource("pairs"), "pairs"),
        (PairsSource(Path("a/train.de"), None, None), "train.de"),
        (PairsSource(source="train.de.txt", target="train.en.txt"), "train.de"),
        (PairsSource(".tsv"), "model"),
        (PairsSource("-"), "model"),
        (PairsSource([("a", "b")]), "model"),
    ],
)
def test_a_model_is_named_after_its_pairs(source, stem):
    assert source.stem == stem


def test_encoded_pairs_do_not_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_blocks, "BLOCK_PAIRS", 200)
    monkeypatch.setattr(split, "MAX_HASHES", 300)
    monkeypatch.setattr(corpus_profile, "MAX_WORDS", 100)
    peaks = []
    for count in (2000, 8000):
        tracemalloc.start()
        pairs = read_pairs(PairsSource((f"{i:05}" * 9, f"{i:05}" * 9) for i in range(count)), "NFC")
        text = {"source": "characters", "target": "characters"}
        said = {"data": {"max_dev": 10, "dev_share": 0.01}, "text": text}
        settings = auto_configure(pairs.profile, said).settings
        preprocess(tmp_path / str(count), InputPairs(pairs, None), settings)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # in a list, 6,000 more pairs of lines are over a megabyte
    assert peaks[1] < peaks[0] + 400_000


def test_pairs_of_one_group_have_one_hash(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("go;PST\twent\tgo\nsee;PST\tsaw\tsee\ngo;PRS\tgoes\tgo\nbe;PST\twas\t \n")
    spool = read(PairsSource(path, group_by="3"))
    for form in ("NFC", "NFD"):
        (block,) = spool.blocks(form)
        assert block.pairs.groups == ["go", "see", "go", "be;PST"]
        assert (block.hashes == split.source_hashes(["go", "see", "go", "be;PST"])).all()
    train, held_out = block.split(int(max(block.hashes)))
    assert len(train.groups) + len(held_out.groups) == 4
    (without,) = read(PairsSource(path, columns="source=1 target=2")).blocks("NFC")
    assert not without.pairs.groups
