"""Pairs in blocks are those of `scan`, whatever the file holds."""

import gzip
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config.files import FileConfig
from regard.data import pair_blocks
from regard.data.pair_blocks import PairBlock, scan_blocks
from regard.data.pairs import Pair, scan
from regard.data.reading_notes import ReadingNotes

LINES = st.sampled_from(
    [
        *(b"a\tb", b"cd e\tf", "é\tü".encode(), "过去\t\u2028x".encode(), b"a\t b ", b"x\r\ty"),
        *(b"", b" ", b"no tab", b"a\t", b" \tb", b"\t", b"a\tb\tc", b"a\0\tb", b"\xff\tb"),
        *(b"a\tb\r", b"a\tb\r\r", b"\xef\xbb\xbfa\tb"),
    ]
)


def plain(pairs):
    """Return pairs without their places, and errors in words."""
    return [
        (x.source, x.target) if isinstance(x, Pair) else (str(x), x.line, x.ends_reading)
        for x in pairs
    ]


def flat(blocks):
    """Return the pairs of blocks one by one."""
    items = [
        list(zip(x.sources, x.targets, strict=True))
        if isinstance(x, PairBlock)
        else [(str(x), x.line, x.ends_reading)]
        for x in blocks
    ]
    return list(chain.from_iterable(items))


@settings(max_examples=300, deadline=None)
@given(
    lines=st.lists(LINES, max_size=12),
    end=st.sampled_from([b"", b"\n", b"\n\n", b"\r"]),
    bom=st.booleans(),
    block=st.integers(1, 40),
    trim=st.booleans(),
    header=st.sampled_from(["auto", "yes", "no"]),
)
def test_blocks_hold_the_pairs_of_scan_and_its_errors(
    tmp_path_factory, lines, end, bom, block, trim, header
):
    path = tmp_path_factory.mktemp("blocks") / "pairs.tsv"
    path.write_bytes(b"\xef\xbb\xbf" * bom + b"\n".join(lines) + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_blocks, "BLOCK_BYTES", block)
        notes = [ReadingNotes(), ReadingNotes()]
        options = {"file": FileConfig(header=header), "trim": trim}
        blocks = flat(scan_blocks(path, **options, notes=notes[0]))
        assert blocks == plain(scan(path, **options, notes=notes[1]))
        assert notes[0] == notes[1]


def test_lines_that_are_too_long_are_reported_in_order(tmp_path):
    path = tmp_path / "pairs.tsv"
    long = b"x" * 1_000_001
    path.write_bytes(b"a\tb\n" * 200_000 + long + b"\tc\nd\te\n" + long * 5 + b"\nno tab\nf\tg\n")
    found = flat(scan_blocks(path))
    assert found == plain(scan(path))
    assert [x[1] for x in found if len(x) == 3] == [200_001, 200_003, 200_004]


def test_a_regular_file_is_split_into_blocks(tmp_path, monkeypatch):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\r\nc d\te\r\n" * 50)
    monkeypatch.setattr(pair_blocks, "rows_of_lines", None)
    (block,) = scan_blocks(path)
    assert block == (["a", "c d"] * 50, ["b", "e"] * 50, ())


@pytest.mark.parametrize("kind", ["gzip", "json", "columns", "parallel", "missing", "folder"])
def test_any_other_source_is_split_into_blocks_too(tmp_path, kind):
    path, arguments = tmp_path / "pairs.tsv", {}
    if kind == "gzip":
        path.write_bytes(gzip.compress(b"a\tb\n\nc\td\n"))
    elif kind == "json":
        path = tmp_path / "pairs.jsonl"
        path.write_text('{"source": "a\\tb", "target": "c"}\n{"source": 3}\n')
    elif kind == "columns":
        path.write_text("a\tb\tc\nd\n")
        arguments = {"file": FileConfig(columns="source=3 target=1")}
    elif kind == "parallel":
        (tmp_path / "s").write_text("a\tx\nb\nc\n")
        (tmp_path / "t").write_text("d\ne\n")
        path, arguments = None, {"source": tmp_path / "s", "target": tmp_path / "t"}
    elif kind == "folder":
        path.mkdir()
    assert flat(scan_blocks(path, **arguments)) == plain(scan(path, **arguments))


def test_a_block_is_bounded_in_pairs_and_in_characters(monkeypatch):
    pairs = [Pair("a", "b", "f", n) for n in range(10)]
    monkeypatch.setattr(pair_blocks, "BLOCK_PAIRS", 4)
    assert [len(block.sources) for block in pair_blocks.group_into_blocks(pairs)] == [4, 4, 2]
    monkeypatch.setattr(pair_blocks, "BLOCK_BYTES", 6)
    assert [len(block.sources) for block in pair_blocks.group_into_blocks(pairs)] == [3, 3, 3, 1]
