"""`regard errors`: where one model errs, or two side by side, on held-out pairs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from regard.cli import messages, options
from regard.cli.options import (
    ColumnNames,
    Device,
    Import,
    SourceFile,
    TargetFile,
    choice,
    file_argument,
    file_option,
    flag,
)
from regard.cli.output import refuse_output, write_output
from regard.cli.progress import progress_bar
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.metrics.edit_operations import Unit
    from regard.metrics.error_analysis import ErrorAnalysis, Totals
    from regard.pipeline.pairs_source import PairsSource

KINDS = ("html", "tsv", "csv", "json")
MAX_GROUPS, MAX_CONFUSIONS = 12, 12
"""Groups of a factor, and confusions, that the terminal shows."""

Files = Annotated[
    list[Path],
    file_argument(
        "MODEL [MODEL] PAIRS",
        "One model or two; then the pairs, unless --source and --target are used.",
    ),
]
TrainFile = Annotated[
    Path | None,
    file_option(
        "train", "The training pairs: counts what was seen in training, and how often.", "PAIRS"
    ),
]
OutFile = Annotated[
    Path | None,
    file_option(
        "out", "Write all outputs; the ending is the format: html, tsv, csv, json.", "FILE"
    ),
]
UnitName = Annotated[
    str,
    choice(
        "unit",
        "What an edit changes: characters or words; auto is the tokens of the targets.",
        *("auto", "character", "word"),
    ),
]


@options.search_settings("beam_size")
def errors(
    files: Files,
    search: dict[str, Any],
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    train: TrainFile = None,
    unit: UnitName = "auto",
    out: OutFile = None,
    overwrite: Annotated[bool, flag("overwrite", "Overwrite an existing --out.")] = False,
    device: Device = "auto",
    import_: Import = None,
) -> None:
    """Show where a model errs, or compare two.

    It counts exact outputs by length, tag and certainty, and what was written for what. --out keeps
    every output with its edit operations: in a page to filter, or in a table.
    """
    from regard.pipeline.error_analysis import analyze_errors
    from regard.translator import load

    kind = None if out is None else refuse_output("errors", out, KINDS, overwrite)
    models, pairs = (files, None) if source or target else (files[:-1], files[-1])
    if len(models) not in (1, 2):
        raise ConfigError("errors", [messages.errors_of_one_or_two(len(models))])
    pairs_source = options.pairs_source(pairs, source, target, columns)
    train_source = None if train is None else options.pairs_source(train, None, None, columns)
    translators = [load(model, device=device) for model in models]
    forms = [translator.settings.data.normalization for translator in translators]
    if forms[0] != forms[-1]:
        both = messages.different_normalizations((models[0], models[-1]), (forms[0], forms[-1]))
        raise ConfigError("errors", [both])
    analysis = analyze_errors(
        translators,
        pairs_source,
        names=_model_names(models),
        train=train_source,
        unit=None if unit == "auto" else cast("Unit", unit),
        progress_bar=progress_bar,
        **search,
    )
    if out is not None:
        # before anything is printed: the reader of a pipe may leave early
        write_output(out, _content(analysis, pairs_source.name, kind))
    print("\n\n".join(_summary(analysis, pairs_source.name)))
    if out is not None:
        print(f"\n{out}: {len(analysis.lines):,} sources with their outputs and edits")
    options.hint(*_next_command(models, pairs_source, analysis, out))


def _model_names(models: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the files, with their folders if the names are equal."""
    names = tuple(model.name for model in models)
    return names if len(set(names)) == len(names) else tuple(map(str, models))


def _content(analysis: "ErrorAnalysis", name: str, kind: str | None) -> bytes:
    if kind == "html":
        from regard.viz.error_page import to_error_page

        return to_error_page(analysis.to_json(), name).encode()
    if kind == "json":
        return (json.dumps(analysis.to_json(), ensure_ascii=False) + "\n").encode()
    from regard.metrics.error_table import to_table

    return to_table(analysis, "tsv" if kind == "tsv" else "csv")


def _summary(analysis: "ErrorAnalysis", name: str) -> Iterator[str]:
    """Yield the paragraphs for the terminal: totals, groups, confusions, notes."""
    total, unit = analysis.totals, analysis.unit
    yield "\n".join(
        f"{analysis.labels[number]} {model} on {name}: {total.exact[number]:,} of "
        f"{total.lines:,} sources exact ({total.accuracy(number):.1f} %), "
        f"{total.edits[number]:,} edits in "
        f"{total.length[number]:,} {unit}s ({total.error_rate(number):.1f} %)".strip()
        for number, model in enumerate(analysis.models)
    )
    if len(analysis.models) > 1:
        rows = [(verdict, f"{count:,}") for verdict, count in analysis.verdicts.items()]
        yield options.table(("exact", "sources"), *rows).rstrip()
    for factor, groups in analysis.groups.items():
        if len(groups) > 1:
            yield _group_table(analysis.labels, factor, groups)
    if analysis.common:
        yield "\n".join(analysis.common)
    yield from (_confusion_table(analysis, number) for number in range(len(analysis.models)))
    if analysis.notes:
        yield "\n".join(analysis.notes)


def _group_table(labels: Sequence[str], factor: str, groups: "dict[str, Totals]") -> str:
    """Return a factor's groups, with the exact outputs in percent and the edits of each model."""
    heads = [f"{what} % {label}".strip() for what in ("exact", "edits") for label in labels]
    head = (factor, "sources", *heads)
    rows = [
        (
            name,
            f"{totals.lines:,}",
            *(f"{totals.accuracy(model):.1f}" for model in range(len(labels))),
            *(f"{totals.error_rate(model):.1f}" for model in range(len(labels))),
        )
        for name, totals in list(groups.items())[:MAX_GROUPS]
    ]
    more = len(groups) - MAX_GROUPS
    tail = f"\n… {more:,} more" if more > 0 else ""
    return options.table(head, *rows).rstrip() + tail


def _confusion_table(analysis: "ErrorAnalysis", model: int) -> str:
    from regard.terminal_text import visible_token

    confusions = analysis.confusions(model)
    if not confusions:
        return f"{analysis.labels[model]} No edits.".strip()
    rows = []
    for one in confusions[:MAX_CONFUSIONS]:
        line = analysis.lines[one.lines[0]]
        output = line.outputs[model]
        example = f"{line.source} → {output.text}, not {output.reference}"
        share = f"{100 * one.count / one.occurrences:.1f}" if one.occurrences else "–"
        edit = f"{visible_token(one.expected)} → {visible_token(one.output)}"
        rows.append((edit, f"{one.count:,}", share, options.shorten(example)))
    more = len(confusions) - MAX_CONFUSIONS
    tail = f"\n… {more:,} more" if more > 0 else ""
    heading = f"expected → output {analysis.labels[model]}".strip()
    head = (heading, "count", f"% of {analysis.unit}", "for example")
    return options.table(head, *rows).rstrip() + tail


def _next_command(
    models: Sequence[Path], source: "PairsSource", analysis: "ErrorAnalysis", out: Path | None
) -> list[object]:
    """Return what to try next: the page, or the attention of the first wrong line."""
    if out is None:
        pairs = options.pairs_arguments(source)
        return ["regard", "errors", *models, *pairs, "--out", "errors.html"]
    wrong = next((line for line in analysis.lines if not all(line.exact)), analysis.lines[0])
    return ["regard", "show", models[0], *options.positional(wrong.source)]
