"""The extension point for constraints: what a target may be, besides what the settings say."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from regard.search.request import Request


class TargetVocabulary(Protocol):
    """What a constraint knows of the target's tokens: their ids, and back."""

    def __len__(self) -> int: ...

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token."""

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id."""


class Constraint(ABC):
    """What the words of a target must satisfy, given its source and the words so far.

    One instance serves all lines and all threads of a translator: it holds nothing of a line. The
    search itself sees to the prefix, to banned words, and to the end at the greatest length.
    """

    def __init__(self, target: TargetVocabulary) -> None:
        self.target = target

    def length(self, request: Request) -> int | None:
        """Return how many words the target must have; None where the settings decide."""
        return None

    def forced_word(self, request: Request, position: int) -> int | None:
        """Return the word that must stand there, even if it is banned; None where none must."""
        return None

    @abstractmethod
    def restrict(
        self,
        log_probs: Float[Tensor, "B W V"],
        requests: Sequence[Request],
        position: int,
        written: Int[np.ndarray, "B W T"],
    ) -> None:
        """Set to −∞, in place, what may not stand at a position: B lines with W hypotheses each.

        `written` has the words of each hypothesis so far. Lines whose word is forced there, by a
        prefix, by `forced_word` or because they must end, are not among these.
        """
