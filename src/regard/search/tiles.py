"""One geometry for every line, so that its answer cannot depend on its neighbours.

On a CPU the float32 result of a product changes with its number of rows. Here every product runs
at ROWS rows, filled up with copies where fewer are needed, and a source is padded by its own length
alone: a line meets the same shapes in whatever company it comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.ahead import Ahead
from regard.models.seq2seq import Scored, Seq2Seq
from regard.symbols import PAD

# a multiple of every vector width, so that no element-wise kernel has a tail of its own
ROWS = 32
SPAN = 8


def span(length: int, limit: int | None = None) -> int:
    """Return the length to which a source is padded; a model's positions may be fewer.

    Multiples of SPAN up to eight of them, of twice SPAN up to sixteen, and so on: little is padded,
    and lines of a length stay many enough to fill a batch.
    """
    step = SPAN
    while length > 8 * step:
        step *= 2
    padded = max(1, -(-length // step)) * step
    return padded if limit is None else min(padded, limit)


@dataclass(frozen=True)
class Tiles:
    """The states and memories of n rows of one model, in tiles of ROWS.

    Row i looks at source `reads[i]` of `sources`; `memories` has a copy for each row.
    """

    model: Seq2Seq | Ahead
    sources: Any
    reads: Int[np.ndarray, "n"]
    memories: list[Any]
    states: list[Any]

    @classmethod
    def start(cls, model: Seq2Seq | Ahead, sources: Sequence[Sequence[int]]) -> "Tiles":
        """Encode sources that all have one span."""
        device = model.device
        everything = torch.arange(ROWS, device=device)
        memories, states = [], []
        for first in range(0, len(sources), ROWS):
            tile = list(sources[first : first + ROWS])
            tile += [tile[0]] * (ROWS - len(tile))
            lengths = np.array([len(source) for source in tile])
            width = span(len(tile[0]), model.max_source_length)
            visible = np.arange(width) < lengths[:, None]
            padded = np.full(visible.shape, PAD)
            padded[visible] = np.concatenate(
                [np.asarray(source, dtype=np.int64) for source in tile]
            )
            ids, mask = torch.from_numpy(padded).to(device), torch.from_numpy(visible).to(device)
            memory, state = model.start(ids, mask)
            # a product also changes with how its factors lie in memory: what a decoder gives may be
            # a view, and rows that are taken when a line leaves are none
            memories.append(memory.gather(everything))
            states.append(state)
        everyone = memories[0] if len(memories) == 1 else type(memories[0]).join(memories)
        return cls(model, everyone, np.arange(len(sources)), memories, states)

    def step(
        self, words: Int[Tensor, "n"], imposed: Float[Tensor, "n L H S"] | None
    ) -> tuple["Tiles", Float[Tensor, "n V"], Float[Tensor, "n L H S"] | None]:
        """Feed a word to each row; return log-probabilities of the next, and weights."""
        states, scored = [], []
        for tile, (memory, state) in enumerate(zip(self.memories, self.states, strict=True)):
            here = slice(tile * ROWS, (tile + 1) * ROWS)
            pinned = None if imposed is None else _filled(imposed[here])
            moved, step = self.model.step(state, _filled(words[here]), memory, imposed=pinned)
            states.append(moved)
            log_probs = step.logits.float().log_softmax(dim=-1)
            scored.append(Scored(log_probs, step.weights))
        joined, n = Scored.join(scored), len(self.reads)
        weights = None if joined.weights is None else joined.weights[:n]
        return replace(self, states=states), joined.logits[:n], weights

    def gather(self, rows: Int[np.ndarray, "m"]) -> "Tiles":
        """Take rows, in any order and number; memories are copied where a tile of them changes."""
        if len(rows) == len(self.reads) and np.array_equal(rows, np.arange(len(rows))):
            return self
        reads = self.reads[rows]
        states = self._cut(type(self.states[0]).join(self.states), rows)
        memories = []
        for tile in range(len(states)):
            here = slice(tile * ROWS, (tile + 1) * ROWS)
            same = np.array_equal(reads[here], self.reads[here][: len(reads[here])])
            memories += [self.memories[tile]] if same else self._cut(self.sources, reads[here])
        return Tiles(self.model, self.sources, reads, memories, states)

    def _cut(self, record: Any, rows: Int[np.ndarray, "m"]) -> list[Any]:
        """Take rows of a record, in tiles."""
        index = _filled(torch.from_numpy(rows), -len(rows) % ROWS)
        taken = record.gather(index.to(self.model.device))
        return list(taken.split([ROWS] * (len(index) // ROWS)))


def _filled(rows: Tensor, missing: int | None = None) -> Tensor:
    """Fill a tile up with copies of its first row."""
    missing = ROWS - rows.shape[0] if missing is None else missing
    if missing == 0:
        return rows
    return torch.cat([rows, rows[:1].expand(missing, *rows.shape[1:])])
