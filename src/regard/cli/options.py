"""Arguments that several commands share, and the hint that each ends with."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.config.documentation import document


def hint(*words: object) -> None:
    """Say which command to try next; on stderr, so that no output is disturbed."""
    command = " ".join(shlex.quote(str(word)) for word in words)
    print(f"Next: {command}", file=sys.stderr)


def said(section: type[Any], name: str) -> str:
    """Return what a setting is for, from where it is defined."""
    return next(entry.text for entry in document(section) if entry.name == name)


Pairs = Annotated[
    Path | None,
    typer.Argument(
        metavar="PAIRS",
        help="Pairs of lines: a TSV, or .jsonl with source and target; plain or gzip; - for stdin.",
        show_default=False,
    ),
]
SourceFile = Annotated[
    Path | None, typer.Option("--source", help="Source lines, parallel to --target.")
]
TargetFile = Annotated[
    Path | None, typer.Option("--target", help="Target lines, parallel to --source.")
]
ColumnNames = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--columns",
        metavar="source=N… target=N…",
        help="Columns of a TSV for each side, from 1, as source=1,3 target=2.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Device = Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda …")]


def joined(columns: tuple[str, str] | None) -> str | None:
    """Return the columns as one text, as they were typed."""
    return None if columns is None else " ".join(columns)
