"""`regard train`: from a file of pairs to a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import ColumnNames, Pairs, SourceFile, TargetFile, said
from regard.config.settings import TrainConfig


def train(
    pairs: Pairs = None,
    dev: Annotated[
        Path | None, typer.Option(help="Pairs to validate on; without, some are held out.")
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="cho2014, sutskever2014, bahdanau2015, luong2015, gehring2017 or vaswani2017."
        ),
    ] = None,
    paper_sizes: Annotated[
        bool, typer.Option("--paper-sizes", help="Give the preset its paper's sizes.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The model file; else named after the pairs.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings in a TOML file; what it leaves out is chosen.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="One setting, as train.learning_rate=0.001."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help=said(TrainConfig, "seed"))] = None,
    max_steps: Annotated[int | None, typer.Option(help=said(TrainConfig, "max_steps"))] = None,
    max_minutes: Annotated[
        float | None, typer.Option(help=said(TrainConfig, "max_minutes"))
    ] = None,
    device: Annotated[str | None, typer.Option(help=said(TrainConfig, "device"))] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that is there, or start it.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew, over an older model and run.")
    ] = False,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Resume with other settings.")
    ] = False,
    allow_inexact: Annotated[
        bool,
        typer.Option("--allow-inexact", help="Resume with other versions, threads or devices."),
    ] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave bad lines out and name them.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Learn from pairs of lines. With nothing but a file, every setting is chosen from it."""
    from regard.api import Order, run
    from regard.api.sources import Origin

    origin = Origin(pairs, source, target, options.joined(columns))
    out = out or Path(f"{origin.stem}.regard")
    said_by_name = {
        "seed": seed,
        "max_steps": max_steps,
        "max_minutes": max_minutes,
        "device": device,
    }
    order = Order(
        origin=origin,
        dev=dev,
        preset=preset,
        paper_sizes=paper_sizes,
        settings=_tree(config, set_ or [], said_by_name),
        out=out,
        resume=resume,
        overwrite=overwrite,
        allow_changes=allow_changes,
        allow_inexact=allow_inexact,
        skip_bad_lines=skip_bad_lines,
        quiet=quiet,
    )
    done = run(order)
    if done.stopped_by is not None:
        options.hint("regard", "train", *_again(order), "--resume")
        raise typer.Exit(128 + done.stopped_by)
    if not quiet:
        options.hint("regard", "translate", out)


def _tree(config: Path | None, assignments: list[str], by_name: dict[str, Any]) -> dict[str, Any]:
    """Return what was said: the file first, then --set, then options of their own."""
    from regard.config.toml import override, read_settings
    from regard.data.pairs import read_lines

    tree: dict[str, Any] = {}
    if config is not None:
        text = "\n".join(line for _, line in read_lines(config))
        tree = read_settings(text, str(config))
    tree = override(tree, assignments)
    given = {name: value for name, value in by_name.items() if value is not None}
    if given:
        section = tree.get("train", {})
        tree["train"] = {**section, **given} if isinstance(section, dict) else section
    return tree


def _again(order: Any) -> list[object]:
    """Return the words that were typed, as far as they say what is trained."""
    import sys

    return [word for word in sys.argv[2:] if word not in ("--resume", "--overwrite")]
