"""One geometry for every line, so that its answer cannot depend on its neighbours.

On a CPU the float32 result of a product changes with its number of rows. Here every product runs
at ROWS rows, filled up with copies where fewer are needed, and a source is padded to a multiple of
SPAN by its own length alone: a line meets the same shapes in whatever company it comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.models.seq2seq import Scored, Seq2Seq
from regard.symbols import PAD

# a multiple of every vector width, so that no element-wise kernel has a tail of its own
ROWS = 32
SPAN = 32


def span(length: int, limit: int | None = None) -> int:
    """Return the length to which a source is padded; a model's positions may be fewer."""
    padded = max(1, -(-length // SPAN)) * SPAN
    return padded if limit is None else min(padded, limit)


@dataclass(frozen=True)
class Tiles:
    """The states and memories of n rows of one model, in tiles of ROWS."""

    model: Seq2Seq
    memories: list[Any]
    states: list[Any]
    num_rows: int

    @classmethod
    def start(cls, model: Seq2Seq, sources: Sequence[Sequence[int]]) -> "Tiles":
        """Encode sources that all have one span."""
        device = model.target_embedding.weight.device
        everything = torch.arange(ROWS, device=device)
        memories, states = [], []
        for first in range(0, len(sources), ROWS):
            tile = list(sources[first : first + ROWS])
            tile += [tile[0]] * (ROWS - len(tile))
            width = span(len(tile[0]), model.max_source_length)
            ids = torch.full((ROWS, width), PAD, device=device)
            lengths = torch.tensor([len(source) for source in tile], device=device)
            for row, source in enumerate(tile):
                ids[row, : len(source)] = torch.tensor(source, dtype=torch.long, device=device)
            mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
            memory, state = model.start(ids, mask)
            # a product also changes with how its factors lie in memory: what a decoder gives may be
            # a view, and rows that are taken when a line leaves are none
            memories.append(memory.gather(everything))
            states.append(state)
        return cls(model, memories, states, len(sources))

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
        joined = Scored.join(scored)
        n = self.num_rows
        weights = None if joined.weights is None else joined.weights[:n]
        return Tiles(self.model, self.memories, states, n), joined.logits[:n], weights

    def gather(self, rows: Int[Tensor, "m"], *, same_sources: bool = False) -> "Tiles":
        """Take rows, in any order and number; with `same_sources` row i's source stays row i's."""
        n = len(rows)
        if n == self.num_rows and torch.equal(rows, torch.arange(n, device=rows.device)):
            return self
        index = _filled(rows, -n % ROWS)
        sizes = [ROWS] * (len(index) // ROWS)
        states = type(self.states[0]).join(self.states).gather(index).split(sizes)
        if same_sources:
            return Tiles(self.model, self.memories, states, n)
        memories = type(self.memories[0]).join(self.memories).gather(index).split(sizes)
        return Tiles(self.model, memories, states, n)


def _filled(rows: Tensor, missing: int | None = None) -> Tensor:
    """Fill a tile up with copies of its first row."""
    missing = ROWS - rows.shape[0] if missing is None else missing
    if missing == 0:
        return rows
    return torch.cat([rows, rows[:1].expand(missing, *rows.shape[1:])])
