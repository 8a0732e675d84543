"""The output of a search for one line: hypotheses, and the tree of all that were in the beam."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class TreeNode:
    """A token that was in the beam, or the EOS of a finished hypothesis.

    `total` is the sum of the scores from the first token to this one; `in_nbest` says whether one
    of the returned hypotheses goes through it.
    """

    parent: int | None
    position: int
    token_id: int
    score: float
    total: float
    finished: bool
    in_nbest: bool


@dataclass(frozen=True)
class Hypothesis:
    """One target: its tokens without EOS, and the score and weights of each token and EOS.

    `truncated` says that EOS was forced at the maximum length: another token was likelier, or the
    target was not yet long enough. The best hypothesis of a line has the tree of the search, if
    the options request it. Its nodes are in order of creation: a parent, given by its index, comes
    before its children.
    """

    token_ids: tuple[int, ...]
    scores: tuple[float, ...]
    weights: Float[np.ndarray, "T L H S"] | None
    truncated: bool
    candidates: tuple[tuple[tuple[int, float], ...], ...] = ()
    tree: tuple[TreeNode, ...] = ()

    @property
    def score(self) -> float:
        """log p(tokens, EOS | source)"""
        return float(sum(self.scores))

    def normalized_score(self, alpha: float) -> float:
        """Return score / length^α, by which hypotheses of unequal length are compared."""
        return self.score / length_penalty(len(self.scores), alpha)


def length_penalty(length: int, alpha: float) -> float:
    """Return length^α; α = 0 compares sums of scores, α = 1 means per token."""
    return float(length**alpha)
