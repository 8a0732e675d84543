"""The tokens that a model knows, each with its id; no more than a list and its way back."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from regard.errors import ConfigError, InputError
from regard.special_tokens import BOS, EOS, PAD, UNKNOWN

_WRITTEN = {PAD: "<pad>", UNKNOWN: "<unk>", BOS: "<s>", EOS: "</s>"}
SPECIAL_TOKENS = tuple(_WRITTEN[i] for i in range(len(_WRITTEN)))
"""How the four specials are written, in the order of their ids."""


@final
@dataclass(frozen=True)
class Vocabulary:
    """Tokens in the order of their ids: first the four specials, then those of the text.

    A special is known by its place, never by its spelling: a text that has `<s>` in it gets an
    ordinary token of that spelling, with an id of its own.
    """

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if problem := _problem(self.tokens):
            raise ValueError(problem)

    @classmethod
    def build(
        cls, lines: Iterable[Sequence[str]], max_size: int | None = None, min_count: int = 1
    ) -> "Vocabulary":
        """Count the tokens of lines, and rank them as `from_counts` does."""
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(line)
        return cls.from_counts(counts, max_size, min_count)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], max_size: int | None = None, min_count: int = 1
    ) -> "Vocabulary":
        """Rank tokens by their counts: most frequent first, ties by code point.

        `max_size` bounds the whole, specials included; what is seen fewer times than `min_count`
        is left out, so that a model meets the unknown while it learns.
        """
        if max_size is not None and max_size <= len(SPECIAL_TOKENS):
            problem = f"max_size = {max_size}, but it must leave room for a token beside the four"
            raise ConfigError("text", [f"{problem} specials; 5 or more would do"])
        most = max(counts.values(), default=min_count)
        if most < min_count:
            problem = f"min_count = {min_count}, but no token of a side is seen so many times"
            raise ConfigError("text", [f"{problem}; {most} would do"])
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        ranked = [token for token in ranked if counts[token] >= min_count]
        room = None if max_size is None else max_size - len(SPECIAL_TOKENS)
        return cls(SPECIAL_TOKENS + tuple(ranked[:room]))

    def extended(self, other: "Vocabulary") -> "Vocabulary":
        """Return these tokens under their ids, and behind them what only the other has."""
        new = (token for token in other.tokens[len(SPECIAL_TOKENS) :] if token not in self)
        return Vocabulary(self.tokens + tuple(new))

    def ids_in(self, other: "Vocabulary") -> list[int]:
        """Return the other's id of each token; PAD for specials and where it has none."""
        known = [other._ids.get(token, PAD) for token in self.tokens[len(SPECIAL_TOKENS) :]]
        return [PAD] * len(SPECIAL_TOKENS) + known

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIAL_TOKENS)}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Look up tokens of a text; one that is not known is UNKNOWN, and none is a special."""
        return [self._ids.get(token, UNKNOWN) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Spell ids, specials as they are written."""
        return [self._token(i) for i in ids]

    def _token(self, i: int) -> str:
        # a negative index would count from the end
        if not 0 <= i < len(self.tokens):
            raise InputError(f"id = {i}, but it must be at least 0 and below {len(self.tokens)}")
        return self.tokens[i]

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def to_json(self) -> list[str]:
        """Return what `from_json` takes: the tokens in the order of their ids."""
        return list(self.tokens)

    @classmethod
    def from_json(cls, value: object) -> "Vocabulary":
        """Take what `to_json` gave; refuse anything else with a ValueError that says why."""
        if not isinstance(value, list):
            raise ValueError(
                f"vocabulary is of type {type(value).__name__}, but it must be a list of strings"
            )
        return cls(tuple(value))


def _problem(tokens: Sequence[object]) -> str | None:
    """Say what is wrong with the tokens of a vocabulary, if anything is."""
    places: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            return f"vocabulary[{i}] is of type {type(token).__name__}, but it must be a string"
        quoted = ascii(token[:40])
        if not _holds(token):
            return f"vocabulary[{i}] = {quoted}, but it must be text that UTF-8 can hold"
        if i < len(SPECIAL_TOKENS):
            continue
        if token in places:
            return f"vocabulary[{i}] = {quoted}, but it must be new: it stands at {places[token]}"
        places[token] = i
    if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
        return f"vocabulary lacks the specials, but it must begin with {' '.join(SPECIAL_TOKENS)}"
    return None


def _holds(token: str) -> bool:
    """Say whether UTF-8 can hold a token: a lone surrogate could be neither saved nor printed."""
    try:
        token.encode()
    except UnicodeEncodeError:
        return False
    return True
