"""Lines and pairs as a translator takes them: checked, tokenized, ready to be searched."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

from regard.choices import UnknownMode
from regard.errors import InputError
from regard.search import SearchOptions, SearchRequest
from regard.translator.translation import Translation


def each_of(things: Iterable[Any], name: Literal["lines", "pairs"]) -> Iterable[Any]:
    """Return what can be gone through, or say what would do."""
    if not isinstance(things, Iterable):
        would = {"lines": "a line of text, or a list of them,", "pairs": "[(source, target)]"}
        raise InputError(
            f"{name} is of type {type(things).__name__}, but it must be {name} to go through; "
            f"{would[name]} would do"
        )
    return things


def pair_of(pair: Any, name: str) -> tuple[str, str | Sequence[str | None]]:
    """Return a source and its target; two letters of a text are none."""
    parts = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else None
    if parts is None or len(parts) != 2:
        what = f"is of type {type(pair).__name__}" if parts is None else f"has {len(parts)} parts"
        raise InputError(
            f"{name} {what}, but it must be a source and its target; [(source, target)] would do"
        )
    if not isinstance(parts[1], Sequence):
        raise InputError(
            f"the target of {name} is of type {type(parts[1]).__name__}, but it must be text or "
            "its tokens"
        )
    return parts[0], parts[1]


@dataclass(frozen=True)
class TokenizedLine:
    """A line as the model reads it."""

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    notes: tuple[str, ...]

    def nothing(self, *, several: bool) -> Translation:
        """Answer nothing, so that line counts match.

        A blank line was never given to the model, so that nothing was scored: not even EOS. Where
        there may be several answers it is the only one, so that there always is a first.
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
        return replace(empty, alternatives=(empty,)) if several else empty


@final
@dataclass(frozen=True)
class PreparedLine:
    """A line that is ready to be searched, and how; a blank one has no request."""

    line: TokenizedLine
    request: SearchRequest | None
    options: SearchOptions
    unknown: UnknownMode
