"""The symbols that a model knows, each with its id; no more than a list and its way back."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from regard.errors import ConfigError, InputError
from regard.special_tokens import BOS, EOS, PAD, UNKNOWN

_WRITTEN = {PAD: "<pad>", UNKNOWN: "<unk>", BOS: "<s>", EOS: "</s>"}
SPECIALS = tuple(_WRITTEN[i] for i in range(len(_WRITTEN)))
"""How the four specials are written, in the order of their ids."""


@final
@dataclass(frozen=True)
class Vocabulary:
    """Symbols in the order of their ids: first the four specials, then those of the text.

    A special is known by its place, never by its spelling: a text that has `<s>` in it gets an
    ordinary symbol of that spelling, with an id of its own.
    """

    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        if problem := _problem(self.symbols):
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
        if max_size is not None and max_size <= len(SPECIALS):
            problem = f"max_size = {max_size}, but it must leave room for a symbol beside the four"
            raise ConfigError("text", [f"{problem} specials; 5 or more would do"])
        most = max(counts.values(), default=min_count)
        if most < min_count:
            problem = f"min_count = {min_count}, but no symbol of a side is seen so many times"
            raise ConfigError("text", [f"{problem}; {most} would do"])
        ranked = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        ranked = [symbol for symbol in ranked if counts[symbol] >= min_count]
        room = None if max_size is None else max_size - len(SPECIALS)
        return cls(SPECIALS + tuple(ranked[:room]))

    def extended(self, other: "Vocabulary") -> "Vocabulary":
        """Return these symbols under their ids, and behind them what only the other has."""
        new = (symbol for symbol in other.symbols[len(SPECIALS) :] if symbol not in self)
        return Vocabulary(self.symbols + tuple(new))

    def ids_in(self, other: "Vocabulary") -> list[int]:
        """Return the other's id of each symbol; PAD for specials and where it has none."""
        known = [other._ids.get(symbol, PAD) for symbol in self.symbols[len(SPECIALS) :]]
        return [PAD] * len(SPECIALS) + known

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.symbols) if i >= len(SPECIALS)}

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Look up tokens of a text; one that is not known is UNKNOWN, and none is a special."""
        return [self._ids.get(token, UNKNOWN) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Spell ids, specials as they are written."""
        return [self._symbol(i) for i in ids]

    def _symbol(self, i: int) -> str:
        # a negative index would count from the end
        if not 0 <= i < len(self.symbols):
            raise InputError(f"id = {i}, but it must be at least 0 and below {len(self.symbols)}")
        return self.symbols[i]

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def to_json(self) -> list[str]:
        """Return what `from_json` takes: the symbols in the order of their ids."""
        return list(self.symbols)

    @classmethod
    def from_json(cls, value: object) -> "Vocabulary":
        """Take what `to_json` gave; refuse anything else with a ValueError that says why."""
        if not isinstance(value, list):
            raise ValueError(
                f"vocabulary is of type {type(value).__name__}, but it must be a list of strings"
            )
        return cls(tuple(value))


def _problem(symbols: Sequence[object]) -> str | None:
    """Say what is wrong with the symbols of a vocabulary, if anything is."""
    places: dict[str, int] = {}
    for i, symbol in enumerate(symbols):
        if not isinstance(symbol, str):
            return f"vocabulary[{i}] is of type {type(symbol).__name__}, but it must be a string"
        quoted = ascii(symbol[:40])
        if not _holds(symbol):
            return f"vocabulary[{i}] = {quoted}, but it must be text that UTF-8 can hold"
        if i < len(SPECIALS):
            continue
        if symbol in places:
            return f"vocabulary[{i}] = {quoted}, but it must be new: it stands at {places[symbol]}"
        places[symbol] = i
    if tuple(symbols[: len(SPECIALS)]) != SPECIALS:
        return f"vocabulary lacks the specials, but it must begin with {' '.join(SPECIALS)}"
    return None


def _holds(symbol: str) -> bool:
    """Say whether UTF-8 can hold a symbol: a lone surrogate could be neither saved nor printed."""
    try:
        symbol.encode()
    except UnicodeEncodeError:
        return False
    return True
