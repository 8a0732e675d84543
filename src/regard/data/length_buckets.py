"""Which rows share a batch: rows of similar length, under a budget of tokens.

The batches depend only on the lengths, the budget, the seed and the epoch. A position in an epoch
is therefore one number. This module reads no data and pads nothing.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

Indexes = NDArray[np.int32]

WINDOW = 1 << 17
"""Rows that are sorted together: enough for similar lengths, few enough to differ by epoch."""
ROW_MULTIPLE, MAX_WIDTHS = 16, 12
"""Each shape costs a CUDA graph: numbers of rows are multiples of ROW_MULTIPLE, and each side has
at most MAX_WIDTHS widths."""


class PaddedShapes(NamedTuple):
    """The few shapes that batches are padded to for CUDA graphs."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]

    def shape(self, rows: int, source: int, target: int) -> tuple[int, int, int]:
        """Return the smallest shape that holds a batch."""
        return (
            -(-rows // ROW_MULTIPLE) * ROW_MULTIPLE,
            int(self.sources[np.searchsorted(self.sources, source)]),
            int(self.targets[np.searchsorted(self.targets, target)]),
        )


@final
@dataclass(frozen=True, eq=False)
class Buckets:
    """The batches of every epoch, each as the indexes of its rows."""

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
            batches += np.split(window, _batch_starts(widths, self.batch_tokens))
        return [batches[batch] for batch in generator.permutation(len(batches))]

    def padded_shapes(self) -> PaddedShapes:
        """Return the shapes with the least padding in an epoch; they hold every epoch's batches."""
        batches = self.epoch(0)
        rows = np.array([len(batch) for batch in batches])
        # an empty source still takes one position; a target ends in EOS
        source = [max(1, int(self.source_lengths[batch].max())) for batch in batches]
        target = [int(self.target_lengths[batch].max()) + 1 for batch in batches]
        return PaddedShapes(
            *(choose_widths(np.array(side), rows, MAX_WIDTHS) for side in (source, target))
        )


def batches_by_length(lengths: NDArray[Any], batch_tokens: int) -> tuple[list[Indexes], Indexes]:
    """Return batches sorted by length, and the permutation that restores the order of rows.

    If x holds one value per row, batch after batch, x[permutation] is in the order of `lengths`.
    """
    rows = np.argsort(lengths, kind="stable").astype(np.int32)
    inverse_order = np.empty_like(rows)
    inverse_order[rows] = np.arange(len(rows), dtype=np.int32)
    starts = _batch_starts(np.asarray(lengths)[rows] + 1, batch_tokens)
    return (np.split(rows, starts) if len(rows) else []), inverse_order


def choose_widths(widths: NDArray[Any], weights: NDArray[Any], max_count: int) -> NDArray[np.int64]:
    """Return at most `max_count` of the widths, including the widest, that need the least padding.

    Each width is padded to the next selected one. If j is selected, the least padding of all widths
    up to j is a minimum over i, the one selected before it:
    c_j = min_i c_i + Σ_{i<k≤j} n_k (w_j − w_k).
    """
    distinct, inverse = np.unique(widths, return_inverse=True)
    counts = np.bincount(inverse, weights=weights)
    cumulative_count, cumulative_width = np.cumsum(counts), np.cumsum(counts * distinct)
    # i is a row, j a column
    between = distinct * (cumulative_count - cumulative_count[:, None]) - (
        cumulative_width - cumulative_width[:, None]
    )
    between[np.tri(len(distinct), dtype=bool)] = np.inf
    cost, predecessors = distinct * cumulative_count - cumulative_width, []
    for _ in range(min(max_count, len(distinct)) - 1):
        through = cost[:, None] + between
        predecessors.append(through.argmin(axis=0))
        cost = through.min(axis=0)
    selected = [len(distinct) - 1]
    for predecessor in reversed(predecessors):
        selected.append(int(predecessor[selected[-1]]))
    return distinct[selected[::-1]]


def _by_length(
    source: NDArray[np.int32], target: NDArray[np.int32], batch_tokens: int, phase: float
) -> NDArray[np.intp]:
    """Sort rows by length on both sides: strips of targets, sources within each strip.

    With n batches to come, about 2√n strips of similar weight leave the least padding on both sides
    together: finer strips scatter the sources, coarser ones the targets. Every second strip runs
    back: a batch across two strips then does not join the shortest sources to the longest. The
    phase, 0 to 1, moves the borders: otherwise the same rows would share batches in every epoch.
    """
    tokens = np.bincount(target, weights=np.maximum(source, target) + 1)
    fraction_before = (np.cumsum(tokens) - tokens) / tokens.sum()
    strip = (fraction_before * 2 * np.sqrt(tokens.sum() / batch_tokens) + phase).astype(np.int64)
    # skip the numbers of empty strips: neighbouring strips must alternate in direction
    strip = np.cumsum(np.diff(strip, prepend=0) > 0)[target]
    return np.lexsort((np.where(strip % 2, -source, source), strip))


def _batch_starts(widths: NDArray[Any], batch_tokens: int) -> list[int]:
    """Return where each batch but the first starts; batches are as large as the budget allows."""
    starts, start = [], 0
    while start < len(widths):
        # no more rows fit than if all were as wide as the first
        max_rows = max(1, batch_tokens // int(widths[start]))
        widest = np.maximum.accumulate(widths[start : start + max_rows])
        fits = np.arange(1, len(widest) + 1) * widest <= batch_tokens
        start += max(1, int(fits.sum()))
        starts.append(start)
    return starts[:-1]
