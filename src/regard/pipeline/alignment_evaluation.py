"""A model's attention beside alignments made by people."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from regard.data.pairs import read_lines
from regard.errors import ConfigError, DataError
from regard.metrics.alignment_error_rate import Gold, Link, alignment_error_rate, links, words_of
from regard.metrics.corpus_scores import MetricScore
from regard.text.normalization import normalize
from regard.text.text_processor import TextProcessor
from regard.translator import Translator

_LINK = re.compile(r"(\d+)([-p])(\d+)")


def read_gold_alignments(path: Path) -> tuple[list[Gold], int]:
    """Read `source words<TAB>target words<TAB>links`; also count links past the end of a line."""
    golds, beyond = [], 0
    for number, line in read_lines(str(path)):
        columns = line.split("\t")
        if len(columns) != 3:
            problem = f"it has {len(columns)} columns, but it must have three"
            would = "source words, target words and links such as 1-1 2p3 would do"
            raise DataError(str(path), number, f"{problem}; {would}")
        source, target = (tuple(column.split()) for column in columns[:2])
        marks = [_LINK.fullmatch(word) for word in columns[2].split()]
        named = [(mark[2], int(mark[1]) - 1, int(mark[3]) - 1) for mark in marks if mark]
        if len(named) < len(marks) or not source or not target:
            wrong = next((w for w in columns[2].split() if not _LINK.fullmatch(w)), "a blank side")
            problem = f"{wrong} is no link, but each must name two words"
            raise DataError(str(path), number, f"{problem}; 1-1, or 1p1 if unsure, would do")
        inside = [x for x in named if 0 <= x[1] < len(source) and 0 <= x[2] < len(target)]
        beyond += len(named) - len(inside)
        sure = frozenset((i, j) for kind, i, j in inside if kind == "-")
        golds.append(Gold(source, target, sure, frozenset((i, j) for _, i, j in inside)))
    return golds, beyond


def evaluate_alignments(
    translator: Translator,
    golds: Sequence[Gold],
    path: Path,
    progress: Callable[[int], None] | None = None,
) -> MetricScore:
    """Force every target through the model, and score where it looked."""
    if translator.models[0].attention_shape is None:
        problem = "the model has no attention, but alignments are read from it"
        raise ConfigError("evaluate", [f"{problem}; one that looks, as bahdanau2015, would do"])
    predicted = []
    for number, gold in enumerate(golds, start=1):
        predicted.append(_links(translator, gold, path, number))
        if progress is not None:
            progress(1)
    return alignment_error_rate(predicted, golds)


def _links(translator: Translator, gold: Gold, path: Path, number: int) -> set[Link]:
    sides = (translator.source, translator.target)
    words = [
        [normalize(word, side.normalization) for word in line]
        for side, line in zip(sides, (gold.source, gold.target), strict=True)
    ]
    lines = [_line(side, line) for side, line in zip(sides, words, strict=True)]
    (answer,) = translator.rescore([(lines[0], lines[1])])
    source, target = words_of(answer.source_tokens, words[0]), words_of(answer.tokens, words[1])
    if source is None or target is None or answer.attention is None:
        # a line that is too long was said to be cut
        problem = next(iter(answer.notes), "the model cuts it into other letters than it has")
        raise DataError(str(path), number, f"{problem}; leaving the line out would do")
    # the last row is the end's
    return links(answer.attention[:-1], source, target)


def _line(side: TextProcessor, words: Sequence[str]) -> str:
    """Join words; a space that the model never met is left out."""
    spaced = " ".join(words)
    tokens = side.tokens(spaced)
    return spaced if " " not in tokens or " " in side.vocabulary else "".join(words)
