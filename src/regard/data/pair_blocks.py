"""Pairs in blocks: a regular TSV is split in C, irregular lines one by one.

`scan_blocks` yields what `pairs.scan` yields, errors in their places, but pairs in blocks and
without their line numbers.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

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
from regard.data.pairs import (
    Columns,
    Pair,
    has_json_suffix,
    scan,
    split_lines,
    split_two_columns,
    with_final_error,
)
from regard.errors import DataError

BLOCK_BYTES = 1 << 19
BLOCK_PAIRS = 1 << 12
_NOT_SEPARATORS = bytes(byte for byte in range(256) if byte not in b"\t\n")


class PairBlock(NamedTuple):
    """Neighbouring pairs: the sources, the target of each, and the group of each if they have one.

    Pairs of one group are held out together.
    """

    sources: list[str]
    targets: list[str]
    groups: Sequence[str] = ()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each source with its target."""
        return zip(self.sources, self.targets, strict=True)


def scan_blocks(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[PairBlock | DataError]:
    """Yield the pairs of one file or two parallel ones in blocks, and the errors of other lines."""
    if path is not None and (source, target, columns) == (None, None, None) and _is_plain(path):
        return with_final_error(_tsv_blocks(path))
    return group_into_blocks(scan(path, columns=columns, source=source, target=target))


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


def _is_plain(path: AnyPath) -> bool:
    """Whether a file is a TSV that can be read again from any place."""
    if has_json_suffix(path) or os.fspath(path) == "-" or not os.path.isfile(path):
        return False
    try:
        with open_bytes(path) as file:
            return file.read(len(GZIP)) != GZIP
    except (DataError, OSError):
        # the line-by-line reader reports the error
        return False


def _tsv_blocks(path: AnyPath) -> Iterator[PairBlock | DataError]:
    name, number = display_name(path), 0
    with open_bytes(path) as file:
        while True:
            start = file.tell()
            content = _read_block(file)
            if content == b"":
                break
            block = None if content is None else _split_block(content, is_first=number == 0)
            if block is not None:
                number += len(block.sources)
                yield block
                continue
            # the line-by-line reader names each bad line
            end = start + (BLOCK_BYTES if content is None else len(content))
            file.seek(start)
            counted = _CountedLines(lines_of(file, name, number, end))
            yield from group_into_blocks(
                split_lines(iter(counted), name, split_two_columns, number)
            )
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


def _split_block(content: bytes, *, is_first: bool) -> PairBlock | None:
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
    # a blank side
    if not all(map(str.strip, sides)):
        return None
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
