"""Compares a model's attention with human alignments."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from regard.data.pairs import read_lines
from regard.errors import ConfigError, DataError
from regard.metrics.alignment_error_rate import (
    GoldAlignment,
    Link,
    alignment_error_rate,
    hard_alignment,
    word_ids,
)
from regard.metrics.corpus_scores import MetricScore
from regard.pipeline import messages
from regard.text.normalization import normalize
from regard.text.text_processor import TextProcessor
from regard.translator import Translator

_LINK = re.compile(r"(\d+)([-p])(\d+)")


def read_gold_alignments(path: Path) -> tuple[list[GoldAlignment], int]:
    """Read `source words<TAB>target words<TAB>links`; also count links past the end of a line."""
    golds, num_skipped_links = [], 0
    for number, line in read_lines(str(path)):
        columns = line.split("\t")
        if len(columns) != 3:
            raise DataError(str(path), number, messages.wrong_columns(len(columns)))
        source, target = (tuple(column.split()) for column in columns[:2])
        marks = [_LINK.fullmatch(word) for word in columns[2].split()]
        links = [(mark[2], int(mark[1]) - 1, int(mark[3]) - 1) for mark in marks if mark]
        if len(links) < len(marks) or not source or not target:
            wrong = [word for word in columns[2].split() if not _LINK.fullmatch(word)]
            problem = messages.no_link(wrong[0]) if wrong else messages.BLANK_SIDE
            raise DataError(str(path), number, problem)
        inside = [x for x in links if 0 <= x[1] < len(source) and 0 <= x[2] < len(target)]
        num_skipped_links += len(links) - len(inside)
        sure = frozenset((i, j) for kind, i, j in inside if kind == "-")
        golds.append(GoldAlignment(source, target, sure, frozenset((i, j) for _, i, j in inside)))
    return golds, num_skipped_links


def evaluate_alignments(
    translator: Translator,
    golds: Sequence[GoldAlignment],
    path: Path,
    progress: Callable[[int], None] | None = None,
) -> MetricScore:
    """Decode every target by force, and score the attention."""
    if translator.models[0].attention_shape is None:
        raise ConfigError("evaluate", [messages.NO_ATTENTION])
    predictions = []
    for number, gold in enumerate(golds, start=1):
        predictions.append(_predict_links(translator, gold, path, number))
        if progress is not None:
            progress(1)
    return alignment_error_rate(predictions, golds)


def _predict_links(
    translator: Translator, gold: GoldAlignment, path: Path, number: int
) -> set[Link]:
    sides = (translator.source, translator.target)
    words = [
        [normalize(word, side.normalization) for word in line]
        for side, line in zip(sides, (gold.source, gold.target), strict=True)
    ]
    lines = [_join_words(side, line) for side, line in zip(sides, words, strict=True)]
    (translation,) = translator.rescore([(lines[0], lines[1])])
    source, target = (
        word_ids(translation.source_tokens, words[0]),
        word_ids(translation.tokens, words[1]),
    )
    if source is None or target is None or translation.attention is None:
        # the note of a line that is too long says that it was truncated
        problem = next(
            iter(translation.notes), "the letters of its tokens differ from those of its words"
        )
        raise DataError(str(path), number, messages.unaligned(problem))
    # the last row is that of EOS
    return hard_alignment(translation.attention[:-1], source, target)


def _join_words(side: TextProcessor, words: Sequence[str]) -> str:
    """Join words, with spaces only if the model knows the space."""
    spaced = " ".join(words)
    tokens = side.tokenize(spaced)
    return spaced if " " not in tokens or " " in side.vocabulary else "".join(words)
