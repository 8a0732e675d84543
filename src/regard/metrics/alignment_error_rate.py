"""Alignment error rate: does the attention agree with human alignments?"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from regard import __version__
from regard.metrics.corpus_scores import MetricScore

Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""

_SPACES = re.compile(r"[\s▁]+")


class GoldAlignment(NamedTuple):
    """A pair of lines with a human alignment; sure links are also possible ones."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]


def word_ids(tokens: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """Return the word that each token begins in, −1 for a space; None if their letters differ."""
    letters = "".join(words)
    owner = [number for number, word in enumerate(words) for _ in word]
    word_numbers, position = [], 0
    for token in tokens:
        text = _SPACES.sub("", token)
        if not letters.startswith(text, position):
            return None
        word_numbers.append(owner[position] if text else -1)
        position += len(text)
    return word_numbers if position == len(letters) else None


def hard_alignment(
    weights: Float[np.ndarray, "T S"], source: Sequence[int], target: Sequence[int]
) -> set[Link]:
    """Link each target word to the source word with the largest total attention weight."""
    word_links = set()
    for word in sorted(set(target) - {-1}):
        mean_weights = weights[[number == word for number in target]].mean(axis=0)
        sums = np.zeros(max(source) + 1)
        for number, weight in zip(source, mean_weights, strict=True):
            if number >= 0:
                sums[number] += weight
        word_links.add((int(sums.argmax()), word))
    return word_links


def alignment_error_rate(
    predictions: Iterable[set[Link]], golds: Iterable[GoldAlignment]
) -> MetricScore:
    """1 − (|A∩S| + |A∩P|) / (|A| + |S|) over all lines, in percent (Och & Ney 2003)."""
    right = total = 0
    for predicted_links, gold in zip(predictions, golds, strict=True):
        right += len(predicted_links & gold.sure) + len(predicted_links & gold.possible)
        total += len(predicted_links) + len(gold.sure)
    signature = f"aer|links:most.weight.per.target.word|version:regard-{__version__}"
    return MetricScore("aer", 100 * (1 - right / max(1, total)), signature, higher_is_better=False)
