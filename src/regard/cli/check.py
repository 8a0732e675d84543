"""`regard check`: what a file of pairs looks like, before training."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from regard.cli import options
from regard.cli.options import ColumnNames, Pairs, SourceFile, TargetFile


def check(
    pairs: Pairs = None,
    dev: Annotated[
        Path | None, typer.Option(help="Validation pairs, to see what is in both.")
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Report counts, bad lines, duplicates, lengths and oddities, and what would be chosen."""
    from regard.api.automatic import Chosen, choose
    from regard.api.look import Look
    from regard.api.sources import Origin
    from regard.data import check as checker
    from regard.data.pairs import Pair
    from regard.errors import DataError

    origin = Origin(pairs, source, target, options.joined(columns))
    # standard input can be read only once
    items = list(origin.scan()) if "-" in map(str, (pairs, source, target)) else None
    read = origin.scan if items is None else lambda: iter(items)
    held_out = (
        None
        if dev is None
        else (x for x in Origin(dev, columns=origin.columns).scan() if isinstance(x, Pair))
    )
    found = checker.check(read(), dev=held_out)
    fatal = [item for item in read() if isinstance(item, DataError) and item.line is None]
    if fatal and not found.pairs:
        raise fatal[0]
    chosen: Sequence[Chosen] = ()
    if found.pairs:
        look = Look(((x.source, x.target) for x in read() if isinstance(x, Pair)), "NFC")
        chosen = choose(look, {}).reasons
    if format_ == "json":
        report = found.to_json() | {"chosen": {one.name: one.value for one in chosen}}
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(checker.render(found), end="")
        print("\nwould be chosen:")
        for one in chosen:
            print(f"  {one}")
    if found.bad_lines.count:
        raise typer.Exit(2)
    if format_ != "json":
        words = [word for word in (pairs, source, target) if word is not None]
        options.hint("regard", "train", *(words if pairs else _parallel(source, target)))


def _parallel(source: Path | None, target: Path | None) -> list[object]:
    return ["--source", source, "--target", target]
