"""`regard train`: from a file of pairs to a model file."""

import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import (
    ColumnNames,
    Import,
    Pairs,
    SourceFile,
    TargetFile,
    file_option,
    flag,
    setting,
)
from regard.config.settings import TrainConfig

PRESETS = "cho2014, sutskever2014, bahdanau2015, luong2015, gehring2017 or vaswani2017."

DevFile = Annotated[
    Path | None, file_option("dev", "Pairs to validate on; without, some are held out.", "PAIRS")
]
Preset = Annotated[str | None, typer.Option(metavar="NAME", help=f"A paper's model: {PRESETS}")]
Out = Annotated[Path | None, file_option("out", "The model file; else named after PAIRS.", "FILE")]
VectorsFile = Annotated[
    Path | None, file_option("embeddings", "Word vectors to begin with, by regard embed.", "FILE")
]
StartFile = Annotated[
    Path | None, file_option("start-from", "A model to start from, as fine-tuning does.", "MODEL")
]
Config = Annotated[
    Path | None, file_option("config", "A file of settings; what it leaves out is chosen.", "TOML")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=C", help="One setting, as train.learning_rate=0.001."),
]

Resume = Annotated[bool, flag("resume", "Go on with the run that is there, or start it.")]
Overwrite = Annotated[bool, flag("overwrite", "Begin anew, over an older model and run.")]
AllowInexact = Annotated[
    bool, flag("allow-inexact", "Resume with other versions, threads or devices.")
]
SkipBadLines = Annotated[bool, flag("skip-bad-lines", "Leave bad lines out and name them.")]


def train(
    context: typer.Context,
    pairs: Pairs = None,
    dev: DevFile = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    preset: Preset = None,
    paper_sizes: Annotated[bool, flag("paper-sizes", "Give the preset its paper's sizes.")] = False,
    out: Out = None,
    start_from: StartFile = None,
    freeze: Annotated[str | None, setting(TrainConfig, "freeze", "PART,…")] = None,
    embeddings: VectorsFile = None,
    config: Config = None,
    set_: Assignments = None,
    seed: Annotated[str | None, setting(TrainConfig, "seed")] = None,
    max_steps: Annotated[str | None, setting(TrainConfig, "max_steps")] = None,
    max_minutes: Annotated[str | None, setting(TrainConfig, "max_minutes", "M")] = None,
    device: Annotated[str | None, setting(TrainConfig, "device", "NAME")] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    allow_changes: Annotated[bool, flag("allow-changes", "Resume with other settings.")] = False,
    allow_inexact: AllowInexact = False,
    skip_bad_lines: SkipBadLines = False,
    quiet: Annotated[bool, flag("quiet", "Say nothing but errors.")] = False,
    import_: Import = None,
) -> None:
    """Learn from pairs of lines.

    With nothing but a file, every setting is chosen from it.
    """
    from regard.pipeline import TrainRequest

    pairs_source = options.pairs_source(pairs, source, target, columns)
    train_settings = options.parse_settings(seed=seed, max_steps=max_steps, max_minutes=max_minutes)
    train_settings |= {} if freeze is None else {"freeze": freeze.split(",")}
    train_settings |= {} if device is None else {"device": device}
    request = TrainRequest(
        pairs=pairs_source,
        dev=None if dev is None else str(dev),
        preset=preset,
        paper_sizes=paper_sizes,
        settings=_settings(config, set_ or [], train_settings, quiet=quiet),
        out=out or Path(f"{pairs_source.stem}.regard"),
        start_from=start_from,
        embeddings=embeddings,
        resume=resume,
        overwrite=overwrite,
        allow_changes=allow_changes,
        allow_inexact=allow_inexact,
        skip_bad_lines=skip_bad_lines,
        quiet=quiet,
    )
    start_time = time.time()
    if (stop_signal := _train(request)) is not None:
        options.hint("regard", *_resume_arguments(context.obj, request, start_time))
        raise typer.Exit(128 + stop_signal)
    if not quiet:
        options.hint("regard", "translate", request.out)


def _train(request: Any) -> int | None:
    """Train; return the signal that ended it before its time, if one did."""
    from regard.pipeline import run

    try:
        return run(request).stopped_by
    except KeyboardInterrupt:
        # before the first update, or when somebody insisted
        return signal.SIGINT
    except SystemExit:
        return signal.SIGTERM


def _resume_arguments(args: list[str], request: Any, start_time: float) -> list[str]:
    """Return the words that go on with a run, or begin it where it has saved nothing yet."""
    from regard.training.run_folder import RunFolder

    state = RunFolder(request.folder).state
    if request.overwrite and not (state.exists() and state.stat().st_mtime >= start_time):
        # what is there is still the older run's
        return args
    return [*(arg for arg in args if arg not in ("--resume", "--overwrite")), "--resume"]


def _settings(
    config: Path | None, assignments: list[str], train_settings: dict[str, Any], *, quiet: bool
) -> dict[str, Any]:
    """Return the settings that were given; say on stderr, once each, which have a new name."""
    from regard.config.renamed_settings import RenamedSettingWarning

    with warnings.catch_warnings(record=True) as renamed:
        warnings.simplefilter("always", RenamedSettingWarning)
        tree = _tree(config, assignments, train_settings)
    for sentence in dict.fromkeys(str(warning.message) for warning in renamed):
        if not quiet:
            print(sentence, file=sys.stderr)
    return tree


def _tree(
    config: Path | None, assignments: list[str], train_settings: dict[str, Any]
) -> dict[str, Any]:
    """Return what was said: the file first, then --set, then options of their own."""
    from regard.config.toml import override, read_settings
    from regard.data.pairs import read_lines

    tree: dict[str, Any] = {}
    if config is not None:
        text = "\n".join(line for _, line in read_lines(str(config)))
        tree = read_settings(text, str(config))
    tree = override(tree, assignments)
    section = tree.get("train", {})
    if train_settings and isinstance(section, dict):
        tree = {**tree, "train": {**section, **train_settings}}
    return tree
