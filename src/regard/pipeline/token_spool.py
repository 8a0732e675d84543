"""Training pairs as token indexes on disk, until the vocabularies are known."""

import tempfile
import weakref
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import EncodedBlock
from regard.data.pair_blocks import PairBlock
from regard.data.token_indexer import IndexedLines, TokenIndexer
from regard.errors import DataError, unwritable

Tables = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The id of each index of a source token, and of a target token."""


@final
class TokenSpool:
    """Tokenized pairs within the length limits; `left_out` counts the others."""

    def __init__(self, folder: Path) -> None:
        self.left_out = 0
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise DataError(str(folder), None, unwritable(error)) from None
        weakref.finalize(self, self._file.close)
        self._sizes = array("q")

    def add(
        self,
        pairs: PairBlock,
        indexers: tuple[TokenIndexer, TokenIndexer],
        max_lengths: tuple[int, int],
    ) -> None:
        """Tokenize pairs and count their tokens; write those within the length limits."""
        sides = [
            indexers[0].index(pairs.sources),
            indexers[1].index(pairs.targets),
        ]
        for indexer, side in zip(indexers, sides, strict=True):
            indexer.count(side.indexes)
        fits = (sides[0].lengths <= max_lengths[0]) & (sides[1].lengths <= max_lengths[1])
        if not fits.all():
            self.left_out += int((~fits).sum())
            sides = [_select(side, fits) for side in sides]
        columns = [column for side in sides for column in side]
        self._sizes.extend(map(len, columns))
        try:
            self._file.write(b"".join(column.tobytes() for column in columns))
        except OSError as error:
            raise DataError(str(self._folder), None, unwritable(error)) from None

    def encode(self, tables: Tables) -> Iterator[EncodedBlock]:
        """Return the pairs as ids, in their order."""
        self._file.seek(0)
        sizes = iter(self._sizes)
        for counts in zip(sizes, sizes, sizes, sizes, strict=True):
            source, source_lengths, target, target_lengths = map(self._read, counts)
            yield EncodedBlock(tables[0][source], source_lengths, tables[1][target], target_lengths)

    def _read(self, count: int) -> NDArray[Any]:
        return np.frombuffer(self._file.read(4 * count), dtype=np.int32)


def _select(side: IndexedLines, mask: NDArray[np.bool_]) -> IndexedLines:
    return IndexedLines(side.indexes[np.repeat(mask, side.lengths)], side.lengths[mask])
