"""What is asked of a search, and what it answers."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from regard.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to search, for all lines alike; what the settings decide has its default there."""

    beam_size: int
    """Hypotheses kept for each line; 1 is greedy."""

    nbest: int
    """Hypotheses given back for each line, at most `beam_size`."""

    length_penalty: float
    """Exponent α of score / length^α, by which finished hypotheses are compared."""

    stop: Literal["full", "likeliest"]
    """A line is done when `beam_size` have ended; or when moreover none that is still being written
    is likelier than the `nbest` that have ended."""

    max_length: int
    """Words at most, EOS not counted."""

    min_length: int
    """Words at least."""

    same_length: bool
    """As many words as the source has symbols."""

    temperature: float
    """Sample from p^(1/temperature); 0 takes the best instead."""

    top_k: int
    """Sample among the k likeliest words only; 0 for all."""

    top_p: float
    """Sample among the likeliest words that together reach this probability."""

    seed: int
    """Of the samples; a line's samples depend on it and on the line alone."""

    same_pattern: bool = False
    """As many words, each written again where the source has a symbol again, and nowhere else."""

    banned: frozenset[int] = frozenset()
    """Words that must not be written."""

    num_candidates: int = 0
    """Best candidates to report at each position."""

    tree: bool = False
    """Report every hypothesis that was ever kept, with the best of each line."""


@dataclass(frozen=True)
class Request:
    """One line: its source, what its target must begin with, and {step: source position} to see.

    `barred` are words that this line may not write, `repeats` the earlier place of each of its
    symbols, −1 for a new one, and `fixed` the word of a place that is no matter of choice: what
    `same_pattern` goes by.
    """

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    pins: dict[int, int] = field(default_factory=dict)
    barred: frozenset[int] = frozenset()
    repeats: tuple[int, ...] = ()
    fixed: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for step, position in self.pins.items():
            if step < 0 or not 0 <= position < len(self.source):
                raise InputError(
                    f"pins = {{{step}: {position}}}, but it must be a step from 0 and a position "
                    f"of a source of {len(self.source)} symbols, counted from 0"
                )


@dataclass(frozen=True)
class TreeNode:
    """A word that a beam kept, or the EOS by which a hypothesis ended.

    `total` is the sum of the scores from the first word to this one; `kept` says that one of the
    hypotheses given back goes through it.
    """

    parent: int | None
    position: int
    word: int
    score: float
    total: float
    finished: bool
    kept: bool


@dataclass(frozen=True)
class Hypothesis:
    """One target: its words without EOS, and for each word and EOS its score and weights.

    `cut` says that EOS was forced because the target had reached its greatest length: it was not
    the likeliest symbol there, or more had to be written. The best of a line carries the tree of
    its search where one was asked for: nodes in the order in which they came to be, so that a
    parent, given by its place among them, stands before its children.
    """

    words: tuple[int, ...]
    scores: tuple[float, ...]
    weights: Float[np.ndarray, "T L H S"] | None
    cut: bool
    candidates: tuple[tuple[tuple[int, float], ...], ...] = ()
    tree: tuple[TreeNode, ...] = ()

    @property
    def score(self) -> float:
        """log p(words, EOS | source)"""
        return float(sum(self.scores))

    def normalized(self, length_penalty: float) -> float:
        """The score by which hypotheses of unequal length are compared."""
        return self.score / len(self.scores) ** length_penalty
