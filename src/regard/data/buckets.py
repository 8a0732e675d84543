"""Which rows share a batch: rows of like length, under a budget of tokens.

What comes out depends on the lengths, the budget, the seed and the epoch alone, so that a position
in an epoch is a number. Reads no data; pads nothing.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Indexes = NDArray[np.int32]

WINDOW = 1 << 17
"""Rows that are sorted together: many enough for like lengths, few enough to differ by epoch."""


@final
@dataclass(frozen=True, eq=False)
class Buckets:
    """The batches of every epoch: a batch is the rows it holds."""

    source_lengths: NDArray[np.int32]
    target_lengths: NDArray[np.int32]
    batch_tokens: int
    seed: int

    def epoch(self, number: int) -> list[Indexes]:
        """Shuffle, sort by length within windows, cut under the budget, shuffle the batches.

        The width of a row is max(source + 1, target + 1): either side may end in EOS. A batch of n
        rows, w the widest, has n · w ≤ batch_tokens, unless it is one row that is too wide.
        """
        generator = np.random.default_rng([self.seed, number])
        rows = np.arange(len(self.source_lengths), dtype=np.int32)
        generator.shuffle(rows)
        batches: list[Indexes] = []
        for start in range(0, len(rows), WINDOW):
            window = rows[start : start + WINDOW]
            source, target = self.source_lengths[window], self.target_lengths[window]
            by_length = _by_length(source, target, self.batch_tokens, generator.random())
            # in place: the batches are views of one array, however many windows there are
            window[:] = window[by_length]
            widths = np.maximum(source, target)[by_length] + 1
            batches += np.split(window, _cuts(widths, self.batch_tokens))
        return [batches[batch] for batch in generator.permutation(len(batches))]


def in_order(lengths: NDArray[Any], batch_tokens: int) -> tuple[list[Indexes], Indexes]:
    """Return batches sorted by length, and where each row went.

    What was computed batch after batch, read at the second, is in the order of `lengths` again.
    """
    rows = np.argsort(lengths, kind="stable").astype(np.int32)
    restored = np.empty_like(rows)
    restored[rows] = np.arange(len(rows), dtype=np.int32)
    cuts = _cuts(np.asarray(lengths)[rows] + 1, batch_tokens)
    return (np.split(rows, cuts) if len(rows) else []), restored


def _by_length(
    source: NDArray[np.int32], target: NDArray[np.int32], batch_tokens: int, phase: float
) -> NDArray[np.intp]:
    """Sort rows so that neighbours are alike on both sides: strips of targets, in them sources.

    With n batches to come, about 2√n strips of like weight leave the least padding on both sides
    together: finer strips scatter the sources, coarser ones the targets. Every second strip runs
    back, so that a batch across two strips does not join the shortest sources to the longest. The
    phase, 0 to 1, moves the borders: else the same rows would meet in every epoch.
    """
    tokens = np.bincount(target, weights=np.maximum(source, target) + 1)
    before = (np.cumsum(tokens) - tokens) / tokens.sum()
    strip = (before * 2 * np.sqrt(tokens.sum() / batch_tokens) + phase).astype(np.int64)
    # without the numbers that no length has, so that the strips do alternate
    strip = np.cumsum(np.diff(strip, prepend=0) > 0)[target]
    return np.lexsort((np.where(strip % 2, -source, source), strip))


def _cuts(widths: NDArray[Any], batch_tokens: int) -> list[int]:
    """Return where a new batch begins, so that none is over the budget; the first is not named."""
    cuts, start, widest = [], 0, 0
    for row, width in enumerate(widths.tolist()):
        widest = max(widest, width)
        if row > start and (row + 1 - start) * widest > batch_tokens:
            cuts.append(row)
            start, widest = row, width
    return cuts
