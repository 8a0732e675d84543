"""Couplets: the second line repeats a token where the first line does, and nowhere else.

Lines of a couplet are equally long, and their marks of punctuation stand in the same places. No
other token of the first line comes again in the second.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, final
from unicodedata import category

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from regard.extensions import register_constraint
from regard.search import NEVER, Constraint, Request
from regard.search.constraints import TargetVocabulary
from regard.special_tokens import UNKNOWN

NEW = -1
"""The earlier place of a token that stands for the first time."""


class Pattern(NamedTuple):
    """What a source asks of its target."""

    earlier: tuple[int, ...]
    """The place where each token stood first, or `NEW`."""

    marks: dict[int, int]
    """The marks to copy, by their places."""

    barred: list[int]
    """Words that may not be written anywhere else."""


@final
@register_constraint("repetition_pattern")
class RepetitionPattern(Constraint):
    """As many tokens as the source, repeated where it repeats one; of the source, marks alone."""

    def __init__(self, target: TargetVocabulary) -> None:
        super().__init__(target)
        tokens = target.decode(range(len(target)))
        self.marks = frozenset(word for word, token in enumerate(tokens) if _is_mark(token))
        # the same few lines are asked for at every step
        self._pattern = lru_cache(maxsize=4096)(self._pattern_of)

    @override
    def length(self, request: Request) -> int | None:
        return len(request.source)

    @override
    def forced_word(self, request: Request, position: int) -> int | None:
        return self._pattern(request.source_tokens).marks.get(position)

    @override
    def restrict(
        self,
        log_probs: Float[Tensor, "B W V"],
        requests: Sequence[Request],
        position: int,
        written: Int[np.ndarray, "B W T"],
    ) -> None:
        for scores, request, words in zip(log_probs, requests, written, strict=True):
            self._follow(scores, self._pattern(request.source_tokens), position, words)

    @staticmethod
    def _follow(
        scores: Float[Tensor, "W V"],
        pattern: Pattern,
        position: int,
        written: Int[np.ndarray, "W T"],
    ) -> None:
        """Leave the word that stood where the token stood before; of a new token, new words."""
        earlier = pattern.earlier[position]
        if earlier == NEW:
            scores[:, pattern.barred] = NEVER
        for row, words in zip(scores, written, strict=True):
            if earlier == NEW:
                row[words.tolist()] = NEVER
                continue
            word = int(words[earlier])
            score = row[word].clone()
            row.fill_(NEVER)
            row[word] = score

    def _pattern_of(self, tokens: tuple[str, ...]) -> Pattern:
        first: dict[str, int] = {}
        places = [first.setdefault(token, at) for at, token in enumerate(tokens)]
        earlier = tuple(NEW if place == at else place for at, place in enumerate(places))
        ids = self.target.encode(tokens)
        marks = {at: word for at, word in enumerate(ids) if word in self.marks}
        # an unknown word would be shown as a copy
        return Pattern(earlier, marks, sorted({UNKNOWN, *ids} | self.marks))


def _is_mark(token: str) -> bool:
    return token != "" and all(category(character)[0] in "PSZ" for character in token)
