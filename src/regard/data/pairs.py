"""Files to pairs of lines: one TSV, two parallel files, JSON lines, standard input.

Every complaint names file and line, and says what would do. Nothing is normalized, trimmed or left
out here: a side is what stands in the file.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar, final

from regard.data.lines import MAX_CHARACTERS, AnyPath, display_name, lines
from regard.errors import ConfigError, DataError

__all__ = ["MAX_CHARACTERS", "Columns", "Pair", "problems", "read_lines", "read_pairs", "scan"]

BLANK = "both sides are blank, but they must hold text; removing the line would do"
BLANK_SOURCE = (
    "the source is blank, but it must hold text; filling it in or removing the line would do"
)
BLANK_TARGET = (
    "the target is blank, but it must hold text; filling it in or removing the line would do"
)

Split = Callable[[str], tuple[str, str]]
"""What cuts a line into source and target, or says in a ValueError why it cannot."""

T = TypeVar("T")

_JSON = tuple(f"{name}{gz}" for name in (".json", ".jsonl", ".ndjson") for gz in ("", ".gz"))
_EXAMPLE = '{"source": "a", "target": "b"}'
_NO_TEXT = (("\0", "NUL"), ("\n", "a line end"), ("[\ud800-\udfff]", "half a character"))


@final
@dataclass(frozen=True)
class Pair:
    """A source and its target, and where they stand; in parallel files, where the source does."""

    source: str
    target: str
    file: str
    line: int


@final
@dataclass(frozen=True)
class Columns:
    """Which columns of a TSV make a side, counted from 1; several are joined by a space."""

    source: tuple[int, ...]
    target: tuple[int, ...]

    def __post_init__(self) -> None:
        if not (self.source and self.target) or min(self.source + self.target) < 1:
            raise _no_columns(str(self))

    @classmethod
    def parse(cls, text: str) -> "Columns":
        """Read `source=1,3 target=2`."""
        # a number of seven digits is a column that no line has, and soon refused
        sides = [re.fullmatch(r"(source|target)=(\d{1,7}(?:,\d{1,7})*)", x) for x in text.split()]
        found = {side[1]: tuple(map(int, side[2].split(","))) for side in sides if side}
        if len(sides) != 2 or found.keys() != {"source", "target"}:
            raise _no_columns(text)
        return cls(**found)

    def __str__(self) -> str:
        return " ".join(
            f"{name}={','.join(map(str, numbers))}"
            for name, numbers in (("source", self.source), ("target", self.target))
        )


def _no_columns(text: str) -> ConfigError:
    problem = (
        f"columns = {text}, but it must name columns of both sides, counted from 1; "
        "source=1 target=2 would do"
    )
    return ConfigError("data", [problem])


def read_pairs(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[Pair]:
    """Yield the pairs of a file or of two parallel ones; raise at the first bad line."""
    return _strict(scan(path, columns=columns, source=source, target=target))


def problems(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[DataError]:
    """Yield what is wrong with each bad line; `read_pairs` would raise the first."""
    found = scan(path, columns=columns, source=source, target=target)
    return (item for item in found if isinstance(item, DataError))


def scan(
    path: AnyPath | None = None,
    *,
    columns: Columns | None = None,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
) -> Iterator[Pair | DataError]:
    """Yield each pair or what is wrong with its line, in one pass, also over standard input.

    What ends the reading (a missing file, a damaged one, unequal counts) is the last to come.
    """
    if wrong := list(_wrong_arguments(path, columns, source, target)):
        raise ConfigError("data", wrong)
    if path is None:
        return to_the_end(_parallel(source or "", target or ""))
    if columns:
        return to_the_end(_one_file(path, _chosen(columns)))
    if not os.path.isfile(path) or os.fspath(path) == "-":
        return to_the_end(_one_file(path, _FirstDecides()))
    return to_the_end(_one_file(path, _json_object if holds_json(path) else two_columns))


def read_lines(path: AnyPath) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, blank ones too, if any; raise at the first bad one."""
    return enumerate(_strict(lines(path, may_be_empty=True)), start=1)


def _wrong_arguments(
    path: AnyPath | None, columns: Columns | None, source: AnyPath | None, target: AnyPath | None
) -> Iterator[str]:
    if path is not None and not (source is None and target is None):
        yield f"pairs = {path}, but source or target is given too; one of the two ways would do"
    elif path is None and (source is None or target is None):
        yield (
            f"source = {source} and target = {target}, but both must be files; "
            "one file of pairs, or two parallel files, would do"
        )
    elif path is None and "-" in (source, target) and source == target:
        yield "source = - and target = -, but one of them must be a file; a TSV on - would do"
    if columns is not None and (path is None or holds_json(path)):
        yield f"columns = {columns}, but only a TSV has columns; leaving it out would do"


