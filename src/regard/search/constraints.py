"""The extension point for constrained decoding: rules for a target besides the settings."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.request import SearchRequest


class TargetVocabulary(Protocol):
    """The part of the target vocabulary that a constraint needs: tokens ⇄ ids."""

    def __len__(self) -> int: ...

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token."""

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id."""


class Constraint(ABC):
    """A rule for the tokens of a target, given its source and the tokens so far.

    One instance serves all lines and all threads of a translator: it holds no state of a line. The
    search itself handles the prefix, banned tokens and the end at the maximum length.
    """

    def __init__(self, target: TargetVocabulary) -> None:
        self.target = target

    def length(self, request: SearchRequest) -> int | None:
        """Return how many tokens the target must have; None if the settings decide."""
        return None

    def forced_token(self, request: SearchRequest, position: int) -> int | None:
        """Return the token that must be at a position, even a banned one; None if any may."""
        return None

    @abstractmethod
    def restrict(
        self,
        log_probs: Float[Tensor, "B W V"],
        requests: Sequence[SearchRequest],
        position: int,
        generated: Int[np.ndarray, "B W T"],
    ) -> None:
        """Set to −∞, in place, what may not be at a position: B lines with W hypotheses each.

        `generated` has the tokens of each hypothesis so far. Lines whose token is forced there, by
        a prefix, by `forced_token` or because they must end, are not among these.
        """
