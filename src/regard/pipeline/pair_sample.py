"""What compares the two sides of a pair: equal lengths over all pairs, similarity over a sample."""

from collections.abc import Sequence
from itertools import islice
from operator import eq
from statistics import fmean
from typing import final

from regard.data.pair_blocks import PairBlock
from regard.pipeline.near_duplicates import near_duplicate_keys

MAX_PAIRS = 1000
"""Number of first pairs that are compared character by character."""


@final
class PairSample:
    """The first pairs, and how many of all pairs have two sides of equal length."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.equal_characters = 0
        self.equal_words = 0

    def add(self, block: PairBlock, num_words: tuple[Sequence[int], Sequence[int]]) -> None:
        """Count pairs, with the words of each line."""
        pairs = zip(block.sources, block.targets, strict=True)
        self.pairs += islice(pairs, MAX_PAIRS - len(self.pairs))
        self.equal_characters += sum(map(eq, map(len, block.sources), map(len, block.targets)))
        self.equal_words += sum(map(eq, *num_words))

    @property
    def similarity(self) -> float:
        """The share of characters that both sides have in the same order, on average."""
        from rapidfuzz.distance import Indel

        return fmean(Indel.normalized_similarity(*pair) for pair in self.pairs)

    @property
    def share_of_near_duplicates(self) -> float:
        """The share of different sources that are near-duplicates of another."""
        sources = {source for source, _ in self.pairs}
        return 1 - len(set(near_duplicate_keys(list(sources)))) / len(sources)
