"""Pairs in blocks: a regular TSV is split in C, irregular lines one by one.

`scan_blocks` yields what `pairs.scan` yields, errors in their places, but pairs in blocks and
without their line numbers.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

from regard.config.files import FileConfig
from regard.data.detection import detect
from regard.data.layout import TWO_COLUMNS, Layout
from regard.data.lines import (
    BOM,
    GZIP,
    MAX_CHARACTERS,
    AnyPath,
    display_name,
    empty_file,
    lines_of,
    open_bytes,
)
from regard.data.pairs import Pair, check_arguments, pairs_of_rows, scan, with_final_error
from regard.data.reading_notes import ReadingNotes
from regard.data.rows import HeaderSkipper, rows, rows_of_lines
from regard.errors import DataError

BLOCK_BYTES = 1 << 19
BLOCK_PAIRS = 1 << 12
_NOT_SEPARATORS = bytes(byte for byte in range(256) if byte not in b"\t\n")


class PairBlock(NamedTuple):
    """Neighbouring pairs: the sources, the target of each, and the group of each if they have one.

    Pairs of one group are held out together.
    """

    sources: Sequence[str]
    targets: Sequence[str]
    groups: Sequence[str] = ()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each source with its target."""
        return zip(self.sources, self.targets, strict=True)


def scan_blocks(
    path: AnyPath | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    file: FileConfig | None = None,
    trim: bool = False,
    notes: ReadingNotes | None = None,
) -> Iterator[PairBlock | DataError]:
    """Yield the pairs of one file or two parallel ones in blocks, and the errors of other lines."""
    config, notes = file or FileConfig(), notes or ReadingNotes()
    check_arguments(path, config, source, target)
    if path is not None and _is_regular(path):
        return with_final_error(_file_blocks(path, config, trim, notes))
    pairs = scan(path, source=source, target=target, file=config, trim=trim, notes=notes)
    return group_into_blocks(pairs)


def group_into_blocks(pairs: Iterable[Pair | DataError]) -> Iterator[PairBlock | DataError]:
    """Group neighbouring pairs into blocks."""
    block: list[Pair] = []
    size = 0
    for pair in pairs:
        full = size >= BLOCK_BYTES or len(block) >= BLOCK_PAIRS
        if block and (full or isinstance(pair, DataError)):
            yield _join(block)
            block, size = [], 0
        if isinstance(pair, DataError):
            yield pair
        else:
            block.append(pair)
            size += len(pair.source) + len(pair.target)
    if block:
        yield _join(block)


def _join(pairs: Sequence[Pair]) -> PairBlock:
    # all pairs of a file have a group, or none
    groups = [pair.group for pair in pairs if pair.group is not None]
    return PairBlock([pair.source for pair in pairs], [pair.target for pair in pairs], groups)


def _is_regular(path: AnyPath) -> bool:
    """Whether a file can be read again from any place."""
    if os.fspath(path) == "-" or not os.path.isfile(path):
        return False
    try:
        with open_bytes(path) as file:
            return file.read(len(GZIP)) != GZIP
    except (DataError, OSError):
        # the line-by-line reader reports the error
        return False


def _file_blocks(
    path: AnyPath, config: FileConfig, trim: bool, notes: ReadingNotes
) -> Iterator[PairBlock | DataError]:
    notes.name = display_name(path)
    layout, notes.hints = detect(path, config)
    notes.layout = layout
    is_simple = (layout.format, layout.encoding, layout.comment) == ("tsv", "utf-8", "")
    if is_simple and layout.columns == TWO_COLUMNS and not layout.carriage_returns:
        yield from _tsv_blocks(path, layout, trim, notes)
    else:
        entries = rows(path, layout, notes)
        yield from group_into_blocks(pairs_of_rows(entries, layout, notes, trim=trim))


def _tsv_blocks(
    path: AnyPath, layout: Layout, trim: bool, notes: ReadingNotes
) -> Iterator[PairBlock | DataError]:
    name, number, header = display_name(path), 0, HeaderSkipper(layout.has_header)
    with open_bytes(path) as file:
        while True:
            start = file.tell()
            content = _read_block(file)
            if content == b"":
                break
            block = None
            if content is not None and not header.waiting and layout.delimiter == "\t":
                block = _split_block(content, trim, notes, is_first=number == 0)
            if block is not None:
                number += len(block.sources)
                yield block
                continue
            # the line-by-line reader names each bad line
            end = start + (BLOCK_BYTES if content is None else len(content))
            file.seek(start)
            counted = _CountedLines(lines_of(file, name, number, end))
            entries = header.skip(rows_of_lines(iter(counted), name, layout, number))
            yield from group_into_blocks(pairs_of_rows(entries, layout, notes, trim=trim))
            number += counted.count
    if number == 0:
        raise empty_file(name)


def _read_block(file: IO[bytes]) -> bytes | None:
    """Read whole lines; None if the file cannot be read: the line-by-line reader reports it."""
    try:
        content = file.read(BLOCK_BYTES)
        return content + file.readline(MAX_CHARACTERS)
    except OSError:
        return None


def _split_block(
    content: bytes, trim: bool, notes: ReadingNotes, *, is_first: bool
) -> PairBlock | None:
    """Split a block whose lines all have one tab and text on both sides; else return None."""
    content = content.removeprefix(BOM) if is_first else content
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    # the last line of a file may lack its line end
    content = content[:-1] if content.endswith(b"\n") else content.removesuffix(b"\r")
    separators = content.translate(None, _NOT_SEPARATORS)
    if separators + b"\n" != b"\t\n" * (len(separators) // 2 + 1):
        return None
    # in a block of fewer bytes, no line is too long
    if len(content) > MAX_CHARACTERS or b"\0" in content:
        return None
    try:
        sides = content.decode("utf-8").replace("\n", "\t").split("\t")
    except UnicodeDecodeError:
        return None
    trimmed = list(map(str.strip, sides))
    # a blank side
    if not all(trimmed):
        return None
    if trim and trimmed != sides:
        changed = [new != old for new, old in zip(trimmed, sides, strict=True)]
        notes.trimmed += sum(map(max, changed[0::2], changed[1::2]))
        sides = trimmed
    return PairBlock(sides[0::2], sides[1::2])


class _CountedLines:
    """Yields lines and counts them."""

    def __init__(self, lines: Iterable[str | DataError]) -> None:
        self.lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[str | DataError]:
        for line in self.lines:
            self.count += 1
            yield line
