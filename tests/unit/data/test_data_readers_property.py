"""Readers on anything at all: only a DataError may come out, and what is fine is read as it is."""

import gzip
import os

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from regard.config.columns import Columns
from regard.config.files import FileConfig
from regard.data.pairs import Pair, problems, read_lines, read_pairs, scan
from regard.errors import DataError

CASES = int(os.environ.get("REGARD_CASES", "500"))
PLAIN = FileConfig(format="tsv", encoding="utf-8", header="no")
many = settings(max_examples=CASES, deadline=None)

PIECES = [
    *(b"\t", b"\n", b"\r\n", b"\r", b"\0", b" ", b"a", b"bc", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\x1f\x8b", b"\x1f", "é".encode(), "\u2028".encode(), "\u0085".encode()),
    *(b"a\tb\n", b'{"source": "a", "target": "b"}\n', b'{"source":', b'"\\ud800"', b"[", b"1e999"),
]
rubble = st.one_of(
    st.binary(max_size=40), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
)
packed = st.one_of(
    rubble,
    rubble.map(gzip.compress),
    st.tuples(rubble.map(gzip.compress), st.integers(0, 40)).map(lambda x: x[0][: x[1]]),
    st.tuples(rubble.map(gzip.compress), rubble).map(lambda x: x[0] + x[1]),
)
text = st.text(
    st.characters(exclude_characters="\n\t\0", exclude_categories=["Cs"]), min_size=1, max_size=8
)
side = text.filter(lambda x: x.strip() and not x.endswith("\r"))
columns = st.builds(
    Columns,
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple),
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def write(path, data):
    path.write_bytes(data)
    return path


def tried(read, *args, **kwargs):
    """Read to the end or to a DataError; anything else comes through."""
    try:
        return list(read(*args, **kwargs)), None
    except DataError as error:
        return None, str(error)


def agree(*args, **kwargs):
    """See that the three ways of reading say the same."""
    items = list(scan(*args, **kwargs))
    found, sentence = tried(read_pairs, *args, **kwargs)
    wrong = [str(item) for item in items if isinstance(item, DataError)]
    assert [str(error) for error in problems(*args, **kwargs)] == wrong
    assert sentence == (wrong[0] if wrong else None)
    assert found == (None if wrong else items)
    return items


@many
@given(data=packed, chosen=st.none() | columns)
def test_no_bytes_break_a_tsv_or_plain_lines(folder, data, chosen):
    agree(write(folder / "x.tsv", data), file=FileConfig(columns=str(chosen or "")))
    tried(read_lines, folder / "x.tsv")


@many
@given(data=packed)
def test_no_bytes_break_json_lines(folder, data):
    agree(write(folder / "x.jsonl", data))


@many
@given(source=packed, target=packed)
def test_no_bytes_break_parallel_files(folder, source, target):
    agree(source=write(folder / "s", source), target=write(folder / "t", target))


def layout(pairs, mark, end, final, packed):
    lines = [f"{source}\t{target}{end}" for source, target in pairs]
    data = "".join(lines).encode() if final else "".join(lines).encode().removesuffix(end.encode())
    data = b"\xef\xbb\xbf" * mark + data
    return gzip.compress(data) if packed else data


@many
@given(
    pairs=st.lists(st.tuples(side, side), min_size=1, max_size=4),
    mark=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
    packed=st.booleans(),
)
def test_written_pairs_are_read_back(folder, pairs, mark, end, final, packed):
    # a mark at the start of the text itself could not be told from the file's
    pairs[0] = (pairs[0][0].lstrip("\ufeff") or "x", pairs[0][1])
    if not pairs[0][0].strip():
        pairs[0] = ("x", pairs[0][1])
    path = write(folder / "well.tsv", layout(pairs, mark, end, final, packed))
    expected = [Pair(*both, str(path), line) for line, both in enumerate(pairs, start=1)]
    assert list(read_pairs(path, file=PLAIN)) == expected


def simple(data):
    """Cut bytes into pairs in the plainest way: None for a bad line, nothing for a blank one."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    for line in lines[:-1] if lines[-1] == b"" else lines:
        try:
            parts = line.removesuffix(b"\r").decode().split("\t")
        except UnicodeDecodeError:
            parts = []
        # cells without text behind the target are left out
        parts = parts if any(map(str.strip, parts[2:])) else parts[:2]
        good = len(parts) == 2 and all(map(str.strip, parts)) and "\0" not in "".join(parts)
        if any(map(str.strip, parts)) or "\0" in "".join(parts) or (line and not parts):
            yield tuple(parts) if good else None


@many
@given(data=rubble.filter(lambda data: data and not data.startswith(b"\x1f\x8b")))
@example(b"\0\r\0")
def test_a_scan_agrees_with_the_plainest_splitter_line_by_line(folder, data):
    # a table in which lines end as on old Macs
    assume(not (b"\r" in data and b"\t" in data and b"\n" not in data))
    expected = list(simple(data)) if data != b"\xef\xbb\xbf" else [None]
    items = agree(write(folder / "plain.tsv", data), file=PLAIN)
    # a file of three columns is refused as a whole
    assume("Say which to learn from" not in str(items[-1:]))
    found = [(x.source, x.target) if isinstance(x, Pair) else None for x in items]
    assert found == expected
