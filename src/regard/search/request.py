"""What is asked of a search, and what it answers."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to search, for all lines alike."""

    beam_size: int = 1
    """Hypotheses kept for each line; 1 is greedy."""

    nbest: int = 1
    """Hypotheses given back for each line, at most `beam_size`."""

    length_penalty: float = 1.0
    """Exponent α of score / length^α, by which finished hypotheses are compared."""

    max_length: int = 256
    """Words at most, EOS not counted."""

    min_length: int = 0
    """Words at least."""

    same_length: bool = False
    """As many words as the source has symbols."""

    temperature: float = 0.0
    """Sample from p^(1/temperature); 0 takes the best instead."""

    top_k: int = 0
    """Sample among the k likeliest words only; 0 for all."""

    top_p: float = 1.0
    """Sample among the likeliest words that together reach this probability."""

    seed: int = 1
    """Of the samples; a line's samples depend on it and on the line alone."""

    banned: frozenset[int] = frozenset()
    """Words that must not be written."""

    num_candidates: int = 0
    """Best candidates to report at each position."""


@dataclass(frozen=True)
class Request:
    """One line: its source, and what its target must begin with or look at."""

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    pins: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Hypothesis:
    """One target: its words without EOS, and for each word and EOS its score and weights.

    `cut` says that EOS was forced because the target had reached its greatest length.
    """

    words: tuple[int, ...]
    scores: tuple[float, ...]
    weights: Float[np.ndarray, "T L H S"] | None
    cut: bool
    candidates: tuple[tuple[tuple[int, float], ...], ...] = ()

    @property
    def score(self) -> float:
        """log p(words, EOS | source)"""
        return float(sum(self.scores))

    def normalized(self, length_penalty: float) -> float:
        """The score by which hypotheses of unequal length are compared."""
        return self.score / len(self.scores) ** length_penalty
