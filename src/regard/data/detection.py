"""Detects how a file is laid out, from its settings and its beginning."""

import csv
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from regard.choices import printable
from regard.config.columns import Column, Columns, format_list, parse_list
from regard.config.files import FileConfig
from regard.data import messages
from regard.data.encodings import can_decode, detect_encoding
from regard.data.file_kinds import ZIP, unreadable_kind, workbook_format
from regard.data.headers import guess_columns, is_header
from regard.data.layout import Layout
from regard.data.lines import AnyPath, display_name, open_decompressed
from regard.data.workbooks import sheet_names, workbook_rows
from regard.errors import DataError

SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
CONSISTENT = 0.9
"""The share of rows with equally many columns from which a character is taken for the delimiter."""

JSON_ENDINGS = tuple(f"{name}{gz}" for name in (".json", ".jsonl", ".ndjson") for gz in ("", ".gz"))


@final
@dataclass(frozen=True)
class Beginning:
    """The first rows of a file, as text."""

    name: str
    encoding: str
    carriage_returns: bool
    lines: list[str] = field(default_factory=list)


def read_sample(path: AnyPath) -> bytes:
    """Return the first bytes of a file, decompressed; damage is reported later."""
    sample = b""
    try:
        with open_decompressed(path) as file:
            while len(sample) < SAMPLE_BYTES and (chunk := file.read1(SAMPLE_BYTES)):  # type: ignore[attr-defined]
                sample += chunk
    except (OSError, EOFError, zlib.error):
        pass
    return sample


def fits_utf_8(path: AnyPath) -> bool:
    """Whether a file is UTF-8 or UTF-16 as far as its beginning shows."""
    sample = read_sample(path)
    return detect_encoding(sample) != "utf-8" or can_decode(sample, "utf-8")


def has_json_suffix(path: AnyPath) -> bool:
    """Whether a file is named like JSON lines."""
    return display_name(path).lower().endswith(JSON_ENDINGS)


def detect_text(path: AnyPath, config: FileConfig) -> Beginning:
    """Detect the encoding of a text file and return its first lines; refuse what is no text."""
    name, sample = display_name(path), read_sample(path)
    kind = unreadable_kind(sample)
    if sample.startswith(ZIP):
        kind = messages.OTHER_ARCHIVE
    if kind is not None and config.encoding == "auto":
        raise DataError(name, None, kind)
    encoding = detect_encoding(sample) if config.encoding == "auto" else config.encoding
    encoding = "utf-8" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    # one character may be cut at the end
    text = sample.decode(encoding, errors="replace").removeprefix("\ufeff")
    carriage_returns = _ends_lines_by_carriage_return(text)
    lines = text.replace("\r", "\n").split("\n") if carriage_returns else text.split("\n")
    if len(sample) >= SAMPLE_BYTES and len(lines) > 1:
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    comment = config.comment
    lines = [x for x in lines if x.strip() and not (comment and x.startswith(comment))]
    return Beginning(name, encoding, carriage_returns, lines[:SAMPLE_ROWS])


def _ends_lines_by_carriage_return(text: str) -> bool:
    """Whether a table has the line ends of old Macs; a "\\r" may also be inside a line."""
    parts = [part for part in text.split("\r") if part.strip()]
    if "\n" in text or len(parts) < 2:
        return False
    delimiter = next((x for x in "\t;" if x in text), ",")
    # the last one may be cut
    return all(delimiter in part for part in (parts[:-1] if len(parts) > 2 else parts))


def detect(path: AnyPath, config: FileConfig, *, num_sides: int = 2) -> tuple[Layout, list[str]]:
    """Return the layout of a file and hints for its user; num_sides = 1 is a file of sources."""
    name = display_name(path)
    layout = Layout(comment=config.comment, joiner=config.joiner)
    if read_sample(path).startswith(ZIP):
        layout, rows = _detect_workbook(path, config, layout)
    elif config.format in ("xlsx", "ods"):
        raise DataError(name, None, messages.not_a_workbook(config.format))
    else:
        beginning = detect_text(path, config)
        encoding, old_mac = beginning.encoding, beginning.carriage_returns
        layout = replace(layout, encoding=encoding, carriage_returns=old_mac)
        keys = _json_keys(path, beginning, config)
        if keys is not None:
            return _json_layout(name, layout, config, keys, num_sides), []
        delimiter, other = _delimiter(beginning, path, config, num_sides)
        plain = delimiter in ("", "\t") and config.format != "csv"
        layout = replace(
            layout,
            format="tsv" if plain else "csv",
            delimiter=delimiter,
            other_delimiter=other,
        )
        rows = _split(beginning.lines, layout)
    return _choose_columns(name, layout, config, rows, num_sides)