def holds_json(path: AnyPath) -> bool:
    """Whether a file is named like JSON lines."""
    return display_name(path).lower().endswith(_JSON)


def _strict(items: Iterator[T | DataError]) -> Iterator[T]:
    for item in items:
        if isinstance(item, DataError):
            raise item
        yield item


def to_the_end(items: Iterator[T | DataError]) -> Iterator[T | DataError]:
    """Yield what ends the reading as the last, instead of raising it."""
    try:
        yield from items
    except DataError as error:
        error.ends_reading = True
        yield error


def _one_file(path: AnyPath, split: Split) -> Iterator[Pair | DataError]:
    return split_lines(lines(path), display_name(path), split)


def split_lines(
    numbered: Iterator[str | DataError], name: str, split: Split, before: int = 0
) -> Iterator[Pair | DataError]:
    """Cut lines, which stand behind the first `before` of a file, into pairs."""
    for number, line in enumerate(numbered, start=before + 1):
        if isinstance(line, DataError):
            yield line
            continue
        try:
            # of a line with nothing on it, that it has no tab is not worth saying
            source, target = split(line) if line.strip() else ("", "")
            yield _pair(source, target, name, number)
        except ValueError as error:
            yield DataError(name, number, str(error))


def _pair(source: str, target: str, name: str, number: int) -> Pair:
    if not source.strip():
        raise ValueError(BLANK_SOURCE if target.strip() else BLANK)
    if not target.strip():
        raise ValueError(BLANK_TARGET)
    return Pair(source, target, name, number)


def two_columns(line: str) -> tuple[str, str]:
    """Cut a line of a TSV that has one tab."""
    source, *targets = line.split("\t")
    if not targets:
        raise ValueError(
            "the line has no tab, but it must be source, tab, target; a tab between would do"
        )
    if len(targets) > 1:
        raise ValueError(
            f"the line has {len(targets)} tabs, but it must have 1; "
            "--columns source=1 target=2 would do"
        )
    return source, targets[0]


@final
class _FirstDecides:
    """JSON lines or TSV, by the first line that holds anything: what a pipe holds has no name."""

    def __init__(self) -> None:
        self.split: Split | None = None

    def __call__(self, line: str) -> tuple[str, str]:
        self.split = self.split or (_json_object if _begins_json(line) else two_columns)
        return self.split(line)


def _begins_json(line: str) -> bool:
    """Say whether a line is an object with a source; a TSV may also begin with a brace."""
    try:
        found = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "source" in found


def _chosen(columns: Columns) -> Split:
    last = max(columns.source + columns.target)

    def split(line: str) -> tuple[str, str]:
        found = line.split("\t")
        if len(found) < last:
            raise ValueError(
                f"the line has {len(found)} columns, but --columns {columns} needs {last}; "
                f"numbers up to {len(found)} would do"
            )
        source = " ".join(found[number - 1] for number in columns.source)
        return source, " ".join(found[number - 1] for number in columns.target)

    return split


def _json_object(line: str) -> tuple[str, str]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"the line is not JSON, but it must be; {_EXAMPLE} would do") from None
    if not isinstance(found, dict):
        raise ValueError(f"the line is JSON, but it must be an object; {_EXAMPLE} would do")
    return _json_side(found, "source"), _json_side(found, "target")


def _json_side(found: dict[str, Any], name: str) -> str:
    side = found.get(name)
    if not isinstance(side, str):
        raise ValueError(
            f'"{name}" is missing or not a string, but it must be; {_EXAMPLE} would do'
        )
    # what no line of a text file could hold, but an escape in JSON can
    for code, what in _NO_TEXT:
        if re.search(code, side):
            raise ValueError(f'"{name}" holds {what}, but it must be a line; removing it would do')
    return side


def _parallel(source: AnyPath, target: AnyPath) -> Iterator[Pair | DataError]:
    name, counts = display_name(source), [0, 0]
    for number, sides in enumerate(zip_longest(lines(source), lines(target)), start=1):
        counts = [count + (side is not None) for count, side in zip(counts, sides, strict=True)]
        left, right = sides
        if isinstance(left, str) and isinstance(right, str):
            try:
                yield _pair(left, right, name, number)
            except ValueError as error:
                yield DataError(display_name(target) if left.strip() else name, number, str(error))
        elif None not in sides:
            yield from (side for side in sides if isinstance(side, DataError))
    if counts[0] != counts[1]:
        raise DataError(
            name,
            None,
            f"it has {counts[0]} lines, but {display_name(target)} has {counts[1]}; "
            "as many lines in both would do",
        )
