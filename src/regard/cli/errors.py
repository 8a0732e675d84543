"""`regard errors`: where one model errs, or two side by side, on held-out pairs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from regard.cli.translate import CHUNK
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.metrics.edit_operations import Unit
    from regard.metrics.error_analysis import AnalyzedLine, ErrorAnalysis, Totals
    from regard.metrics.line_groups import TrainingCounts
    from regard.pipeline.pairs_source import PairsSource
    from regard.translator import Translation, Translator

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
    from regard.metrics.error_analysis import ErrorAnalysis
    from regard.translator import load

    kind = None if out is None else refuse_output("errors", out, KINDS, overwrite)
    models, pairs = (files, None) if source or target else (files[:-1], files[-1])
    if len(models) not in (1, 2):
        raise ConfigError("errors", [messages.errors_of_one_or_two(len(models))])
    pairs_source = options.pairs_source(pairs, source, target, columns)
    train_source = None if train is None else options.pairs_source(train, None, None, columns)
    translators = [load(model, device=device) for model in models]
    first = translators[0]
    references = _references(pairs_source, first)
    counts, notes = _training_counts(train_source, first)
    outputs = [_outputs(translator, list(references), search) for translator in translators]
    names = _model_names(models)
    unit_name = _unit(first) if unit == "auto" else unit
    lines = list(_lines(first, references, outputs, unit_name, counts))
    analysis = ErrorAnalysis(names, unit_name, lines, tuple(notes))
    print("\n\n".join(_summary(analysis, pairs_source.name)))
    if out is not None:
        write_output(out, _content(analysis, pairs_source.name, kind))
        print(f"\n{out}: {len(lines):,} sources with their outputs and edits")
    options.hint(*_next_command(models, pairs_source, analysis, out))


def _references(
    source: "PairsSource", translator: "Translator"
) -> dict[str, tuple[int, list[str]]]:
    """Return each source with the number of its first pair and all of its targets."""
    from regard.pipeline.input_pairs import read_pairs

    spool, _ = read_pairs(source, translator.settings.data.normalization)
    references: dict[str, tuple[int, list[str]]] = {}
    for number, (line, answer) in enumerate(spool.pairs(), start=1):
        answers = references.setdefault(line, (number, []))[1]
        if answer not in answers:
            answers.append(answer)
    return references


def _training_counts(
    source: "PairsSource | None", translator: "Translator"
) -> tuple["TrainingCounts | None", list[str]]:
    """Count the training pairs; return notes on what cannot be known."""
    from regard.metrics.line_groups import TrainingCounts
    from regard.pipeline.input_pairs import read_pairs

    if source is None:
        return None, [messages.TRAINING_NOT_KNOWN]
    spool, profile = read_pairs(source, translator.settings.data.normalization)
    counts = TrainingCounts()
    for line, _ in spool.pairs():
        counts.add(line, _tagged_tokens(translator, line))
    same = translator.summary.get("pairs") == profile.fingerprint
    return counts, [] if same else [messages.other_training_pairs(source.name)]


def _tagged_tokens(translator: "Translator", line: str) -> list[str] | None:
    """Return the tokens of a source, if its tokenizer separates tags."""
    tokenizer = translator.source.tokenizer
    return tokenizer.tokenize(line) if tokenizer.kind == "tagged" else None


def _unit(translator: "Translator") -> "Unit":
    """Return what an edit changes: characters, if the targets are written in characters."""
    kind = translator.target.tokenizer.kind
    return "character" if kind in ("characters", "tagged") else "word"


def _model_names(models: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the files, with their folders if the names are equal."""
    names = tuple(model.name for model in models)
    return names if len(set(names)) == len(names) else tuple(map(str, models))


def _outputs(
    translator: "Translator", sources: list[str], search: dict[str, Any]
) -> list["Translation"]:
    """Translate the sources; only what the analysis needs stays in memory."""
    from dataclasses import replace

    outputs = []
    with progress_bar(len(sources)) as progress:
        for first in range(0, len(sources), CHUNK):
            part = sources[first : first + CHUNK]
            translated = translator.translate(part, progress=progress, **search)
            outputs += [replace(one, layers=None, alternatives=()) for one in translated]
    return outputs


def _lines(
    translator: "Translator",
    references: dict[str, tuple[int, list[str]]],
    outputs: list[list["Translation"]],
    unit: "Unit",
    counts: "TrainingCounts | None",
) -> Iterator["AnalyzedLine"]:
    """Yield each source with its groups, and its outputs with their edits."""
    from regard.metrics import line_groups as groups
    from regard.metrics.error_analysis import AnalyzedLine, AnalyzedOutput

    vocabulary = translator.source.vocabulary
    by_line = zip(references.items(), *outputs, strict=True)
    for (source, (number, answers)), *translations in by_line:
        first, tagged = translations[0], _tagged_tokens(translator, source)
        known = all(token in vocabulary for token in first.source_tokens)
        single = {
            groups.LENGTH: groups.number_group(len(first.source_tokens), groups.LENGTH_BOUNDS, 1),
            groups.VOCABULARY: groups.KNOWN if known else groups.UNKNOWN,
        }
        if len(outputs) == 1:
            certainty = groups.certainty_group(first.score, len(first.token_scores))
            single |= {groups.CERTAINTY: certainty}
        single |= {} if counts is None else counts.groups(source, tagged)
        tags = {} if tagged is None else {groups.TAG: groups.split_tags(tagged)[1]}
        analyzed = [AnalyzedOutput.of(x.text, answers, unit, x.score) for x in translations]
        every = {factor: (name,) for factor, name in single.items()} | tags
        yield AnalyzedLine(number, source, tuple(answers), every, tuple(analyzed))


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
        f"{analysis.labels[number]} {model} on {name}: {total.exact[number]:,} of {total.lines:,} sources exact "
        f"({total.accuracy(number):.1f} %), {total.edits[number]:,} edits in "
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
