"""The tokens of many lines as numbers: tokenized once, counted, mapped to vocabulary ids later.

A vocabulary is known only when all lines have been counted. Until then, a token has a provisional
index: its code point, its piece in a subword model, or its place in the order of first use.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from regard.special_tokens import UNKNOWN
from regard.text.tokenizers import UNKNOWN_PIECE, Characters, Subwords, Tokenizer
from regard.text.vocabulary import Vocabulary


class IndexedLines(NamedTuple):
    """The tokens of some lines end to end, and how many each line has."""

    indexes: NDArray[np.int32]
    lengths: NDArray[np.int32]


class TokenIndexer(ABC):
    """Tokenizes lines, and counts tokens."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)

    @abstractmethod
    def index(self, lines: Sequence[str]) -> IndexedLines:
        """Tokenize lines."""

    @abstractmethod
    def _token(self, index: int) -> str:
        """Spell the token of an index."""

    def count(self, indexes: NDArray[Any]) -> None:
        """Count tokens."""
        self._counts = _add_counts(self._counts, indexes)

    def counts(self) -> Counter[str]:
        """Return how often each token was counted."""
        counts: Counter[str] = Counter()
        for index in np.flatnonzero(self._counts).tolist():
            # one token may have two indexes
            counts[self._token(index)] += int(self._counts[index])
        return counts

    def ids(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Return the id of each index that was counted."""
        table = np.full(len(self._counts), UNKNOWN, dtype=np.int32)
        indexes = np.flatnonzero(self._counts)
        table[indexes] = vocabulary.encode(map(self._token, indexes.tolist()))
        return table


def make_token_indexer(tokenizer: Tokenizer) -> TokenIndexer:
    """Return the fastest indexer for a tokenizer."""
    if isinstance(tokenizer, Characters):
        return _CharacterIndexer()
    if isinstance(tokenizer, Subwords):
        return _PieceIndexer(tokenizer)
    return _SplitIndexer(tokenizer)


def count_characters(text: str) -> Counter[str]:
    """Count the characters of a text."""
    counts = _add_counts(np.zeros(0, dtype=np.int64), code_points(text))
    return Counter({chr(i): int(counts[i]) for i in np.flatnonzero(counts).tolist()})


def code_points(text: str) -> NDArray[Any]:
    """Return the code points of a text."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _add_counts(counts: NDArray[np.int64], indexes: NDArray[Any]) -> NDArray[np.int64]:
    more = np.bincount(indexes, minlength=len(counts))
    more[: len(counts)] += counts
    return more


def _lengths(lines: Sequence[Sequence[Any]]) -> NDArray[np.int32]:
    return np.fromiter(map(len, lines), dtype=np.int32, count=len(lines))


def _concatenate(lines: Sequence[Sequence[int]]) -> IndexedLines:
    lengths = _lengths(lines)
    count = int(lengths.sum())
    indexes = np.fromiter(chain.from_iterable(lines), dtype=np.int32, count=count)
    return IndexedLines(indexes, lengths)


@final
class _CharacterIndexer(TokenIndexer):
    """The index of a character is its code point."""

    @override
    def index(self, lines: Sequence[str]) -> IndexedLines:
        return IndexedLines(code_points("".join(lines)).astype(np.int32), _lengths(lines))

    @override
    def _token(self, index: int) -> str:
        return chr(index)


@final
class _IndexByFirstUse(dict[str, int]):
    """Numbers keys in order of first use."""

    def __missing__(self, token: str) -> int:
        self[token] = index = len(self)
        return index


@final
class _SplitIndexer(TokenIndexer):
    """The index of a token is its place in the order of first use; for any tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self._indexes = _IndexByFirstUse()
        self._tokens: list[str] = []

    @override
    def index(self, lines: Sequence[str]) -> IndexedLines:
        index = self._indexes.__getitem__
        return _concatenate([list(map(index, self.tokenizer.tokenize(line))) for line in lines])

    @override
    def _token(self, index: int) -> str:
        if len(self._tokens) < len(self._indexes):
            self._tokens = list(self._indexes)
        return self._tokens[index]


@final
class _PieceIndexer(TokenIndexer):
    """The index of a piece is its number in the subword model; other tokens come after these."""

    def __init__(self, tokenizer: Subwords) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.pieces = tokenizer.pieces()
        self.others = _SplitIndexer(tokenizer)

    @override
    def index(self, lines: Sequence[str]) -> IndexedLines:
        pieces = self.tokenizer.piece_ids(lines)
        nearest_of_256 = _concatenate(pieces)
        if UNKNOWN_PIECE not in nearest_of_256.indexes:
            return nearest_of_256
        for at, line in enumerate(lines):
            if UNKNOWN_PIECE in pieces[at]:
                others = self.others.index([line]).indexes + len(self.pieces)
                pieces[at] = others.tolist()
        return _concatenate(pieces)

    @override
    def _token(self, index: int) -> str:
        other = index - len(self.pieces)
        return self.pieces[index] if other < 0 else self.others._token(other)
