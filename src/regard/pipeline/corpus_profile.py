"""Statistics of the pairs from one pass: what auto-configuration, split and recipe depend on.

Memory grows only with the alphabet: different words and sources are remembered up to a limit.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import final

from regard.data.pair_blocks import PairBlock
from regard.data.token_indexer import count_characters
from regard.pipeline import messages
from regard.pipeline.pair_sample import PairSample
from regard.pipeline.split import Hashes, SmallestHashes, source_hashes
from regard.pipeline.tag_profile import TagProfile
from regard.text.letter_case import single_case
from regard.text.normalization import normalize
from regard.text.tokenizers import Phonemes

MAX_WORDS = 5000
"""Maximum number of different words that are remembered; more make no difference."""

BLOCK_PAIRS = 1000


@final
@dataclass
class SideProfile:
    """One side of all pairs; of its words, the first `MAX_WORDS` different ones."""

    phonemes: Phonemes
    lines: int = 0
    characters: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    num_words: int = 0
    num_letters: int = 0
    word_lengths: Counter[int] = field(default_factory=Counter)
    spaced_lines: int = 0
    tag_profiles: tuple[TagProfile, ...] = field(
        default_factory=lambda: (TagProfile("last"), TagProfile("first"))
    )

    def add(self, lines: Sequence[str]) -> list[int]:
        """Count lines; return the words of each."""
        characters = count_characters("".join(lines))
        text = "\n".join(lines)
        if _is_single_spaced(text, characters):
            word_counts = [line.count(" ") + 1 for line in lines]
        else:
            word_counts = [len(line.split()) for line in lines]
        self.lines += len(lines)
        self.characters.update(characters)
        self.lengths.update(map(len, lines))
        self.num_words += sum(word_counts)
        self.num_letters += sum(n for x, n in characters.items() if not x.isspace())
        self.word_lengths.update(word_counts)
        self.spaced_lines += len(lines) - word_counts.count(0) - word_counts.count(1)
        self._add_words(lines, text)
        for tags in self.tag_profiles:
            tags.add(lines, self.lines - len(lines))
        return word_counts

    def _add_words(self, lines: Sequence[str], text: str) -> None:
        """Remember different words, up to the limit."""
        if len(self.words) >= MAX_WORDS:
            return
        words = self.words.union(text.split())
        if len(words) < MAX_WORDS:
            self.words = words
            return
        for line in lines:
            if len(self.words) < MAX_WORDS:
                self.words.update(line.split())

    @property
    def tags(self) -> TagProfile | None:
        """The tags that every line has, if so."""
        return next((tags for tags in self.tag_profiles if tags.are_tags(self.lines)), None)

    @property
    def share_with_spaces(self) -> float:
        """The share of lines with a space between words."""
        return self.spaced_lines / self.lines

    @property
    def single_case(self) -> str | None:
        """The one case of all letters: lower or upper; None if there are two or none."""
        return single_case(self.characters)

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
    def num_phoneme_tokens(self) -> int:
        """Number of different tokens if the words are tokenized as phonemes."""
        return len({part for word in self.words for part in self.phonemes.tokenize(word)})

    @property
    def mean_marks(self) -> float:
        """Phonetic marks of a line, on average."""
        marks = {
            character: len(self.phonemes.tokenize(f"x{character}")) - 1
            for character in self.characters
        }
        return (
            sum(marks[character] * count for character, count in self.characters.items())
            / self.lines
        )

    @property
    def mean_word_count(self) -> float:
        """Mean number of occurrences of a word, if not too many words were seen."""
        return self.num_words / len(self.words)


def _is_single_spaced(text: str, characters: Counter[str]) -> bool:
    """Whether one space, and no other white space, is between the words of each line."""
    if any(x.isspace() and x != " " for x in characters):
        return False
    return not any(irregular in f"\n{text}\n" for irregular in ("  ", " \n", "\n ", "\n\n"))


@final
class CorpusProfile:
    """Statistics of the pairs in one Unicode form, and a fingerprint of the pairs in order."""

    def __init__(self, normalization: str) -> None:
        self.normalization = normalization
        self.source, self.target = (SideProfile(Phonemes(normalization)) for _ in range(2))
        self.sample = PairSample()
        self.has_groups = False
        self._hashes = SmallestHashes()
        self._digest = hashlib.sha256()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], normalization: str) -> "CorpusProfile":
        """Profile pairs of any form."""
        profile, pairs = cls(normalization), iter(pairs)
        while block := list(islice(pairs, BLOCK_PAIRS)):
            profile.add_pairs(block)
        return profile

    def add_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Count pairs of any form."""
        block = PairBlock(*([pair[side] for pair in pairs] for side in (0, 1)))
        self.add(normalize_block(block, self.normalization))

    def add(self, block: PairBlock) -> Hashes:
        """Count normalized pairs; return the hashes by which they are split."""
        num_words = self.source.add(block.sources), self.target.add(block.targets)
        self.sample.add(block, num_words)
        self.has_groups = self.has_groups or bool(block.groups)
        hashes = split_hashes(block)
        self._hashes.add(hashes)
        self._digest.update(tsv_bytes(block))
        return hashes

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the normalized pairs, one line `source<TAB>target` each."""
        return self._digest.hexdigest()

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return self.source.lines

    @property
    def sources(self) -> int:
        """Number of different sources; an estimate if there are very many."""
        return self._hashes.num_different

    def dev_threshold(self, share: float, most: int) -> int:
        """Return the hash below which a source is held out: at least one source, never all."""
        return self._hashes.threshold(share, most)


def tsv_bytes(block: PairBlock) -> bytes:
    """Return pairs as lines of a TSV, for a fingerprint; groups decide the split and are part."""
    if block.groups:
        rows = zip(block.sources, block.targets, block.groups, strict=True)
        return "".join(map("%s\t%s\t%s\n".__mod__, rows)).encode()
    return "".join(map("%s\t%s\n".__mod__, block.pairs())).encode()


def split_hashes(block: PairBlock) -> Hashes:
    """Return what decides the split: the hash of each pair's group, or else of its source."""
    return source_hashes(block.groups or block.sources)


def too_few(profile: CorpusProfile, *, dev: bool) -> str | None:
    """Say that there are too few pairs, if so; `dev` says that others are for validation."""
    if profile.sources >= (1 if dev else 2):
        return None
    if profile.has_groups and profile.pairs:
        return messages.nothing_to_split("group")
    return messages.too_few_pairs(profile.pairs, profile.sources)


def normalize_block(block: PairBlock, form: str) -> PairBlock:
    """Bring pairs into one Unicode form."""
    sources, targets = (_normalized(side, form) for side in (block.sources, block.targets))
    return PairBlock(sources, targets, _normalized(block.groups, form))


def _normalized(lines: Sequence[str], form: str) -> Sequence[str]:
    if not lines:
        return lines
    # a line end composes with no letter: lines may be normalized together
    text = "\n".join(lines)
    normal = normalize(text, form)
    return lines if normal == text else normal.split("\n")
