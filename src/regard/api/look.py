"""One pass over the pairs: what automatic settings, the validation split and the recipe go by.

What is kept grows with the alphabet, the words and eight bytes a pair, not with the lines.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from regard.text.normalize import normalize


@final
@dataclass
class SideLook:
    """One side of all pairs."""

    lines: int = 0
    characters: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    word_lengths: Counter[int] = field(default_factory=Counter)
    spaced: int = 0

    def add(self, line: str) -> None:
        """Take note of a line."""
        words = line.split()
        self.lines += 1
        self.characters.update(line)
        self.lengths[len(line)] += 1
        self.words.update(words)
        self.word_lengths[len(words)] += 1
        self.spaced += len(words) > 1

    @property
    def share_spaced(self) -> float:
        """The share of lines that spaces divide."""
        return self.spaced / self.lines

    @property
    def mean_length(self) -> float:
        """Characters of a line, on average."""
        return self.characters.total() / self.lines

    @property
    def mean_words(self) -> float:
        """Words of a line, on average."""
        return self.words.total() / self.lines

    @property
    def mean_word_length(self) -> float:
        """Characters of a word, on average."""
        return sum(len(word) * count for word, count in self.words.items()) / self.words.total()

    @property
    def repeats(self) -> float:
        """How often a word comes, on average."""
        return self.words.total() / len(self.words)


@final
class Look:
    """What the pairs look like, normalized, and a fingerprint of them in their order."""

    def __init__(self, pairs: Iterable[tuple[str, str]], normalization: str) -> None:
        self.source, self.target = SideLook(), SideLook()
        self._hashes = array("Q")
        digest = hashlib.sha256()
        for source, target in normalized(pairs, normalization):
            self.source.add(source)
            self.target.add(target)
            self._hashes.append(place(source))
            digest.update(f"{source}\t{target}\n".encode())
        self.fingerprint = digest.hexdigest()

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.source.lines

    @property
    def sources(self) -> int:
        """How many different sources there are."""
        return len(self._places)

    @cached_property
    def _places(self) -> NDArray[np.uint64]:
        """The places of all sources, in their order, each once."""
        return np.unique(np.array(self._hashes, dtype=np.uint64))

    def border(self, share: float, most: int) -> int:
        """Return below which `place` a source is held out: at least one, never all.

        Sources are held out whole, with all their targets, so that none is on both sides.
        """
        count = min(max(1, round(share * self.sources)), most, self.sources - 1)
        return int(self._places[count]) if count > 0 else 0


def place(source: str) -> int:
    """Return where a source stands in an order that has nothing to do with the file's."""
    digest = hashlib.blake2b(source.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def normalized(pairs: Iterable[tuple[str, str]], normalization: str) -> Iterator[tuple[str, str]]:
    """Yield pairs in one Unicode form."""
    for source, target in pairs:
        yield normalize(source, normalization), normalize(target, normalization)