def _detect_workbook(
    path: AnyPath, config: FileConfig, layout: Layout
) -> tuple[Layout, list[list[str]]]:
    name = display_name(path)
    try:
        format_ = workbook_format(path)
    except ValueError as error:
        raise DataError(name, None, str(error)) from None
    if config.format not in ("auto", format_):
        raise DataError(name, None, messages.is_a_workbook(format_, config.format))
    sheets = sheet_names(path, format_)
    sheet = config.sheet or (sheets[0] if len(sheets) > 1 else "")
    rows: list[list[str]] = []
    for _, cells in workbook_rows(path, format_, sheet):
        is_comment = config.comment and cells and cells[0].startswith(config.comment)
        if any(map(str.strip, cells)) and not is_comment:
            rows.append(cells)
        if len(rows) >= SAMPLE_ROWS:
            break
    return replace(layout, format=format_, sheet=sheet), rows


def _json_keys(path: AnyPath, beginning: Beginning, config: FileConfig) -> list[str] | None:
    """Return the keys of the first object of JSON lines; None for any other file."""
    first = beginning.lines[0].strip() if beginning.lines else ""
    named = has_json_suffix(path) or config.format == "jsonl"
    if config.format not in ("auto", "jsonl") or not (named or first.startswith("{")):
        return None
    try:
        parsed = json.loads(first)
    except (ValueError, RecursionError):
        parsed = None
        if named and first in ("[", "[{"):
            raise DataError(beginning.name, None, messages.JSON_ARRAY) from None
    if named and isinstance(parsed, list) and parsed and isinstance(parsed[0], dict):
        raise DataError(beginning.name, None, messages.JSON_ARRAY)
    if isinstance(parsed, dict) and (named or "source" in parsed or config.columns):
        return [str(key) for key in parsed]
    return [] if named else None


def _json_layout(
    name: str, layout: Layout, config: FileConfig, keys: list[str], num_sides: int
) -> Layout:
    selection = config.parsed() or config.parsed(names=True)
    if config.names and selection is not None and len(selection.names) < len(selection.source):
        selection = config.parsed(names=True)
    selection = selection or Columns(("source",), ("target",))
    group = parse_list(config.group_by) if config.group_by else ()
    needed = [*selection.source, *(selection.target if num_sides == 2 else ()), *group]
    if any(not isinstance(one, str) for one in needed):
        raise DataError(name, None, messages.names_needed(str(selection)))
    names = tuple(dict.fromkeys(map(str, needed)))
    explicit = config.columns or config.group_by
    if explicit and keys and (missing := [key for key in names if key not in keys]):
        raise DataError(name, 1, messages.no_such_column(missing[0], ", ".join(keys)))
    number = {key: n for n, key in enumerate(names, 1)}
    sides = [tuple(number.get(str(one), 1) for one in side) for side in (selection.source, group)]
    target = tuple(number[str(one)] for one in selection.target) if num_sides == 2 else ()
    columns = Columns(sides[0], target, sides[1])
    return replace(
        layout, format="jsonl", names=names, columns=columns, delimiter="\t", exact=False
    )


def _delimiter(
    beginning: Beginning, path: AnyPath, config: FileConfig, num_sides: int
) -> tuple[str, str | None]:
    """Return what separates columns, "" for lines of one column, and what else may."""
    if config.delimiter != "auto":
        return "\t" if config.delimiter == "tab" else config.delimiter, None
    if config.format == "tsv":
        return "\t", None
    selection = config.parsed()
    ending = display_name(path).lower().removesuffix(".gz")
    with_tab = sum("\t" in line for line in beginning.lines)
    if config.format == "auto" and with_tab and 2 * with_tab >= len(beginning.lines):
        return "\t", None
    is_csv = ending.endswith(".csv") or config.format == "csv"
    if num_sides == 1 and not is_csv and (selection is None or len(selection.source) == 1):
        # commas and semicolons of a sentence separate no columns
        return "", None
    scores = {x: _consistency(beginning.lines, x) for x in ",;|"}
    best = max(scores, key=lambda x: scores[x])
    if scores[best][0] >= CONSISTENT:
        return best, None
    other = best if scores[best][0] >= 0.5 and not with_tab else None
    return (",", None) if is_csv else ("\t", other)


def _consistency(lines: Sequence[str], delimiter: str) -> tuple[float, bool, float]:
    """Return the share of rows with the commonest number of columns, if that is above one.

    A header decides between two delimiters; otherwise commas with a space behind are prose.
    """
    rows = _split(lines, Layout(format="csv", delimiter=delimiter))
    counts = Counter(map(len, rows))
    if not counts:
        return 0, False, 0
    (common, number) = counts.most_common(1)[0]
    prose = sum(f"{delimiter} " in line for line in lines) / len(lines)
    share = number / len(rows) if common > 1 and prose < 0.5 else 0.0
    return (1.0 if share >= CONSISTENT else share), is_header(rows[0]), share - prose


