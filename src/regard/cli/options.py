"""What several commands share: arguments, checks of what was typed, and the hint each ends with."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.config.checks import unknown_choice
from regard.config.documentation import document
from regard.config.settings import SearchConfig, TrainConfig
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.pipeline.pairs_source import PairsSource


def hint(*words: object) -> None:
    """Say which command to try next; on stderr, so that no output is disturbed."""
    program, *rest = map(str, words)
    # what was typed runs again, also where it is not on the path
    typed = sys.argv[0] if os.path.basename(sys.argv[0]) == program else program
    known = which(program)
    same = known is not None and os.path.realpath(known) == os.path.realpath(typed)
    print(f"Next: {shlex.join([program if same else typed, *rest])}", file=sys.stderr)


def colored() -> int:
    """Return the bits of a color in what is printed: 24, 8 (one of 256), or 0 for none."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return 0
    return 24 if os.environ.get("COLORTERM") in ("truecolor", "24bit") else 8


def flag(name: str, help_: str) -> Any:
    """Return an option that is said or not."""
    return typer.Option(f"--{name}", help=help_)


def file_argument(metavar: str, help_: str) -> Any:
    """Return an argument that is a file; whether it can be read is told by who reads it."""
    return typer.Argument(metavar=metavar, help=help_, readable=False, show_default=False)


def file_option(name: str, help_: str, metavar: str) -> Any:
    """Return an option that takes a file, as above."""
    return typer.Option(f"--{name}", metavar=metavar, help=help_, readable=False)


def setting(section: type[Any], name: str, metavar: str = "N") -> Any:
    """Return the option of a setting; what it is for is said where it is defined.

    It takes any text: the settings themselves say what it must be, all of them at once.
    """
    option = f"--{name.replace('_', '-')}"
    text = next(entry.text for entry in document(section) if entry.name == name)
    return typer.Option(option, metavar=metavar, help=text, show_default=False)


def values(**given: str | None) -> dict[str, Any]:
    """Return the settings that were given, numbers as numbers."""
    return {name: _number(text) for name, text in given.items() if text is not None}


def choice(name: str, help_: str, *names: str) -> Any:
    """Return an option that takes one of some names."""

    def check(context: typer.Context, value: str) -> str:
        if value not in names:
            raise ConfigError(str(context.info_name), [unknown_choice(name, value, names)])
        return value

    return typer.Option(f"--{name}", metavar="|".join(names), callback=check, help=help_)


def whole(name: str, help_: str, least: int) -> Any:
    """Return an option that takes a whole number, as text."""

    def check(context: typer.Context, value: str | None) -> str | None:
        number = 0 if value is None else _number(value)
        if value is not None and (not isinstance(number, int) or number < least):
            problem = f"{name} = {value}, but it must be a whole number, at least {least}"
            raise ConfigError(str(context.info_name), [problem])
        return value

    return typer.Option(f"--{name}", metavar="N", callback=check, help=help_)


def line(name: str, text: str) -> str:
    """Return a text that was typed, if it is a line; a terminal can send what is none."""
    for code, what in (("\n", "a line end"), ("[\ud800-\udfff]", "bytes that are not UTF-8")):
        if re.search(code, text):
            problem = f"it holds {what}, but it must be a line; a file on standard input would do"
            raise ConfigError(name, [problem])
    return text


def positional(text: str) -> list[str]:
    """Return the words that give a text as an argument, also one that looks like an option."""
    return ["--", text] if text.startswith("-") else [text]


def _number(text: str) -> Any:
    kinds: tuple[Callable[[str], Any], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


Pairs = Annotated[
    Path | None,
    file_argument(
        "PAIRS",
        "Pairs of lines: a TSV or JSON lines (.jsonl: source, target), plain or gzip; - for stdin.",
    ),
]
SourceFile = Annotated[
    Path | None, file_option("source", "Source lines, parallel to --target.", "FILE")
]
TargetFile = Annotated[
    Path | None, file_option("target", "Target lines, parallel to --source.", "FILE")
]
ColumnNames = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--columns",
        metavar="source=N… target=N…",
        help="Columns of a TSV for each side, from 1, as source=1,3 target=2.",
    ),
]
Model = Annotated[Path, file_argument("MODEL", "A model file.")]
BeamSize = Annotated[str | None, setting(SearchConfig, "beam_size")]
Device = Annotated[str, setting(TrainConfig, "device", "NAME")]


def pairs_source(
    pairs: Path | None, source: Path | None, target: Path | None, columns: tuple[str, str] | None
) -> "PairsSource":
    """Return where the pairs are, or say that nobody said."""
    from regard.pipeline.pairs_source import PairsSource

    if pairs is None and source is None and target is None:
        would = "a file of pairs, - for standard input, or --source and --target, would do"
        raise ConfigError("data", [f"no pairs are given; {would}"])
    # as text: a path that is "-" is not equal to "-"
    one, left, right = (None if file is None else str(file) for file in (pairs, source, target))
    return PairsSource(one, left, right, None if columns is None else " ".join(columns))


def words(source: "PairsSource") -> list[object]:
    """Return the words that say where pairs are, for the next command."""
    arguments: list[object] = [] if source.pairs is None else [source.pairs]
    for name, path in (("--source", source.source), ("--target", source.target)):
        arguments += [] if path is None else [name, path]
    return arguments + ([] if source.columns is None else ["--columns", *source.columns.split()])


def table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    """Lay out rows under their heads: numbers to the right, text to the left."""
    from rich.cells import cell_len

    columns = []
    for column in zip(head, *rows, strict=True):
        width = max(map(cell_len, column))
        spaces = [" " * (width - cell_len(cell)) for cell in column]
        numbers = all(re.match(r"[+-]?\d", cell) for cell in column[1:])
        columns.append(
            [
                space + cell if numbers else cell + space
                for cell, space in zip(column, spaces, strict=True)
            ]
        )
    return "".join("  ".join(row).rstrip() + "\n" for row in zip(*columns, strict=True))
