"""`regard evaluate`: score one model, or compare two, on pairs that neither was trained on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import ColumnNames, Device, SourceFile, TargetFile, said
from regard.config.settings import SearchConfig

if TYPE_CHECKING:
    from regard.metrics.bootstrap import Comparison
    from regard.metrics.scores import Score

METRICS = "bleu,chrf,ter,exact,cer,wer"


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL [MODEL] PAIRS",
            help="One model or two, then the pairs (which --source and --target can replace).",
            show_default=False,
        ),
    ],
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    metrics: Annotated[
        str, typer.Option(help="Which of bleu, chrf, ter, exact, cer, wer and per.")
    ] = METRICS,
    beam_size: Annotated[int | None, typer.Option(help=said(SearchConfig, "beam_size"))] = None,
    samples: Annotated[int, typer.Option(help="Draws of the comparison of two models.")] = 1000,
    seed: Annotated[int, typer.Option(help="Where the randomness of the draws begins.")] = 0,
    format_: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    device: Device = "auto",
) -> None:
    """Score what a model makes of the sources; all targets of a source are references."""
    from regard import load
    from regard.api.sources import Origin, Pairs
    from regard.errors import ConfigError
    from regard.metrics import bootstrap, scores

    names = [name.strip() for name in metrics.split(",")]
    scores.check_names(names)
    if format_ not in ("table", "json"):
        problem = f"format = {format_}, but it must be table or json"
        raise ConfigError("evaluate", [problem])
    models, pairs = (files, None) if source or target else (files[:-1], files[-1])
    if len(models) not in (1, 2):
        problem = f"{len(models)} models are given, but it must be one or two, and then the pairs"
        raise ConfigError("evaluate", [f"{problem}; regard evaluate MODEL PAIRS would do"])
    references: dict[str, list[str]] = {}
    for line, answer in Pairs(Origin(pairs, source, target, options.joined(columns))):
        references.setdefault(line, []).append(answer)
    outputs = []
    for model in models:
        found = load(model, device=device).translate(list(references), beam_size=beam_size)
        outputs.append([answer.text for answer in found])
    right = list(references.values())
    if len(models) == 1:
        _print(models[0], scores.evaluate(outputs[0], right, names), len(right), format_)
    else:
        compared = [
            bootstrap.paired_bootstrap(outputs[0], outputs[1], right, name, samples, seed)
            for name in names
        ]
        _print_comparison(models, compared, len(right), format_)
    if format_ == "table":
        options.hint("regard", "show", models[0], next(iter(references)))


def _print(model: Path, scored: "list[Score]", lines: int, format_: str) -> None:
    if format_ == "json":
        shown: dict[str, Any] = {"model": model.name, "lines": lines}
        print(json.dumps(shown | {"scores": [score.to_json() for score in scored]}))
        return
    rows = [
        (score.name, f"{score.value:.2f}", "higher" if score.higher_is_better else "lower")
        for score in scored
    ]
    _table(("metric", f"{model.name}", "better is"), rows)
    _signatures({score.name: score.signature for score in scored}, lines)


def _print_comparison(
    models: list[Path], found: "list[Comparison]", lines: int, format_: str
) -> None:
    names = [model.name for model in models]
    if format_ == "json":
        compared = [one.to_json() for one in found]
        print(json.dumps({"models": names, "lines": lines, "comparisons": compared}))
        return
    rows = [
        (
            one.name,
            f"{one.value_a:.2f}",
            f"{one.value_b:.2f}",
            f"{one.value_b - one.value_a:+.2f}",
            f"{one.interval[0]:+.2f} … {one.interval[1]:+.2f}",
            f"{one.p_value:.3f}",
            "higher" if one.higher_is_better else "lower",
        )
        for one in found
    ]
    _table(("metric", *names, "difference", "95 % of draws", "p", "better is"), rows)
    _signatures({one.name: one.signature for one in found}, lines)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _signatures(signatures: dict[str, str], lines: int) -> None:
    print(f"{lines:,} lines")
    for name, signature in signatures.items():
        print(f"{name}: {signature}")
