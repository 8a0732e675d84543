"""A constraint for couplets: the second line repeats a token exactly where the first line does.

Both lines have the same length, and punctuation is at the same positions. The second line has no
other token of the first.
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
from regard.search import NEG_INF, Constraint, SearchRequest
from regard.search.constraints import TargetVocabulary
from regard.special_tokens import UNKNOWN

NEW = -1
"""The earlier position of a token that was not there before."""


class Pattern(NamedTuple):
    """What a source requires of its target."""

    earlier: tuple[int, ...]
    """The position where each token stood first, or `NEW`."""

    marks: dict[int, int]
    """The punctuation to copy, by position."""

    excluded: list[int]
    """Tokens that may not be generated elsewhere."""


@final
@register_constraint("repetition_pattern")
class RepetitionPattern(Constraint):
    """As many tokens as the source, repeated where it repeats one; copies only punctuation."""

    def __init__(self, target: TargetVocabulary) -> None:
        super().__init__(target)
        tokens = target.decode(range(len(target)))
        self.marks = frozenset(token_id for token_id, token in enumerate(tokens) if _is_mark(token))
        # each step needs the patterns of the same few lines
        self._pattern = lru_cache(maxsize=4096)(self._pattern_of)

    @override
    def length(self, request: SearchRequest) -> int | None:
        return len(request.source)

    @override
    def forced_token(self, request: SearchRequest, position: int) -> int | None:
        return self._pattern(request.source_tokens).marks.get(position)

    @override
    def restrict(
        self,
        log_probs: Float[Tensor, "B W V"],
        requests: Sequence[SearchRequest],
        position: int,
        generated: Int[np.ndarray, "B W T"],
    ) -> None:
        for scores, request, token_ids in zip(log_probs, requests, generated, strict=True):
            self._restrict_line(scores, self._pattern(request.source_tokens), position, token_ids)

    @staticmethod
    def _restrict_line(
        scores: Float[Tensor, "W V"],
        pattern: Pattern,
        position: int,
        generated: Int[np.ndarray, "W T"],
    ) -> None:
        """Allow only the earlier target token if the source repeats one, else only new tokens."""
        earlier = pattern.earlier[position]
        if earlier == NEW:
            scores[:, pattern.excluded] = NEG_INF
        for row, token_ids in zip(scores, generated, strict=True):
            if earlier == NEW:
                row[token_ids.tolist()] = NEG_INF
                continue
            token_id = int(token_ids[earlier])
            score = row[token_id].clone()
            row.fill_(NEG_INF)
            row[token_id] = score

    def _pattern_of(self, tokens: tuple[str, ...]) -> Pattern:
        first_positions: dict[str, int] = {}
        positions = [first_positions.setdefault(token, i) for i, token in enumerate(tokens)]
        earlier = tuple(NEW if first == i else first for i, first in enumerate(positions))
        ids = self.target.encode(tokens)
        marks = {i: token_id for i, token_id in enumerate(ids) if token_id in self.marks}
        # an unknown token would be replaced by a copy
        return Pattern(earlier, marks, sorted({UNKNOWN, *ids} | self.marks))


def _is_mark(token: str) -> bool:
    return token != "" and all(category(character)[0] in "PSZ" for character in token)
