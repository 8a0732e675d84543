"""Files to pairs of lines: one TSV, two parallel files, JSON lines, standard input.

Every error names file and line, and says what to do. Nothing is normalized, trimmed or left out
here: a side is exactly what the file holds.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TypeVar, final

from regard.data import messages
from regard.data.lines import MAX_CHARACTERS, AnyPath, display_name, lines
from regard.errors import ConfigError, DataError

__all__ = ["MAX_CHARACTERS", "Columns", "Pair", "problems", "read_lines", "read_pairs", "scan"]

Sides = tuple[str, str] | tuple[str, str, str | None]

LineSplitter = Callable[[str], Sides]
"""Splits a line into source, target and perhaps group; a ValueError says why it cannot."""

T = TypeVar("T")

_JSON = tuple(f"{name}{gz}" for name in (".json", ".jsonl", ".ndjson") for gz in ("", ".gz"))
_FORBIDDEN = (("\0", "NUL"), ("\n", "a line end"), ("[\ud800-\udfff]", "a lone surrogate"))


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


@final
@dataclass(frozen=True)
class Columns:
    """Which columns of a TSV make a side, counted from 1; several are joined by a space."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    group: tuple[int, ...] = ()
    """The columns of which pairs with equal text are held out together."""

    def __post_init__(self) -> None:
        if not (self.source and self.target) or min(self.source + self.target + self.group) < 1:
            raise _columns_error(str(self))

    @classmethod
    def parse(cls, text: str) -> "Columns":
        """Read `source=1,3 target=2`."""
        # seven digits at most: no line has more columns
        sides = [re.fullmatch(r"(source|target)=(\d{1,7}(?:,\d{1,7})*)", x) for x in text.split()]
        columns = {side[1]: tuple(map(int, side[2].split(","))) for side in sides if side}
        if len(sides) != 2 or columns.keys() != {"source", "target"}:
            raise _columns_error(text)
        return cls(**columns)

    def __str__(self) -> str:
        return " ".join(
            f"{name}={','.join(map(str, numbers))}"
            for name, numbers in (("source", self.source), ("target", self.target))
        )


def _columns_error(text: str) -> ConfigError:
    return ConfigError("data", [messages.wrong_columns(text)])


