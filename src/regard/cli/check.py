"""`regard check`: what a file of pairs looks like, before training."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import options
from regard.cli.options import ColumnNames, Pairs, SourceFile, TargetFile, choice, file_option

if TYPE_CHECKING:
    from regard.api.automatic import Chosen
    from regard.data.pairs import Pair
    from regard.errors import DataError


def check(
    pairs: Pairs = None,
    dev: Annotated[
        Path | None, file_option("dev", "Validation pairs, to see what is in both.", "PAIRS")
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    format_: Annotated[
        str, choice("format", "For people or for programs.", "text", "json")
    ] = "text",
) -> None:
    """Report on a file of pairs before training.

    Counts, bad lines, duplicates, lengths, oddities, and what would be chosen. The exit code is 2
    where a line is bad, or where there are too few to learn from.
    """
    from regard.api.automatic import choose, there_is_a_gpu
    from regard.api.look import Look, too_few
    from regard.data import check as checker
    from regard.data.pairs import Columns, Pair, read_pairs
    from regard.errors import DataError

    origin = options.origin(pairs, source, target, columns)
    by_column = None if origin.columns is None else Columns.parse(origin.columns)
    held_out = None if dev is None else list(read_pairs(str(dev), columns=by_column))
    kept = list(origin.scan()) if origin.readable_once else None
    read = origin.scan if kept is None else lambda: iter(kept)
    found = checker.check(read(), dev=held_out)
    if not found.pairs and found.bad_lines.count == 1:
        # one sentence says it all: there is no such file, or nothing in it
        raise next(item for item in read() if not isinstance(item, Pair))
    broken: list[DataError] = []
    look = Look(_good(read(), broken.append), "NFC")
    problem = too_few(look, dev=dev is not None)
    chosen: Sequence[Chosen] = (
        () if problem else choose(look, {}, on_gpu=there_is_a_gpu({})).reasons
    )
    if format_ == "json":
        report = found.to_json() | {"chosen": {one.name: one.value for one in chosen}}
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(checker.render(found), end="")
        if chosen:
            print("\nwould be chosen:", *chosen, sep="\n  ")
    if problem:
        raise DataError(origin.name, None, problem)
    # of a file that ends too early, no line can be skipped
    if format_ == "text" and not broken:
        more: list[object] = [] if dev is None else ["--dev", dev]
        more += ["--skip-bad-lines"] if found.bad_lines.count else []
        options.hint("regard", "train", *options.words(origin), *more)
    if found.bad_lines.count:
        raise typer.Exit(2)


def _good(
    items: "Iterator[Pair | DataError]", broken: "Callable[[DataError], None]"
) -> Iterator[tuple[str, str]]:
    """Yield the pairs alone; tell of what ends the reading."""
    for item in items:
        if not isinstance(item, Exception):
            yield item.source, item.target
        elif item.ends_reading:
            broken(item)
