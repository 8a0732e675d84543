"""`regard train`: trains a model on a file of pairs."""

import signal
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import (
    ColumnNames,
    GroupBy,
    Import,
    Pairs,
    SkipBadLines,
    SourceFile,
    TargetFile,
    file_option,
    flag,
    setting,
)
from regard.config.settings import TrainConfig

if TYPE_CHECKING:
    from regard.pipeline import TrainOutcome, TrainRequest

PRESETS = "cho2014, sutskever2014, bahdanau2015, luong2015, gehring2017 or vaswani2017."

DevFile = Annotated[
    Path | None, file_option("dev", "Validation pairs. Default: held out from PAIRS.", "PAIRS")
]
Preset = Annotated[
    str | None, typer.Option(metavar="NAME", help=f"Architecture of a paper: {PRESETS}")
]
PaperSizes = Annotated[bool, flag("paper-sizes", "Use the sizes of the preset's paper.")]
Out = Annotated[Path | None, file_option("out", "Model file. Default: named after PAIRS.", "FILE")]
VectorsFile = Annotated[
    Path | None, file_option("embeddings", "Pretrained word vectors, from regard embed.", "FILE")
]
StartFile = Annotated[Path | None, file_option("start-from", "A model to fine-tune.", "MODEL")]
Config = Annotated[
    Path | None, file_option("config", "A file of settings; the others are automatic.", "TOML")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="A.B=C", help="A setting, such as train.learning_rate=0.001; repeatable."
    ),
]

Resume = Annotated[bool, flag("resume", "Resume the run of this model file, or start it.")]
Overwrite = Annotated[bool, flag("overwrite", "Start again; overwrite an existing model and run.")]
AllowChanges = Annotated[bool, flag("allow-changes", "Resume even if settings differ.")]
AllowInexact = Annotated[
    bool, flag("allow-inexact", "Resume even if versions, threads or devices differ.")
]


@options.file_settings()
def train(
    context: typer.Context,
    pairs: Pairs = None,
    dev: DevFile = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    group_by: GroupBy = None,
    file: Any = None,
    preset: Preset = None,
    paper_sizes: PaperSizes = False,
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
    allow_changes: AllowChanges = False,
    allow_inexact: AllowInexact = False,
    skip_bad_lines: SkipBadLines = False,
    quiet: Annotated[bool, flag("quiet", "Print only errors.")] = False,
    import_: Import = None,
) -> None:
    """Train a model on pairs of lines.

    Settings that are not given are chosen from the pairs.
    """
    started = time.monotonic()
    from regard.pipeline import TrainRequest

    pairs_source = options.pairs_source(pairs, source, target, columns, group_by)
    train_settings = options.parse_settings(seed=seed, max_steps=max_steps, max_minutes=max_minutes)
    own = {"freeze": freeze and freeze.split(","), "device": device}
    train_settings |= {name: value for name, value in own.items() if value is not None}
    request = TrainRequest(
        pairs=pairs_source,
        dev=None if dev is None else str(dev),
        preset=preset,
        paper_sizes=paper_sizes,
        settings=_settings(
            config, set_ or [], {"train": train_settings, "file": file}, quiet=quiet
        ),
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
    _train_and_hint(context, request, started)


def _train_and_hint(context: typer.Context, request: "TrainRequest", started: float) -> None:
    start_time = time.time()
    outcome = _train(request, started)
    if not request.quiet or outcome.stopped_by is not None:
        _suggest(outcome, request, _resume_arguments(context.obj, request, start_time))
    if outcome.stopped_by is not None:
        raise typer.Exit(128 + outcome.stopped_by)


def _suggest(outcome: "TrainOutcome", request: "TrainRequest", resume: list[str]) -> None:
    """Print how to use the model, and how to go on if the run could."""
    if outcome.continues_with == "nothing" and outcome.stopped_by is None:
        options.hint("regard", "translate", request.out)
        return
    if outcome.translator is not None:
        options.hint("regard", "translate", request.out, label="To use it")
    if outcome.continues_with == "more time":
        resume = _with_more_time(resume, request.settings["train"]["max_minutes"])
    options.hint("regard", *resume, label="To go on")


def _train(request: "TrainRequest", started: float) -> "TrainOutcome":
    """Train; also an interrupt outside the updates is an outcome."""
    from regard.pipeline import TrainOutcome, run

    try:
        return run(request, started)
    except KeyboardInterrupt:
        # before the first update, or at the second Ctrl-C
        return TrainOutcome(None, signal.SIGINT)
    except SystemExit:
        return TrainOutcome(None, signal.SIGTERM)


def _with_more_time(args: list[str], minutes: float) -> list[str]:
    """Return arguments with twice the time, whatever set it before."""
    others = [
        arg
        for previous, arg in zip(["", *args], args, strict=False)
        if previous != "--max-minutes"
        and arg != "--max-minutes"
        and not arg.startswith("--max-minutes=")
    ]
    return [*others, "--max-minutes", f"{2 * minutes:g}"]


def _resume_arguments(args: list[str], request: Any, start_time: float) -> list[str]:
    """Return the arguments that resume a run, or start it if it has saved nothing yet."""
    from regard.training.run_folder import RunFolder

    state = RunFolder(request.folder).state
    if request.overwrite and not (state.exists() and state.stat().st_mtime >= start_time):
        # the saved state is still that of the older run
        return args
    return [*(arg for arg in args if arg not in ("--resume", "--overwrite")), "--resume"]


def _settings(
    config: Path | None, assignments: list[str], typed: dict[str, Any], *, quiet: bool
) -> dict[str, Any]:
    """Return the typed settings; report renamed ones on stderr, once each."""
    from regard.config.renamed_settings import RenamedSettingWarning

    with warnings.catch_warnings(record=True) as renamed:
        warnings.simplefilter("always", RenamedSettingWarning)
        tree = _tree(config, assignments, typed)
    for sentence in dict.fromkeys(str(warning.message) for warning in renamed):
        if not quiet:
            print(sentence, file=sys.stderr)
    return tree


def _tree(config: Path | None, assignments: list[str], typed: dict[str, Any]) -> dict[str, Any]:
    """Merge the settings of the file, of --set and of their own options; later ones win."""
    from regard.config.toml import merge_trees, override, read_settings
    from regard.data.pairs import read_lines

    tree: dict[str, Any] = {}
    if config is not None:
        text = "\n".join(line for _, line in read_lines(str(config)))
        tree = read_settings(text, str(config))
    tree = override(tree, assignments)
    options = {"train": typed["train"], "data": {"file": typed["file"]} if typed["file"] else {}}
    for section, own in options.items():
        # what is not a section is refused with all other wrong settings
        if own and isinstance(tree.get(section, {}), dict):
            tree = merge_trees(tree, {section: own})
    return tree
