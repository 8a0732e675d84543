"""Where pairs may come from, and that each can be read again."""

import io
import os
import sys
import threading
from pathlib import Path

import pytest
from api_cases import tsv

from regard.api.sources import Origin, Pairs
from regard.errors import ConfigError, DataError

PAIRS = [("a", "x"), ("b c", "y z")]


def refusal(kind, do, *arguments):
    with pytest.raises(kind) as caught:
        do(*arguments)
    return str(caught.value)


def twice(origin):
    pairs = Pairs(origin)
    return list(pairs), list(pairs)


def test_a_file_can_be_read_again(tmp_path):
    assert twice(Origin(tsv(tmp_path / "p.tsv", PAIRS))) == (PAIRS, PAIRS)


def test_two_parallel_files_can_be_read_again(tmp_path):
    (tmp_path / "s").write_text("a\nb c\n")
    (tmp_path / "t").write_text("x\ny z\n")
    assert twice(Origin(source=tmp_path / "s", target=tmp_path / "t")) == (PAIRS, PAIRS)


@pytest.mark.parametrize("given", [PAIRS, [list(pair) for pair in PAIRS], dict(PAIRS).items()])
def test_a_list_can_be_read_again(given):
    assert twice(Origin(given)) == (PAIRS, PAIRS)


def test_what_comes_but_once_can_be_read_again():
    assert twice(Origin(pair for pair in PAIRS)) == (PAIRS, PAIRS)


@pytest.mark.parametrize("name", ["-", Path("-")])
def test_standard_input_can_be_read_again(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("a file of that name is another matter")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tx\nb c\ty z\n")))
    assert twice(Origin(name)) == (PAIRS, PAIRS)


def test_a_pipe_can_be_read_again(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=tsv, args=(tmp_path / "pipe", PAIRS))
    writer.start()
    assert twice(Origin(tmp_path / "pipe")) == (PAIRS, PAIRS)
    writer.join()


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("ab", "it is no pair of lines, but it must be; (source, target) would do"),
        (("a",), "it is no pair of lines, but it must be; (source, target) would do"),
        (("a", "b", "c"), "it is no pair of lines, but it must be; (source, target) would do"),
        (("a", 3), "it is no pair of lines, but it must be; (source, target) would do"),
        ((b"a", b"b"), "it is no pair of lines, but it must be; (source, target) would do"),
        (None, "it is no pair of lines, but it must be; (source, target) would do"),
        ((" ", ""), "both sides are blank, but they must hold text; removing the line would do"),
        (
            ("", "b"),
            "the source is blank, but it must hold text; filling it in or removing the line "
            "would do",
        ),
        (
            ("a", "\t"),
            "the target is blank, but it must hold text; filling it in or removing the line "
            "would do",
        ),
        (("a\nb", "c"), "it holds a line end, but both sides must be lines; removing it would do"),
        (("a", "\0c"), "it holds NUL, but both sides must be lines; removing it would do"),
        (
            ("a\ud800", "c"),
            "it holds half a character, but both sides must be lines; removing it would do",
        ),
    ],
)
def test_what_is_no_pair_is_refused_by_its_number(pair, problem):
    given = [("a", "b"), pair, ("c", "d")]
    assert refusal(DataError, Pairs, Origin(given)) == f"pairs, line 2: {problem}"
    assert refusal(DataError, Pairs, Origin(given, label="dev")) == f"dev, line 2: {problem}"
    skipped = []
    assert list(Pairs(Origin(given), skipped.append)) == [("a", "b"), ("c", "d")]
    assert [error.line for error in skipped] == [2]


def test_a_list_stands_alone():
    assert refusal(ConfigError, Pairs, Origin(PAIRS, source="x")) == (
        "data: pairs is a list, but source, target or columns is given too; the list alone would do"
    )


def test_a_bad_line_ends_the_reading_unless_it_may_be_skipped(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("a\tx\nno tab\nb c\ty z\n")
    assert "p.tsv, line 2: the line has no tab" in refusal(DataError, list, Pairs(Origin(path)))
    skipped = []
    pairs = Pairs(Origin(path), skipped.append)
    assert list(pairs) == PAIRS
    assert [error.line for error in skipped] == [2]
    pairs.skip_in_silence()
    assert list(pairs) == PAIRS
    assert len(skipped) == 1


def test_a_file_that_cannot_be_read_is_never_skipped(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("x\n")
    origin = Origin(source=tmp_path / "s", target=tmp_path / "t")
    assert "it has 2 lines, but" in refusal(DataError, list, Pairs(origin, print))
    assert "there is no such file" in refusal(DataError, Pairs, Origin(tmp_path / "no"), print)


@pytest.mark.parametrize(
    ("origin", "stem"),
    [
        (Origin("data/dates.tsv"), "dates"),
        (Origin("dates.tsv.gz"), "dates"),
        (Origin("dates.v2.jsonl"), "dates.v2"),
        (Origin("pairs"), "pairs"),
        (Origin(Path("a/train.de"), None, None), "train.de"),
        (Origin(source="train.de.txt", target="train.en.txt"), "train.de"),
        (Origin(".tsv"), "model"),
        (Origin("-"), "model"),
        (Origin([("a", "b")]), "model"),
    ],
)
def test_a_model_is_named_after_its_pairs(origin, stem):
    assert origin.stem == stem
