"""Rows of a workbook: .xlsx through openpyxl (`regard[xlsx]`), .ods from its XML.

A workbook is an archive of XML, and a small one may unpack to any size: what it declares to hold is
limited before anything is read.
"""

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from regard.choices import printable
from regard.data import messages
from regard.data.lines import AnyPath, display_name
from regard.errors import DataError

MAX_BYTES = 1 << 30
"""Most bytes that a workbook may unpack to."""

MAX_COLUMNS = 1 << 14
"""Most columns that a sheet has in any program."""

CHUNK_ROWS = 1000
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"

NumberedRow = tuple[int, list[str]]


def workbook_rows(path: AnyPath, format_: str, sheet: str) -> Iterator[NumberedRow]:
    """Yield the rows of a sheet with their numbers."""
    name = display_name(path)
    _check_size(path, name)
    rows = _excel_rows(path, sheet) if format_ == "xlsx" else _opendocument_rows(path, sheet)
    try:
        while chunk := list(_quietly(rows)):
            yield from chunk
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged workbook makes of its parsers
        raise DataError(name, None, messages.DAMAGED_WORKBOOK) from error


def sheet_names(path: AnyPath, format_: str) -> list[str]:
    """Return the names of all sheets, in order."""
    name = display_name(path)
    _check_size(path, name)
    try:
        if format_ == "xlsx":
            return list(_load(path).sheetnames)
        with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
            elements = (one for _, one in ElementTree.iterparse(file, ["start"]))
            return [one.get(f"{_TABLE}name", "") for one in elements if one.tag == f"{_TABLE}table"]
    except DataError:
        raise
    except Exception as error:  # as above
        raise DataError(name, None, messages.DAMAGED_WORKBOOK) from error


def _check_size(path: AnyPath, name: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(info.file_size for info in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise DataError(name, None, messages.DAMAGED_WORKBOOK) from None
    if total > MAX_BYTES:
        raise DataError(name, None, messages.workbook_too_large(total, MAX_BYTES))


def _quietly(rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
    """Return some rows; warnings of openpyxl are about formats that play no part here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return iter(list(islice(rows, CHUNK_ROWS)))


def _load(path: AnyPath) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DataError(display_name(path), None, messages.NO_OPENPYXL) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(path, read_only=True, data_only=True)


def _excel_rows(path: AnyPath, sheet: str) -> Iterator[NumberedRow]:
    book = _load(path)
    try:
        sheet_name = _sheet_name(display_name(path), book.sheetnames, sheet)
        worksheet = book[sheet_name]
        # the size that a program noted may be wrong
        worksheet.reset_dimensions()
        for number, cells in enumerate(worksheet.iter_rows(values_only=True), start=1):
            yield number, [_cell_text(cell) for cell in cells[:MAX_COLUMNS]]
    finally:
        book.close()


def _sheet_name(name: str, sheets: Sequence[str], sheet: str) -> str:
    if sheet and sheet not in sheets:
        raise DataError(name, None, messages.no_such_sheet(sheet, list(map(printable, sheets))))
    return sheet or sheets[0]


def _cell_text(value: Any) -> str:
    """Return a value as its cell shows it, as far as that is known."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value)


def _opendocument_rows(path: AnyPath, sheet: str) -> Iterator[NumberedRow]:
    sheet_name = _sheet_name(display_name(path), sheet_names(path, "ods"), sheet)
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        inside, number, depth = False, 1, 0
        for event, element in ElementTree.iterparse(file, ["start", "end"]):
            if element.tag == f"{_TABLE}table":
                # a table may be inside a cell
                depth += 1 if event == "start" else -1
                if depth == 1 and event == "start":
                    inside = element.get(f"{_TABLE}name") == sheet_name
                elif depth == 0:
                    if inside:
                        return
                    element.clear()
            elif element.tag == f"{_TABLE}table-row" and event == "end" and depth == 1 and inside:
                repeated = _number(element, "number-rows-repeated")
                cells = _row_cells(element)
                # the rest of a sheet is one blank row, repeated a million times
                for offset in range(repeated if any(cells) else 1):
                    yield number + offset, cells
                number += repeated
                element.clear()


def _row_cells(row: ElementTree.Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = "\n".join(_paragraph(one) for one in cell if one.tag == f"{_TEXT}p")
            repeated = _number(cell, "number-columns-repeated")
            cells += [text] * min(repeated, MAX_COLUMNS - len(cells))
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _number(element: ElementTree.Element, name: str) -> int:
    return min(max(1, int(element.get(f"{_TABLE}{name}", "1"))), 1 << 21)


def _paragraph(element: ElementTree.Element) -> str:
    """Return the text of a paragraph, in which runs of spaces, tabs and breaks are elements."""
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            parts.append(" " * min(int(child.get(f"{_TEXT}c", "1")), 1000))
        elif child.tag == f"{_TEXT}tab":
            parts.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif not child.tag.endswith("}annotation"):
            parts.append(_paragraph(child))
        parts.append(child.tail or "")
    return "".join(parts)
