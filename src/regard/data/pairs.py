"""Files to pairs of lines: a table, JSON lines, two parallel files, a workbook, standard input.

Every error names file and line, and says what to do. A side is exactly what the file holds, unless
`trim` asks for white space at its edges to be removed. Blank lines are skipped and counted.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar, final

from regard.config.columns import Column
from regard.config.files import FileConfig
from regard.data import messages
from regard.data.detection import detect, detect_text
from regard.data.layout import Layout
from regard.data.lines import MAX_CHARACTERS, AnyPath, display_name, lines, rereadable
from regard.data.reading_notes import ReadingNotes
from regard.data.rows import Row, rows
from regard.errors import ConfigError, DataError

__all__ = ["MAX_CHARACTERS", "Pair", "problems", "read_lines", "read_pairs", "scan", "scan_sources"]

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Pair:
    """A source and its target, with their file and line; of parallel files, those of the source."""

    source: str
    target: str
    file: str
    line: int
    group: str | None = None
    """Pairs of one group are held out together."""


def read_pairs(
    path: AnyPath | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    file: FileConfig | None = None,
    trim: bool = False,
) -> Iterator[Pair]:
    """Yield the pairs of a file or of two parallel ones; raise at the first bad line."""
    return _raise_errors(scan(path, source=source, target=target, file=file, trim=trim))


def problems(
    path: AnyPath | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    file: FileConfig | None = None,
) -> Iterator[DataError]:
    """Yield what is wrong with each bad line; `read_pairs` would raise the first."""
    pairs = scan(path, source=source, target=target, file=file)
    return (problem for problem in pairs if isinstance(problem, DataError))


def scan(
    path: AnyPath | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    file: FileConfig | None = None,
    trim: bool = False,
    notes: ReadingNotes | None = None,
) -> Iterator[Pair | DataError]:
    """Yield each pair or the error of its line, in one pass, also over standard input.

    What `file` leaves open is detected, and `notes` say what was. An error that ends the reading (a
    missing or damaged file, unequal counts) comes last.
    """
    config, notes = file or FileConfig(), notes or ReadingNotes()
    check_arguments(path, config, source, target)
    if path is None:
        pairs = _scan_parallel(source or "", target or "", config, trim, notes)
    else:
        pairs = _scan_file(path, config, trim, notes)
    return with_final_error(pairs)


def scan_sources(
    path: AnyPath, file: FileConfig, *, trim: bool, notes: ReadingNotes
) -> Iterator[tuple[int, str]]:
    """Yield the source of each row with its line number, "" if it is blank; raise at a bad one."""
    notes.name = display_name(path)
    with rereadable(path) as copy:
        layout, notes.hints = detect(copy, file, num_sides=1)
        notes.layout = layout
        for row in _raise_errors(rows(copy, layout, notes)):
            if not any(map(str.strip, row.cells)):
                yield row.line, ""
                continue
            try:
                yield row.line, _sides(row, layout, notes, trim=trim)[0]
            except ValueError as error:
                raise DataError(notes.name, row.line, str(error)) from None


def read_lines(path: AnyPath, encoding: str = "auto") -> Iterator[tuple[int, str]]:
    """Yield each line with its number, blank lines included; raise at the first bad one."""
    return enumerate(_raise_errors(lines(path, may_be_empty=True, encoding=encoding)), start=1)


def check_arguments(
    path: AnyPath | None, file: FileConfig, source: AnyPath | None, target: AnyPath | None
) -> None:
    """Refuse arguments that exclude each other, before anything is read."""
    wrong = list(_argument_problems(path, file, source, target))
    if wrong:
        raise ConfigError("data", wrong)


def _argument_problems(
    path: AnyPath | None, file: FileConfig, source: AnyPath | None, target: AnyPath | None
) -> Iterator[str]:
    if path is not None and not (source is None and target is None):
        yield messages.two_sources_of_pairs(str(path))
    elif path is None and (source is None or target is None):
        yield messages.one_parallel_file(str(source), str(target))
    elif path is None and "-" in (source, target) and source == target:
        yield messages.BOTH_STANDARD_INPUT
    for name in ("columns", "group_by"):
        if path is None and (text := getattr(file, name)):
            yield messages.columns_of_parallel(name, text)


def _raise_errors(entries: Iterator[T | DataError]) -> Iterator[T]:
    for entry in entries:
        if isinstance(entry, DataError):
            raise entry
        yield entry


def with_final_error(entries: Iterator[T | DataError]) -> Iterator[T | DataError]:
    """Yield the error that ends the reading as the last entry instead of raising it."""
    try:
        yield from entries
    except DataError as error:
        error.ends_reading = True
        yield error


def _scan_file(
    path: AnyPath, config: FileConfig, trim: bool, notes: ReadingNotes
) -> Iterator[Pair | DataError]:
    notes.name = display_name(path)
    with rereadable(path) as copy:
        layout, notes.hints = detect(copy, config)
        notes.layout = layout
        yield from pairs_of_rows(rows(copy, layout, notes), layout, notes, trim=trim)


def pairs_of_rows(
    entries: Iterator[Row | DataError], layout: Layout, notes: ReadingNotes, *, trim: bool
) -> Iterator[Pair | DataError]:
    """Make a pair of each row that is not blank, or its error."""
    for row in entries:
        if isinstance(row, DataError):
            yield row
        elif not any(map(str.strip, row.cells)):
            notes.blank_lines += 1
        else:
            try:
                source, target, group = _sides(row, layout, notes, trim=trim)
                yield _make_pair(source, target, notes.name, row.line, group)
            except ValueError as error:
                yield DataError(notes.name, row.line, str(error))


def _sides(
    row: Row, layout: Layout, notes: ReadingNotes, *, trim: bool
) -> tuple[str, str, str | None]:
    """Return source, target and group of a row; a ValueError says why there are none."""
    cells, columns = row.cells, layout.columns
    if layout.format in ("xlsx", "ods"):
        # blank cells at the end of a row may be missing
        cells = cells + [""] * (len(layout.names) + 2 + layout.width - len(cells))
    if layout.exact and len(cells) == 1 < layout.width:
        raise ValueError(messages.one_column(layout.delimiter, layout.other_delimiter))
    if len(cells) < layout.width:
        raise ValueError(messages.too_few_columns(len(cells), layout.width))
    if layout.exact and columns.target and any(map(str.strip, cells[layout.width :])):
        raise ValueError(messages.too_many_columns(len(cells)))
    if trim:
        trimmed = [cell.strip() for cell in cells]
        notes.trimmed += any(
            cells[int(n) - 1] != trimmed[int(n) - 1] for n in columns.source + columns.target
        )
        cells = trimmed

    def join(side: Sequence[Column]) -> str:
        text = layout.joiner.join(cells[int(number) - 1] for number in side)
        return text.strip() if trim and len(side) > 1 else text

    group = join(columns.group).strip() if columns.group else None
    return join(columns.source), join(columns.target), group


def _make_pair(source: str, target: str, name: str, number: int, group: str | None = None) -> Pair:
    if not source.strip():
        raise ValueError(messages.BLANK_SOURCE if target.strip() else messages.BLANK)
    if not target.strip():
        raise ValueError(messages.BLANK_TARGET)
    return Pair(source, target, name, number, group if group is None else group or source)


def _scan_parallel(
    source: AnyPath, target: AnyPath, config: FileConfig, trim: bool, notes: ReadingNotes
) -> Iterator[Pair | DataError]:
    name, counts = display_name(source), [0, 0]
    notes.name = name
    with ExitStack() as stack:
        sides = [stack.enter_context(rereadable(path)) for path in (source, target)]
        texts = [_lines_of(path, config) for path in sides]
        for number, (left, right) in enumerate(zip_longest(*texts), start=1):
            counts = [counts[0] + (left is not None), counts[1] + (right is not None)]
            if isinstance(left, str) and isinstance(right, str):
                yield from _parallel_pair((left, right), (source, target), number, trim, notes)
            elif left is not None and right is not None:
                yield from (side for side in (left, right) if isinstance(side, DataError))
    if counts[0] != counts[1]:
        problem = messages.different_line_counts(counts[0], display_name(target), counts[1])
        raise DataError(name, None, problem)


def _lines_of(path: AnyPath, config: FileConfig) -> Iterator[str | DataError]:
    # a missing file is reported by the reader of lines
    encoding, old_mac = "auto", False
    if os.path.isfile(path):
        beginning = detect_text(path, config)
        encoding, old_mac = beginning.encoding, beginning.carriage_returns
    return lines(path, encoding=encoding, carriage_returns=old_mac)


def _parallel_pair(
    sides: tuple[str, str],
    paths: tuple[AnyPath, AnyPath],
    number: int,
    trim: bool,
    notes: ReadingNotes,
) -> Iterator[Pair | DataError]:
    left, right = sides
    if not left.strip() and not right.strip():
        notes.blank_lines += 1
        return
    if trim:
        left, right = left.strip(), right.strip()
        notes.trimmed += (left, right) != sides
    try:
        yield _make_pair(left, right, display_name(paths[0]), number)
    except ValueError as error:
        yield DataError(display_name(paths[1 if left.strip() else 0]), number, str(error))
