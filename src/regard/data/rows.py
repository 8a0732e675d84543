"""The rows of a file in a known layout: cells of text, each with its line number."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, final

from regard.data import messages
from regard.data.layout import Layout
from regard.data.lines import MAX_CHARACTERS, AnyPath, display_name, lines
from regard.data.reading_notes import ReadingNotes
from regard.data.workbooks import workbook_rows
from regard.errors import DataError

MAX_RECORD_LINES = 1000
"""Lines that quotation marks may join to one row; more come from a mark that is never closed."""

_FORBIDDEN_CHARACTERS = (
    ("\0", "NUL"),
    ("\n", "a line end"),
    ("[\ud800-\udfff]", "a lone surrogate"),
)


class Row(NamedTuple):
    """The cells of a row, and the number of its first line."""

    line: int
    cells: list[str]


def rows(path: AnyPath, layout: Layout, notes: ReadingNotes) -> Iterator[Row | DataError]:
    """Yield the rows of a file after its header; comments are counted, blank rows come as such."""
    entries = _comments_skipped(_all_rows(path, layout, notes), layout.comment, notes)
    return HeaderSkipper(layout.has_header).skip(entries)


@final
class HeaderSkipper:
    """Leaves out the first row that is not blank, if there is a header."""

    def __init__(self, waiting: bool) -> None:
        self.waiting = waiting

    def skip(self, entries: Iterator[Row | DataError]) -> Iterator[Row | DataError]:
        """Yield the rows but the header."""
        for row in entries:
            if self.waiting and isinstance(row, Row) and any(map(str.strip, row.cells)):
                self.waiting = False
            else:
                yield row


def _all_rows(path: AnyPath, layout: Layout, notes: ReadingNotes) -> Iterator[Row | DataError]:
    if layout.format in ("xlsx", "ods"):
        for number, cells in workbook_rows(path, layout.format, layout.sheet):
            yield Row(number, [_one_line(cell, notes) for cell in cells])
        return
    text = lines(path, encoding=layout.encoding, carriage_returns=layout.carriage_returns)
    name = display_name(path)
    if layout.format == "csv":
        yield from csv_rows(text, name, layout, notes)
    else:
        yield from rows_of_lines(text, name, layout)


def rows_of_lines(
    text: Iterator[str | DataError], name: str, layout: Layout, before: int = 0
) -> Iterator[Row | DataError]:
    """Yield the rows of TSV or JSON lines; `before` lines of the file came earlier."""
    for number, line in enumerate(text, start=before + 1):
        try:
            if isinstance(line, DataError):
                yield line
            elif not line.strip() or (layout.comment and line.startswith(layout.comment)):
                yield Row(number, [line])
            elif layout.format == "jsonl":
                yield Row(number, json_cells(line, layout.names))
            else:
                yield Row(number, line.split(layout.delimiter) if layout.delimiter else [line])
        except ValueError as error:
            yield DataError(name, number, str(error))


def _comments_skipped(
    entries: Iterator[Row | DataError], comment: str, notes: ReadingNotes
) -> Iterator[Row | DataError]:
    for row in entries:
        if comment and isinstance(row, Row) and row.cells and row.cells[0].startswith(comment):
            notes.comments += 1
        else:
            yield row


def _one_line(cell: str, notes: ReadingNotes) -> str:
    """Replace line breaks in a cell by spaces, and count the cell."""
    if "\n" not in cell and "\r" not in cell:
        return cell
    notes.line_breaks += 1
    return re.sub("\r\n|\r|\n", " ", cell)


def csv_rows(
    text: Iterator[str | DataError], name: str, layout: Layout, notes: ReadingNotes
) -> Iterator[Row | DataError]:
    """Yield the rows of a CSV; quotation marks may join several lines to one row."""
    numbered: Iterator[tuple[int, str | DataError]] = enumerate(text, start=1)
    # lines that turned out not to belong to the row before
    again: list[tuple[int, str | DataError]] = []
    while (entry := again.pop(0) if again else next(numbered, None)) is not None:
        number, line = entry
        if isinstance(line, DataError):
            yield line
            continue
        is_comment = layout.comment and line.startswith(layout.comment)
        if '"' not in line or is_comment:
            yield Row(number, [line] if is_comment else line.split(layout.delimiter))
            continue
        record, used = line, list[tuple[int, str | DataError]]()
        while len(used) < MAX_RECORD_LINES and len(record) <= MAX_CHARACTERS:
            if not _is_open(record, layout.delimiter):
                break
            following = again.pop(0) if again else next(numbered, None)
            if following is None:
                break
            used.append(following)
            if isinstance(following[1], DataError):
                break
            record += "\n" + following[1]
        try:
            (cells,) = csv.reader([record], delimiter=layout.delimiter, strict=True)
            yield Row(number, [_one_line(cell, notes) for cell in cells])
        except (csv.Error, ValueError) as error:
            again = used + again
            yield DataError(name, number, messages.wrong_quotation(str(error)))


def _is_open(record: str, delimiter: str) -> bool:
    """Whether a record ends inside quotation marks."""
    start = 0
    while start <= len(record):
        if record.startswith('"', start):
            start = record.find('"', start + 1)
            while start >= 0 and record.startswith('""', start):
                start = record.find('"', start + 2)
            if start < 0:
                return True
        end = record.find(delimiter, start)
        if end < 0:
            return False
        start = end + 1
    return False


def json_cells(line: str, keys: tuple[str, ...]) -> list[str]:
    """Return the strings of a JSON object under these keys."""
    try:
        pair = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(messages.NOT_JSON) from None
    if not isinstance(pair, dict):
        raise ValueError(messages.NOT_A_JSON_OBJECT)
    return [_json_side(pair, key) for key in keys]


def _json_side(pair: dict[str, Any], name: str) -> str:
    side = pair.get(name)
    if not isinstance(side, str):
        raise ValueError(messages.wrong_json_side(name))
    # no line of a text file contains these, but escapes in JSON can spell them
    for code, what in _FORBIDDEN_CHARACTERS:
        if re.search(code, side):
            raise ValueError(messages.not_a_line(name, what))
    return side
