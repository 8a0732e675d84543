"""Statistics of the words that may be tags: the last word of every line, or the first."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from regard.choices import TAG_SEPARATORS, TagPosition

MAX_TAGS = 1000
"""Maximum number of different tags that are remembered; with more, they are no tags."""

MAX_LEMMAS = 1000
"""Maximum number of different lemmas that are remembered; more make no difference."""

_SPLIT = re.compile(f"[{re.escape(TAG_SEPARATORS)}]+")
_TAG_SIGNS = frozenset(map(chr, range(33, 127))) - frozenset("abcdefghijklmnopqrstuvwxyz")
_MARKS_OF_TAGS = frozenset(";|=")
"""Signs that words of a text rarely contain."""


@final
@dataclass
class TagProfile:
    """The words at one position of all lines, as if they were tags, and the rest of the lines."""

    position: TagPosition
    lines: int = 0
    tags: set[str] = field(default_factory=set)
    lemmas: set[str] = field(default_factory=set)
    num_tags: int = 0
    num_letters: int = 0
    num_signs: int = 0
    num_marked: int = 0
    characters: set[str] = field(default_factory=set)

    def add(self, lines: Sequence[str], num_earlier: int) -> None:
        """Count the tags of lines, unless an earlier line had none."""
        if self.lines < num_earlier or len(self.tags) > MAX_TAGS:
            return
        words: Counter[str] = Counter()
        for line in lines:
            lemma, word = self.split(line)
            if word and lemma and not lemma.isspace():
                words[word] += 1
                if len(self.lemmas) < MAX_LEMMAS:
                    self.lemmas.add(lemma)
        for word, count in words.items():
            tags = list(filter(None, _SPLIT.split(word)))
            self.lines += count
            self.tags.update(tags)
            self.num_tags += count * len(tags)
            self.num_letters += count * len(word)
            self.num_signs += count * sum(map(_TAG_SIGNS.__contains__, word))
            self.num_marked += count * (not _MARKS_OF_TAGS.isdisjoint(word))
            self.characters.update(word)
            if len(self.tags) > MAX_TAGS:
                return

    def split(self, line: str) -> tuple[str, str]:
        """Split a line into its lemma and its tags; one without a space has no tags."""
        return split_tags(line, self.position)

    def are_tags(self, num_lines: int) -> bool:
        """Whether every line has tags: few and frequent, in capitals, digits or signs.

        Tags in small letters are recognized if most lines have a sign that texts rarely contain.
        """
        if self.lines < num_lines or not 0 < len(self.tags) <= MAX_TAGS:
            return False
        if self.num_tags < 5 * len(self.tags):
            return False
        if self.num_marked >= 0.8 * self.lines:
            return True
        # a year comes often too, but the next one is another
        named = sum(any("A" <= x <= "Z" for x in tag) for tag in self.tags)
        return self.num_signs >= 0.9 * self.num_letters and 2 * named > len(self.tags)

    @property
    def separators(self) -> str:
        """The signs that separate the tags."""
        return "".join(x for x in TAG_SEPARATORS if x in self.characters) or ";"


def split_tags(line: str, position: TagPosition) -> tuple[str, str]:
    """Split a line into its lemma and its tags; one without a space has no tags."""
    if position == "first":
        tags, _, lemma = line.partition(" ")
        return (lemma, tags) if lemma else (line, "")
    lemma, _, tags = line.rpartition(" ")
    return (lemma, tags) if lemma else (line, "")
