"""Parsed pairs on disk: every later stage reads them from here.

A spool is an unnamed temporary file that ends with the process. It holds blocks of pairs: sources,
targets, groups if there are any, and the hash of each group or source, which decides the split.
"""

import tempfile
import weakref
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from regard.data.pair_blocks import PairBlock
from regard.errors import DataError, unwritable
from regard.pipeline.corpus_profile import normalize_block, split_hashes
from regard.pipeline.split import Hashes


class SpooledBlock(NamedTuple):
    """Neighbouring pairs, and the hashes of their groups or sources."""

    pairs: PairBlock
    hashes: Hashes

    def split(self, threshold: int) -> tuple[PairBlock, PairBlock]:
        """Return the pairs to train on, and those below the threshold, which are held out."""
        held_out = self.hashes < np.uint64(threshold)
        if not held_out.any():
            return self.pairs, PairBlock([], [])
        return self._select(~held_out), self._select(held_out)

    def _select(self, mask: NDArray[np.bool_]) -> PairBlock:
        rows = np.flatnonzero(mask).tolist()
        sources, targets, groups = self.pairs
        selected = [groups[row] for row in rows] if groups else ()
        return PairBlock([sources[row] for row in rows], [targets[row] for row in rows], selected)


@final
class PairSpool:
    """Pairs in one Unicode form, or unchanged if the form is `none`."""

    def __init__(self, name: str, normalization: str, folder: Path | None = None) -> None:
        self.name = name
        self.normalization = normalization
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise DataError(str(folder), None, unwritable(error)) from None
        weakref.finalize(self, self._file.close)
        self._sizes = array("q")

    def add(self, pairs: PairBlock, hashes: Hashes) -> None:
        """Append a block."""
        sides = ["\n".join(side).encode() for side in pairs]
        self._sizes.extend((*map(len, sides), len(hashes)))
        try:
            self._file.write(b"".join((*sides, hashes.tobytes())))
        except OSError as error:
            raise DataError(self.name, None, unwritable(error)) from None

    def blocks(self, normalization: str) -> Iterator[SpooledBlock]:
        """Read the pairs in a Unicode form, in their order."""
        self._file.seek(0)
        sizes = iter(self._sizes)
        for *lengths, count in zip(sizes, sizes, sizes, sizes, strict=True):
            # a group is text: no groups at all have no bytes
            sides = [self._file.read(size).decode().split("\n") if size else [] for size in lengths]
            hashes = np.frombuffer(self._file.read(8 * count), dtype=np.uint64)
            pairs = PairBlock(*sides)
            if normalization != self.normalization:
                pairs = normalize_block(pairs, normalization)
                hashes = split_hashes(pairs)
            yield SpooledBlock(pairs, hashes)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Read the pairs one by one."""
        for block in self.blocks(self.normalization):
            yield from block.pairs.pairs()
