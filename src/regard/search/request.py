"""What a search takes and returns for a line: a request, and hypotheses."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from regard.errors import InputError


@dataclass(frozen=True)
class Request:
    """One line: its source, what its target must begin with, and {step: source position} to see.

    The tokens of the source are there for constraints that read them.
    """

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    pins: dict[int, int] = field(default_factory=dict)
    source_tokens: tuple[str, ...] = ()

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

    `total` is the sum of the scores from the first token to this one; `in_nbest` says whether one
    of the returned hypotheses goes through it.
    """

    parent: int | None
    position: int
    word: int
    score: float
    total: float
    finished: bool
    in_nbest: bool


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
