"""One pass over the pairs: what automatic settings, the validation split and the recipe go by.

What is kept grows with the alphabet alone: of different words and of different sources, no more
are remembered than decide anything.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from regard.text.normalize import normalize
from regard.text.tokenizers import Phonemes

MANY_WORDS = 5000
"""Different words that are remembered: where there are more, it is all one how many."""

MANY_SOURCES = 1 << 16
"""Different sources whose places are remembered, the lowest; where there are more, a guess is
within one percent."""

MANY_TAGS = 1000
"""Different tags that are remembered: where there are more, they are no tags."""

PLACES = 1 << 64

_TAG_SIGNS = frozenset(map(chr, range(33, 127))) - frozenset("abcdefghijklmnopqrstuvwxyz")


@final
@dataclass
class SideLook:
    """One side of all pairs; of its words, the first `MANY_WORDS` different ones."""

    sounds: Phonemes
    lines: int = 0
    characters: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    num_words: int = 0
    num_letters: int = 0
    word_lengths: Counter[int] = field(default_factory=Counter)
    spaced: int = 0
    ended: int = 0
    tags: set[str] = field(default_factory=set)
    num_tags: int = 0
    num_tag_letters: int = 0
    num_tag_signs: int = 0

    def add(self, line: str) -> None:
        """Take note of a line."""
        words = line.split()
        self.lines += 1
        self.characters.update(line)
        self.lengths[len(line)] += 1
        if len(self.words) < MANY_WORDS:
            self.words.update(words)
        self.num_words += len(words)
        self.num_letters += sum(map(len, words))
        self.word_lengths[len(words)] += 1
        self.spaced += len(words) > 1
        self._add_end(line)

    def _add_end(self, line: str) -> None:
        """Take note of the last word, which may be tags."""
        start, space, last = line.rpartition(" ")
        if not (start.strip() and space and last) or len(self.tags) > MANY_TAGS:
            return
        tags = last.split(";")
        self.ended += 1
        self.tags.update(tags)
        self.num_tags += len(tags)
        self.num_tag_letters += len(last)
        self.num_tag_signs += sum(map(_TAG_SIGNS.__contains__, last))

    @property
    def tagged(self) -> bool:
        """Whether every line ends in tags: few that come often, and look like none of its words."""
        if self.ended < self.lines or not 0 < len(self.tags) <= MANY_TAGS:
            return False
        # a year comes often too, but the next one is another
        named = sum(any("A" <= x <= "Z" for x in tag) for tag in self.tags)
        signs = self.num_tag_signs >= 0.9 * self.num_tag_letters
        return signs and 2 * named > len(self.tags) and self.num_tags >= 5 * len(self.tags)

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
        return self.num_words / self.lines

    @property
    def mean_word_length(self) -> float:
        """Characters of a word, on average."""
        return self.num_letters / self.num_words

    @property
    def parts(self) -> int:
        """How many different tokens `sounds` makes of the words."""
        return len({part for word in self.words for part in self.sounds.split(word)})

    @property
    def mean_marks(self) -> float:
        """Marks of a line, on average: what `sounds` may take off a letter."""
        marks = {one: len(self.sounds.split(f"x{one}")) - 1 for one in self.characters}
        return sum(marks[one] * count for one, count in self.characters.items()) / self.lines

    @property
    def repeats(self) -> float:
        """How often a word comes, on average, where there are not too many to say."""
        return self.num_words / len(self.words)


@final
class Look:
    """What the pairs look like, normalized, and a fingerprint of them in their order."""

    def __init__(self, pairs: Iterable[tuple[str, str]], normalization: str) -> None:
        self.source, self.target = (SideLook(Phonemes(normalization)) for _ in range(2))
        places, digest = _Lowest(), hashlib.sha256()
        for source, target in normalized(pairs, normalization):
            self.source.add(source)
            self.target.add(target)
            places.add(place(source))
            digest.update(f"{source}\t{target}\n".encode())
        self.fingerprint = digest.hexdigest()
        self._places = places.found()
        self.sources = places.guess()
        """How many different sources there are."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.source.lines

    def border(self, share: float, most: int) -> int:
        """Return below which `place` a source is held out: at least one, never all.

        Sources are held out whole, with all their targets, so that none is on both sides.
        """
        count = min(max(1, round(share * self.sources)), most, self.sources - 1)
        if count < len(self._places):
            return int(self._places[count]) if count > 0 else 0
        # of so many, places are as even as can be
        return count * PLACES // self.sources


@final
class _Lowest:
    """The lowest of many numbers, each once: they also tell how many different ones there were."""

    def __init__(self) -> None:
        self.lowest = np.empty(0, dtype=np.uint64)
        self.limit = PLACES
        self.waiting = array("Q")

    def add(self, number: int) -> None:
        """Take note of a number."""
        if number < self.limit:
            self.waiting.append(number)
            if len(self.waiting) >= MANY_SOURCES:
                self._sift()

    def found(self) -> NDArray[np.uint64]:
        """Return the lowest, in their order; all, where there are not too many."""
        self._sift()
        return self.lowest

    def guess(self) -> int:
        """Return how many different ones there were; where too many, about how many."""
        if self.limit == PLACES:
            return len(self.found())
        return round(len(self.found()) * PLACES / self.limit)

    def _sift(self) -> None:
        waiting = np.array(self.waiting, dtype=np.uint64)
        every = np.unique(np.concatenate([self.lowest, waiting]))
        if len(every) > MANY_SOURCES:
            # those below it stay
            self.limit = int(every[MANY_SOURCES])
        self.lowest, self.waiting = every[:MANY_SOURCES].copy(), array("Q")


def too_few(look: Look, *, dev: bool) -> str | None:
    """Say why nothing can be learned from so few pairs, if so; `dev` where others are given."""
    if look.sources >= (1 if dev else 2):
        return None
    return (
        f"it holds {look.pairs} pair{'s' * (look.pairs != 1)} with {look.sources} different "
        f"source{'s' * (look.sources != 1)}, but one must be held out for validation; "
        "more pairs, or --dev with a file of others, would do"
    )


def place(source: str) -> int:
    """Return where a source stands in an order that has nothing to do with the file's."""
    digest = hashlib.blake2b(source.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def normalized(pairs: Iterable[tuple[str, str]], normalization: str) -> Iterator[tuple[str, str]]:
    """Yield pairs in one Unicode form."""
    for source, target in pairs:
        yield normalize(source, normalization), normalize(target, normalization)
