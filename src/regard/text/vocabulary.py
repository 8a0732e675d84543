"""The tokens that a model knows, each with its id."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from regard.choices import wrong_value
from regard.errors import ConfigError, InputError
from regard.special_tokens import BOS, EOS, PAD, UNKNOWN
from regard.text import messages

_SPELLINGS = {PAD: "<pad>", UNKNOWN: "<unk>", BOS: "<s>", EOS: "</s>"}
SPECIAL_TOKENS = tuple(_SPELLINGS[i] for i in range(len(_SPELLINGS)))
"""Spellings of the four special tokens, in the order of their ids."""


@final
@dataclass(frozen=True)
class Vocabulary:
    """Tokens in the order of their ids: first the four special tokens, then those of the text.

    A special token is known by its id, never by its spelling: a `<s>` in a text is an ordinary
    token of that spelling, with an id of its own.
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

        `max_size` limits the vocabulary, special tokens included. Tokens with a count below
        `min_count` are left out: from these a model learns to handle unknown tokens.
        """
        if max_size is not None and max_size <= len(SPECIAL_TOKENS):
            problem = messages.max_size_too_small(max_size, len(SPECIAL_TOKENS))
            raise ConfigError("text", [problem])
        highest_count = max(counts.values(), default=min_count)
        if highest_count < min_count:
            raise ConfigError("text", [messages.min_count_too_large(min_count, highest_count)])
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        ranked = [token for token in ranked if counts[token] >= min_count]
        limit = None if max_size is None else max_size - len(SPECIAL_TOKENS)
        return cls(SPECIAL_TOKENS + tuple(ranked[:limit]))

    def union(self, other: "Vocabulary") -> "Vocabulary":
        """Return these tokens with their ids, followed by those that only the other has."""
        new = (token for token in other.tokens[len(SPECIAL_TOKENS) :] if token not in self)
        return Vocabulary(self.tokens + tuple(new))

    def ids_in(self, other: "Vocabulary") -> list[int]:
        """Return each token's id in another vocabulary; PAD for special and missing tokens."""
        known = [other._ids.get(token, PAD) for token in self.tokens[len(SPECIAL_TOKENS) :]]
        return [PAD] * len(SPECIAL_TOKENS) + known

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIAL_TOKENS)}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token of a text, UNKNOWN for one that is not in the vocabulary."""
        return [self._ids.get(token, UNKNOWN) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id, special tokens included."""
        return [self._token(i) for i in ids]

    def _token(self, i: int) -> str:
        # a negative index would count from the end
        if not 0 <= i < len(self.tokens):
            requirement = f"at least 0 and below {len(self.tokens)}"
            raise InputError(wrong_value("id", i, requirement))
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
        """Make a vocabulary from the output of `to_json`; anything else is a ValueError."""
        if not isinstance(value, list):
            type_name = type(value).__name__
            raise ValueError(messages.wrong_type("vocabulary", type_name, "a list of strings"))
        return cls(tuple(value))


def _problem(tokens: Sequence[object]) -> str | None:
    """Say what is wrong with the tokens of a vocabulary, if anything is."""
    positions: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            return messages.wrong_type(f"vocabulary[{i}]", type(token).__name__, "a string")
        quoted = ascii(token[:40])
        if not _is_encodable(token):
            return messages.not_encodable(f"vocabulary[{i}]", quoted)
        if i < len(SPECIAL_TOKENS):
            continue
        if token in positions:
            return messages.repeated_token(f"vocabulary[{i}]", quoted, positions[token])
        positions[token] = i
    if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
        return messages.no_special_tokens(SPECIAL_TOKENS)
    return None


def _is_encodable(token: str) -> bool:
    """Whether UTF-8 can encode a token: a lone surrogate can be neither saved nor printed."""
    try:
        token.encode()
    except UnicodeEncodeError:
        return False
    return True
