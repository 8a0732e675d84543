"""Error analysis of one model, or of two: translate a test set and group its lines."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from regard.metrics import line_groups as groups
from regard.metrics.edit_operations import Unit
from regard.metrics.error_analysis import AnalyzedLine, AnalyzedOutput, ErrorAnalysis
from regard.metrics.line_groups import TrainingCounts
from regard.pipeline import messages
from regard.pipeline.input_pairs import ReadPairs, read_pairs
from regard.pipeline.pairs_source import PairsSource
from regard.translator import Translation, Translator

CHUNK = 1024
"""Number of lines whose attention is in memory at once."""

ProgressBar = Callable[[int], AbstractContextManager[Callable[[int], None] | None]]
References = dict[str, tuple[int, list[str]]]
"""Each source with the number of its first pair, and all of its targets."""


def analyze_errors(
    translators: Sequence[Translator],
    pairs: PairsSource,
    *,
    names: tuple[str, ...] = ("model", "other model"),
    train: PairsSource | None = None,
    unit: Unit | None = None,
    progress_bar: ProgressBar = lambda _: nullcontext(),
    **search: Any,
) -> ErrorAnalysis:
    """Analyze one model or two on pairs; `train` are the training pairs, which no model file holds.

    The default of `unit` is what the targets are written in.
    """
    first = translators[0]
    references = _references(pairs, first)
    counts, notes = _training_counts(train, first)
    if len(translators) > 1:
        notes.append(messages.vocabularies_of_two_models(names))
    outputs = [_outputs(one, list(references), progress_bar, search) for one in translators]
    unit = unit or _unit(first)
    lines = list(_lines(first, references, outputs, unit, counts))
    return ErrorAnalysis(names[: len(translators)], unit, lines, tuple(notes))


def _references(source: PairsSource, translator: Translator) -> References:
    spool, _, _ = _read_like_training(source, translator)
    references: References = {}
    for number, (line, answer) in enumerate(spool.pairs(), start=1):
        answers = references.setdefault(line, (number, []))[1]
        if answer not in answers:
            answers.append(answer)
    return references


def _read_like_training(source: PairsSource, translator: Translator) -> ReadPairs:
    """Read a file that is laid out like the training pairs."""
    data = translator.settings.data
    source = source.like_training(data.file, {})
    return read_pairs(source, data.normalization, trim=data.trim)


def _training_counts(
    source: PairsSource | None, translator: Translator
) -> tuple[TrainingCounts | None, list[str]]:
    """Count the training pairs; return notes on what cannot be known."""
    if source is None:
        return None, [messages.TRAINING_NOT_KNOWN]
    spool, profile, _ = _read_like_training(source, translator)
    counts = TrainingCounts()
    for line, _ in spool.pairs():
        counts.add(line, _tagged_tokens(translator, line))
    same = translator.summary.get("pairs") == profile.fingerprint
    return counts, [] if same else [messages.other_training_pairs(source.name)]


def _tagged_tokens(translator: Translator, line: str) -> list[str] | None:
    """Return the tokens of a source, if its tokenizer separates tags."""
    tokenizer = translator.source.tokenizer
    return tokenizer.tokenize(line) if tokenizer.kind == "tagged" else None


def _unit(translator: Translator) -> Unit:
    """Return what an edit changes: characters, if the targets are written in characters."""
    kind = translator.target.tokenizer.kind
    return "character" if kind in ("characters", "tagged") else "word"


def _outputs(
    translator: Translator, sources: list[str], progress_bar: ProgressBar, search: dict[str, Any]
) -> list[Translation]:
    """Translate the sources; only what the analysis needs stays in memory."""
    outputs = []
    with progress_bar(len(sources)) as progress:
        for first in range(0, len(sources), CHUNK):
            part = sources[first : first + CHUNK]
            translated = translator.translate(part, progress=progress, **search)
            outputs += [replace(one, layers=None, alternatives=()) for one in translated]
    return outputs


def _lines(
    translator: Translator,
    references: References,
    outputs: list[list[Translation]],
    unit: Unit,
    counts: TrainingCounts | None,
) -> Iterator[AnalyzedLine]:
    """Yield each source with its groups, and its outputs with their edits."""
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
