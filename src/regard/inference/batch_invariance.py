"""Batch invariance: a line is decoded in the same shapes whatever lines it is batched with.

The float32 result of a product changes with its number of rows. Here every product has the same
number of rows, filled up with copies, and the padding of a source depends only on its own length:
its output cannot depend on its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.inference.step_decoder import StepDecoder
from regard.models.seq2seq import ModelOutput
from regard.special_tokens import PAD

LENGTH_MULTIPLE = 8


def padded_length(length: int, limit: int | None = None) -> int:
    """Return the length to which a source is padded; a model's positions may be fewer.

    Multiples of 8 up to 64, of 16 up to 128, and so on: there is little padding, and enough lines
    of one length to fill a batch.
    """
    step = LENGTH_MULTIPLE
    while length > 8 * step:
        step *= 2
    padded = max(1, -(-length // step)) * step
    return padded if limit is None else min(padded, limit)


@dataclass(frozen=True)
class TiledBatch:
    """The states and memories of n rows of one step decoder, in whole tiles.

    Row i attends to source `source_rows[i]` of `sources`. `memories` and `states` have one record
    for each call of the decoder's step; a memory has a copy of the source for each row.
    """

    decoder: StepDecoder
    sources: Any
    source_rows: Int[np.ndarray, "n"]
    memories: list[Any]
    states: list[Any]

    @classmethod
    def start(cls, decoder: StepDecoder, sources: Sequence[Sequence[int]]) -> "TiledBatch":
        """Encode sources that all have one padded length, tile by tile."""
        size, device = decoder.tile_rows, decoder.device
        memories, states = [], []
        for first in range(0, len(sources), size):
            tile = list(sources[first : first + size])
            tile += [tile[0]] * (size - len(tile))
            lengths = np.array([len(source) for source in tile])
            width = padded_length(len(tile[0]), decoder.max_source_length)
            visible = np.arange(width) < lengths[:, None]
            padded = np.full(visible.shape, PAD)
            padded[visible] = np.concatenate(
                [np.asarray(source, dtype=np.int64) for source in tile]
            )
            ids, mask = torch.from_numpy(padded).to(device), torch.from_numpy(visible).to(device)
            memory, state = decoder.start(ids, mask)
            # the layout of its factors also changes a product: a decoder may return views, but rows
            # that are gathered when a line leaves are contiguous
            memories.append(memory.contiguous())
            states.append(state)
        all_sources = _join(memories)
        if decoder.rows_per_call(len(sources)) > size:
            memories, states = [all_sources], [_join(states)]
        return cls(decoder, all_sources, np.arange(len(sources)), memories, states)

    @property
    def num_tiles(self) -> int:
        """The number of tiles of a step."""
        return -(-len(self.source_rows) // self.decoder.tile_rows)

    def step(
        self, tokens: Int[Tensor, "n"], forced_weights: Float[Tensor, "n L H S"] | None
    ) -> tuple["TiledBatch", Float[Tensor, "n V"], Float[Tensor, "n L H S"] | None]:
        """Feed a token to each row; return log-probabilities of the next, and weights."""
        states, outputs, size = [], [], self.decoder.rows_per_call(len(tokens))
        for call_index, (memory, state) in enumerate(zip(self.memories, self.states, strict=True)):
            rows = slice(call_index * size, (call_index + 1) * size)
            missing = size - len(tokens[rows])
            forced = None if forced_weights is None else _fill_tile(forced_weights[rows], missing)
            state, step = self.decoder.step(
                state, _fill_tile(tokens[rows], missing), memory, forced_weights=forced
            )
            states.append(state)
            log_probs = step.logits.float().log_softmax(dim=-1)
            outputs.append(ModelOutput(log_probs, step.weights))
        joined, n = _join(outputs), len(self.source_rows)
        weights = None if joined.weights is None else joined.weights[:n]
        return replace(self, states=states), joined.logits[:n], weights

    def gather(self, rows: Int[np.ndarray, "m"]) -> "TiledBatch":
        """Return rows, in any order and number.

        Memories are overwritten where a row has another source now: this batch is not used again.
        """
        if len(rows) == len(self.source_rows) and np.array_equal(rows, np.arange(len(rows))):
            return self
        source_rows = self.source_rows[rows]
        states = self._gather(_join(self.states), rows)
        size = self.decoder.rows_per_call(len(rows))
        memories = [
            self._memory(call_index, source_rows[first : first + size], size)
            for call_index, first in enumerate(range(0, len(rows), size))
        ]
        return TiledBatch(self.decoder, self.sources, source_rows, memories, states)

    def _memory(self, call_index: int, source_rows: Int[np.ndarray, "r"], size: int) -> Any:
        """Return the memory of one call's rows; only rows with another source are copied."""
        first = call_index * size
        old_sources = self.source_rows[first : first + len(source_rows)]
        if len(old_sources) == len(source_rows):
            memory, changed = self.memories[call_index], np.flatnonzero(source_rows != old_sources)
            if not len(changed) and size == self.decoder.rows_per_call(len(self.source_rows)):
                return memory
            if memory is not self.sources:
                (memory,) = memory.split([size])
                changed_rows, new_sources = (
                    torch.from_numpy(rows).to(self.decoder.device)
                    for rows in (changed, source_rows[changed])
                )
                return memory.put(changed_rows, self.sources, new_sources)
        return self._gather(self.sources, source_rows)[0]

    def _gather(self, record: Any, rows: Int[np.ndarray, "m"]) -> list[Any]:
        """Return rows of a record, a record for each call."""
        size = self.decoder.rows_per_call(len(rows))
        index = _fill_tile(torch.from_numpy(rows), -len(rows) % size)
        gathered = record.gather(index.to(self.decoder.device))
        sizes = [size] * (len(index) // size)
        return list(gathered.split(sizes)) if len(sizes) > 1 else [gathered]


def _join(records: list[Any]) -> Any:
    """Join records along their rows; a single one is not copied."""
    return records[0] if len(records) == 1 else type(records[0]).join(records)


def _fill_tile(rows: Tensor, missing: int) -> Tensor:
    """Fill a tile up with copies of its first row."""
    if missing == 0:
        return rows
    return torch.cat([rows, rows[:1].expand(missing, *rows.shape[1:])])