def _split(lines: Sequence[str], layout: Layout) -> list[list[str]]:
    """Return the cells of the first rows, without any error."""
    if layout.format == "csv":
        try:
            return [
                row
                for row in csv.reader([f"{x}\n" for x in lines], delimiter=layout.delimiter)
                if row
            ]
        except csv.Error:
            pass
    return [line.split(layout.delimiter) if layout.delimiter else [line] for line in lines]


def _choose_columns(
    name: str, layout: Layout, config: FileConfig, rows: list[list[str]], num_sides: int
) -> tuple[Layout, list[str]]:
    """Decide whether there is a header, and which columns make each side."""
    first = [cell.strip() for cell in rows[0]] if rows else []
    selection = config.parsed()
    group = parse_list(config.group_by) if config.group_by else ()
    wanted = [
        one for one in (*(selection.names if selection else ()), *group) if isinstance(one, str)
    ]
    names_in_first = bool(first) and all(name in first for name in wanted)
    has_header = config.header == "yes" or (
        config.header == "auto" and len(rows) > 1 and (bool(wanted) or is_header(first))
    )
    if wanted and not (names_in_first and has_header):
        missing = next((one for one in wanted if one not in first), wanted[0])
        text = printable(", ".join(first))
        sentence = messages.no_such_column if config.header == "yes" else messages.no_header
        raise DataError(name, None, sentence(missing, text))
    names = tuple(first) if has_header else ()
    remembered = config.parsed(names=True)
    if remembered is not None and names:
        needed = remembered.source + (remembered.target if num_sides == 2 else ())
        if all(one in first for one in needed):
            selection, wanted = remembered, remembered.names
    if selection is not None:
        selection = replace(selection, target=selection.target if num_sides == 2 else ())
    exact = selection is None
    if selection is None:
        own = set(_by_number(Columns((1,), (), group), first).group)
        rest = [["" if n in own else x for n, x in enumerate(row, 1)] for row in rows[has_header:]]
        selection = _default_columns(name, layout, names, rest, num_sides)
    columns = _by_number(replace(selection, group=group), first)
    # columns beyond those are an error only if nobody named any
    exact = exact and not group
    layout = replace(layout, names=names, columns=columns, exact=exact)
    hints = []
    if has_header and config.header == "auto" and not wanted:
        hints.append(messages.header_skipped(printable(", ".join(first))))
    elif not has_header and config.header == "auto" and _is_unlike(rows, columns):
        hints.append(messages.perhaps_header(printable(" → ".join(first))))
    return layout, hints


def _default_columns(
    name: str, layout: Layout, names: tuple[str, ...], rows: list[list[str]], num_sides: int
) -> Columns:
    """Return the columns of a file for which none are given: the only two, or those named so."""
    source, target = guess_columns(names)
    if num_sides == 1:
        return Columns(tuple(source[:1]) or (1,))
    width = max(map(len, rows), default=0)
    filled = [n for n in range(width) if any(len(row) > n and row[n].strip() for row in rows)]
    common = Counter(len([x for x in row if x.strip()]) for row in rows).most_common(1)
    if len(source) == len(target) == 1 and {"source", "target"} <= {x.casefold() for x in names}:
        return Columns((source[0],), (target[0],))
    if len(filled) == 2 and layout.format != "tsv":
        # a workbook or an export may have blank columns
        return Columns((filled[0] + 1,), (filled[1] + 1,))
    if len(filled) > 2 and common[0][0] > 2:
        if source:
            named: list[Column] = [names[n - 1] for n in source]
            advice = (
                f"source={format_list(tuple(named))} target={format_list((names[target[0] - 1],))}"
            )
        else:
            numbers = ",".join(str(n + 1) for n in filled[:-1])
            advice = f"source={numbers} target={filled[-1] + 1}"
        text = printable(", ".join(names))
        raise DataError(
            name, None, messages.many_columns(len(filled), text if names else "", advice)
        )
    return Columns((1,), (2,))


def _by_number(columns: Columns, names: Sequence[str]) -> Columns:
    def numbers(side: Sequence[Column]) -> tuple[Column, ...]:
        return tuple(one if isinstance(one, int) else names.index(one) + 1 for one in side)

    return Columns(*map(numbers, (columns.source, columns.target, columns.group)))


def _is_unlike(rows: list[list[str]], columns: Columns) -> bool:
    """Whether the first row is in ASCII letters where all others of a column have none."""
    for one in columns.source + columns.target:
        cells = [row[int(one) - 1] for row in rows if len(row) >= int(one)]
        ascii_letters = [any("a" <= x <= "z" for x in cell.casefold()) for cell in cells]
        if len(cells) > 20 and ascii_letters[0] and not any(ascii_letters[1:]):
            return True
    return False