def read_pairs(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[Pair]:
    """Yield the pairs of a file or of two parallel ones; raise at the first bad line."""
    return _raise_errors(scan(path, columns=columns, source=source, target=target))


def problems(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[DataError]:
    """Yield what is wrong with each bad line; `read_pairs` would raise the first."""
    pairs = scan(path, columns=columns, source=source, target=target)
    return (problem for problem in pairs if isinstance(problem, DataError))


def scan(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[Pair | DataError]:
    """Yield each pair or the error of its line, in one pass, also over standard input.

    An error that ends the reading (a missing or damaged file, unequal counts) comes last.
    """
    if wrong := list(_argument_problems(path, columns, source, target)):
        raise ConfigError("data", wrong)
    if path is None:
        return with_final_error(_scan_parallel(source or "", target or ""))
    if columns:
        return with_final_error(_scan_file(path, _column_splitter(columns)))
    if not os.path.isfile(path) or os.fspath(path) == "-":
        return with_final_error(_scan_file(path, _FormatDetector()))
    return with_final_error(
        _scan_file(path, _split_json if has_json_suffix(path) else split_two_columns)
    )


def read_lines(path: AnyPath) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, blank lines included; raise at the first bad one."""
    return enumerate(_raise_errors(lines(path, may_be_empty=True)), start=1)


def _argument_problems(
    path: AnyPath | None, columns: Columns | None, source: AnyPath | None, target: AnyPath | None
) -> Iterator[str]:
    if path is not None and not (source is None and target is None):
        yield messages.two_sources_of_pairs(str(path))
    elif path is None and (source is None or target is None):
        yield messages.one_parallel_file(str(source), str(target))
    elif path is None and "-" in (source, target) and source == target:
        yield messages.BOTH_STANDARD_INPUT
    if columns is not None and (path is None or has_json_suffix(path)):
        yield messages.columns_without_tsv(str(columns))


def has_json_suffix(path: AnyPath) -> bool:
    """Whether a file is named like JSON lines."""
    return display_name(path).lower().endswith(_JSON)


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


def _scan_file(path: AnyPath, split: LineSplitter) -> Iterator[Pair | DataError]:
    return split_lines(lines(path), display_name(path), split)


def split_lines(
    numbered: Iterator[str | DataError], name: str, split: LineSplitter, before: int = 0
) -> Iterator[Pair | DataError]:
    """Split lines into pairs; `before` lines of the file came earlier."""
    for number, line in enumerate(numbered, start=before + 1):
        if isinstance(line, DataError):
            yield line
            continue
        try:
            # a blank line is reported as blank, not as a line without a tab
            source, target, *group = split(line) if line.strip() else ("", "")
            pair = _make_pair(source, target, name, number)
            yield replace(pair, group=group[0] or source) if group else pair
        except ValueError as error:
            yield DataError(name, number, str(error))


def _make_pair(source: str, target: str, name: str, number: int) -> Pair:
    if not source.strip():
        raise ValueError(messages.BLANK_SOURCE if target.strip() else messages.BLANK)
    if not target.strip():
        raise ValueError(messages.BLANK_TARGET)
    return Pair(source, target, name, number)


def split_two_columns(line: str) -> tuple[str, str]:
    """Split a line of a TSV that has one tab."""
    source, *targets = line.split("\t")
    if not targets:
        raise ValueError(messages.NO_TAB)
    if len(targets) > 1:
        raise ValueError(messages.too_many_tabs(len(targets)))
    return source, targets[0]


@final
class _FormatDetector:
    """Detects JSON lines or TSV from the first line with text: a pipe has no file name."""

    def __init__(self) -> None:
        self.split: LineSplitter | None = None

    def __call__(self, line: str) -> tuple[str, str]:
        self.split = self.split or (_split_json if _is_json_pair(line) else split_two_columns)
        return self.split(line)


def _is_json_pair(line: str) -> bool:
    """Say whether a line is an object with a source; a TSV may also begin with a brace."""
    try:
        parsed = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, dict) and "source" in parsed


def _column_splitter(columns: Columns) -> LineSplitter:
    last = max(columns.source + columns.target + columns.group)

    def split(line: str) -> Sides:
        fields = line.split("\t")
        if len(fields) < last:
            raise ValueError(messages.too_few_columns(len(fields), str(columns), last))
        source = " ".join(fields[number - 1] for number in columns.source)
        target = " ".join(fields[number - 1] for number in columns.target)
        group = " ".join(fields[number - 1] for number in columns.group)
        return (source, target, group.strip()) if columns.group else (source, target)

    return split


def _split_json(line: str) -> tuple[str, str]:
    try:
        pair = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(messages.NOT_JSON) from None
    if not isinstance(pair, dict):
        raise ValueError(messages.NOT_A_JSON_OBJECT)
    return _json_side(pair, "source"), _json_side(pair, "target")


def _json_side(pair: dict[str, Any], name: str) -> str:
    side = pair.get(name)
    if not isinstance(side, str):
        raise ValueError(messages.wrong_json_side(name))
    # no line of a text file contains these, but escapes in JSON can spell them
    for code, what in _FORBIDDEN:
        if re.search(code, side):
            raise ValueError(messages.not_a_line(name, what))
    return side


def _scan_parallel(source: AnyPath, target: AnyPath) -> Iterator[Pair | DataError]:
    name, counts = display_name(source), [0, 0]
    for number, sides in enumerate(zip_longest(lines(source), lines(target)), start=1):
        counts = [count + (side is not None) for count, side in zip(counts, sides, strict=True)]
        left, right = sides
        if isinstance(left, str) and isinstance(right, str):
            try:
                yield _make_pair(left, right, name, number)
            except ValueError as error:
                yield DataError(display_name(target) if left.strip() else name, number, str(error))
        elif None not in sides:
            yield from (side for side in sides if isinstance(side, DataError))
    if counts[0] != counts[1]:
        problem = messages.different_line_counts(counts[0], display_name(target), counts[1])
        raise DataError(name, None, problem)
