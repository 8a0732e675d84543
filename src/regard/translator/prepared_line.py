"""Lines and pairs, checked and tokenized, ready for the search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

from regard.choices import UnknownMode
from regard.errors import InputError
from regard.search import SearchOptions, SearchRequest
from regard.text.unknown_tokens import UnknownToken
from regard.translator import messages
from regard.translator.translation import Translation


def check_iterable(things: Iterable[Any], name: Literal["lines", "pairs"]) -> Iterable[Any]:
    """Return lines or pairs, or refuse what is not iterable."""
    if not isinstance(things, Iterable):
        raise InputError(messages.not_iterable(things, name))
    return things


def split_pair(pair: Any, name: str) -> tuple[str, str | Sequence[str | None]]:
    """Return a source and its target; a text of two letters is no pair."""
    parts = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else None
    if parts is None or len(parts) != 2:
        raise InputError(messages.not_a_pair(name, pair, None if parts is None else len(parts)))
    if not isinstance(parts[1], Sequence):
        raise InputError(messages.target_not_text(name, parts[1]))
    return parts[0], parts[1]


@dataclass(frozen=True)
class TokenizedLine:
    """A line, its tokens and their ids, those that are unknown, and notes for the translation.

    `tokens` are in the case of the line, `model_tokens` in the one that the model reads.
    """

    text: str
    tokens: tuple[str, ...]
    model_tokens: tuple[str, ...]
    ids: tuple[int, ...]
    notes: tuple[str, ...]
    unknown: tuple[UnknownToken, ...] = ()

    def blank_translation(self, *, with_alternatives: bool) -> Translation:
        """Return the empty translation of a blank line, which keeps line counts equal.

        The model never reads a blank line; nothing is scored, not even EOS. If alternatives are
        requested, the empty translation is the only one.
        """
        empty = Translation(
            source=self.text,
            text="",
            source_tokens=(),
            tokens=(),
            token_scores=(),
            rank_score=0.0,
            layers=None,
        )
        return replace(empty, alternatives=(empty,)) if with_alternatives else empty


@final
@dataclass(frozen=True)
class PreparedLine:
    """A line with its search request and options; a blank line has no request."""

    line: TokenizedLine
    request: SearchRequest | None
    options: SearchOptions
    unknown: UnknownMode
