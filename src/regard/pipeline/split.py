"""Which sources are held out for validation: those with the smallest hashes.

The split is a function of the sources, not of their order: a source is held out with all of its
targets, and none is on both sides.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import final

import numpy as np
from numpy.typing import NDArray

MAX_HASHES = 1 << 16
"""Number of smallest hashes that are remembered; with more sources, their number is estimated to
within one percent."""

NUM_HASHES = 1 << 64

Hashes = NDArray[np.uint64]


def source_hashes(sources: Iterable[str]) -> Hashes:
    """Return the hash of each source."""
    digests = b"".join([blake2b(x.encode(), digest_size=8).digest() for x in sources])
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


@final
class SmallestHashes:
    """The smallest distinct hashes of many; they also estimate how many distinct ones there are."""

    def __init__(self) -> None:
        self._smallest: Hashes = np.empty(0, dtype=np.uint64)
        self._limit = NUM_HASHES
        self._pending: list[Hashes] = []
        self._num_pending = 0

    def add(self, hashes: Hashes) -> None:
        """Add hashes."""
        if self._limit < NUM_HASHES:
            hashes = hashes[hashes < np.uint64(self._limit)]
        self._pending.append(hashes)
        self._num_pending += len(hashes)
        if self._num_pending >= MAX_HASHES:
            self._merge()

    @property
    def smallest(self) -> Hashes:
        """Return the smallest hashes in order; all, if there are not too many."""
        self._merge()
        return self._smallest

    @property
    def num_different(self) -> int:
        """Return the number of different hashes; an estimate if there are too many."""
        count = len(self.smallest)
        return count if self._limit == NUM_HASHES else round(count * NUM_HASHES / self._limit)

    def threshold(self, share: float, max_sources: int) -> int:
        """Return the hash below which a source is held out: at least one source, never all."""
        num_sources = self.num_different
        count = min(max(1, round(share * num_sources)), max_sources, num_sources - 1)
        if count < len(self._smallest):
            return int(self._smallest[count]) if count > 0 else 0
        # so many hashes are evenly distributed
        return count * NUM_HASHES // num_sources

    def _merge(self) -> None:
        if not self._pending:
            return
        hashes = np.unique(np.concatenate([self._smallest, *self._pending]))
        if len(hashes) > MAX_HASHES:
            # hashes at or above the limit are dropped
            self._limit = int(hashes[MAX_HASHES])
        self._smallest = hashes[:MAX_HASHES].copy()
        self._pending, self._num_pending = [], 0
