"""One geometry for every line, so that its answer cannot depend on its neighbours.

The float32 result of a product changes with its number of rows. Here every product runs at one
number of rows, filled up with copies where fewer are needed, and a source is padded by its own
length alone: a line meets the same shapes in whatever company it comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Scored, Seq2Seq
from regard.models.stepping import Ahead
from regard.models.tiled import ROWS
from regard.special_tokens import PAD

# a GPU computes so many in the time of one
GPU_ROWS = 256
SPAN = 8


def rows_of(device: torch.device) -> int:
    """Return the number of rows at which everything is computed there."""
    return ROWS if device.type == "cpu" else GPU_ROWS


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
    """The states and memories of n rows of one model, in tiles of one size.

    Row i looks at source `reads[i]` of `sources`; `memories` has a copy for each row. What steps
    ahead is given all tiles as one: it keeps to them itself.
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
        size = rows_of(device)
        memories, states = [], []
        for first in range(0, len(sources), size):
            tile = list(sources[first : first + size])
            tile += [tile[0]] * (size - len(tile))
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
            memories.append(memory.whole())
            states.append(state)
        everyone = _joined(memories)
        if isinstance(model, Ahead):
            memories, states = [everyone], [_joined(states)]
        return cls(model, everyone, np.arange(len(sources)), memories, states)

    @property
    def num_tiles(self) -> int:
        """How many tiles a step computes."""
        return -(-len(self.reads) // rows_of(self.model.device))

    def step(
        self, words: Int[Tensor, "n"], imposed: Float[Tensor, "n L H S"] | None
    ) -> tuple["Tiles", Float[Tensor, "n V"], Float[Tensor, "n L H S"] | None]:
        """Feed a word to each row; return log-probabilities of the next, and weights."""
        states, scored, size = [], [], self._size(len(words))
        for tile, (memory, state) in enumerate(zip(self.memories, self.states, strict=True)):
            here = slice(tile * size, (tile + 1) * size)
            fed, pinned = words[here], None if imposed is None else imposed[here]
            missing = size - len(fed)
            pinned = None if pinned is None else _filled(pinned, missing)
            moved, step = self.model.step(state, _filled(fed, missing), memory, imposed=pinned)
            states.append(moved)
            log_probs = step.logits.float().log_softmax(dim=-1)
            scored.append(Scored(log_probs, step.weights))
        joined, n = _joined(scored), len(self.reads)
        weights = None if joined.weights is None else joined.weights[:n]
        return replace(self, states=states), joined.logits[:n], weights

    def gather(self, rows: Int[np.ndarray, "m"]) -> "Tiles":
        """Take rows, in any order and number; memories are copied where a tile of them changes."""
        if len(rows) == len(self.reads) and np.array_equal(rows, np.arange(len(rows))):
            return self
        reads = self.reads[rows]
        states = self._cut(_joined(self.states), rows)
        if isinstance(self.model, Ahead):
            return replace(self, reads=reads, memories=[self._moved(reads)], states=states)
        memories, size = [], rows_of(self.model.device)
        for tile in range(len(states)):
            here = slice(tile * size, (tile + 1) * size)
            same = np.array_equal(reads[here], self.reads[here][: len(reads[here])])
            memories += [self.memories[tile]] if same else self._cut(self.sources, reads[here])
        return Tiles(self.model, self.sources, reads, memories, states)

    def _moved(self, reads: Int[np.ndarray, "m"]) -> Any:
        """Return the memory of rows that read something else; those before are done with theirs."""
        (memory,) = self.memories
        if memory is self.sources or len(reads) > len(self.reads):
            return self._cut(self.sources, reads)[0]
        at = np.flatnonzero(reads != self.reads[: len(reads)])
        places, taken = torch.from_numpy(at), torch.from_numpy(reads[at])
        (own,) = memory.split([self._size(len(reads))])
        return own.put(places, self.sources, taken)

    def _size(self, number: int) -> int:
        """Return the rows that the model is given at once."""
        size = rows_of(self.model.device)
        return size * -(-number // size) if isinstance(self.model, Ahead) else size

    def _cut(self, record: Any, rows: Int[np.ndarray, "m"]) -> list[Any]:
        """Take rows of a record, in tiles."""
        size = self._size(len(rows))
        index = _filled(torch.from_numpy(rows), -len(rows) % size)
        taken = record.gather(index.to(self.model.device))
        return list(taken.split([size] * (len(index) // size))) if len(index) > size else [taken]


def _joined(parts: list[Any]) -> Any:
    """Lay records under each other; one alone is not copied."""
    return parts[0] if len(parts) == 1 else type(parts[0]).join(parts)


def _filled(rows: Tensor, missing: int) -> Tensor:
    """Fill a tile up with copies of its first row."""
    if missing == 0:
        return rows
    return torch.cat([rows, rows[:1].expand(missing, *rows.shape[1:])])
