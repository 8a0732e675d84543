"""What a search takes and returns: options, a request for each line, hypotheses."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from regard.config.settings import SearchConfig
from regard.errors import InputError


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to search all lines of a call: the settings, and what only a call can say."""

    config: SearchConfig
    """The settings of [search]."""

    banned: frozenset[int] = frozenset()
    """Words that must not be written."""

    num_candidates: int = 0
    """Best candidates to report at each position."""

    keep_tree: bool = False
    """Report every hypothesis that was ever in the beam, with the best of each line."""


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
