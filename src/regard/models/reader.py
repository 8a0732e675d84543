"""A recurrent encoder of one layer, ready to read: what a word brings is a row of a table."""

from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.encoders.contract import Encoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.models.tiled import Moving, Tiled
from regard.nn.cells import Cell, Hidden
from regard.nn.embedding import Embedding
from regard.nn.encoded import Encoded

WORDS = 4096
"""The most words that a table is made of."""


def reader(encoder: Encoder, embedding: Embedding) -> "Reader | None":
    """Return what reads as they do, only faster; None if there is no such thing."""
    if not isinstance(encoder, RecurrentEncoder) or len(encoder.stack.layers) > 1:
        return None
    if embedding.positions is not None or embedding.weight.shape[0] > WORDS or embedding.training:
        return None
    cells = [*encoder.stack.layers, *encoder.stack.backward_layers]
    if any(cell.op is None for cell in cells):
        return None
    back_to_front = [encoder.reversed_source, not encoder.reversed_source]
    return Reader(cells, embedding, back_to_front[: len(cells)])


@final
class Reader:
    """One cell, or one for each direction, that meets words by their rows of a table."""

    def __init__(self, cells: list[Cell], embedding: Embedding, turned: list[bool]) -> None:
        self.movings = [(Moving(cell), Tiled(cell.met)) for cell in cells]
        self.turned = turned
        words = torch.arange(len(embedding.weight), device=embedding.weight.device)
        with torch.no_grad():
            embedded = embedding(words[:, None])[:, 0]
            self.tables = [cell.W(embedded) for cell in cells]

    def __call__(self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]) -> Encoded:
        """Read a batch of sources."""
        parts = zip(self.movings, self.tables, self.turned, strict=True)
        seen = [self._scan(*moving, table, source, mask, turned) for moving, table, turned in parts]
        shown = torch.cat([states for states, _ in seen], dim=-1)
        ends = [end for _, end in seen]
        stores = [end.c for end in ends if end.c is not None]
        c = torch.cat(stores, dim=-1) if stores else None
        last = Hidden(torch.cat([end.h for end in ends], dim=-1), c)
        return Encoded(shown, shown, mask, last.h, (last,))

    def _scan(
        self,
        moving: Moving,
        met: Tiled,
        table: Float[Tensor, "V G"],
        source: Int[Tensor, "B S"],
        mask: Bool[Tensor, "B S"],
        turned: bool,
    ) -> tuple[Float[Tensor, "B S D"], Hidden]:
        """Return every state, zero where nothing is visible, and the last."""
        (B, S), D = source.shape, moving.cell.hidden_size
        x = table.index_select(0, source.t().flatten()).view(S, B, -1)
        whole = mask.all(dim=0).tolist()
        shown = table.new_empty(B, S, D)
        state = moving.cell.start(table.new_zeros(B, D))
        for t in reversed(range(S)) if turned else range(S):
            moved = moving(x[t], met(state.h), state)
            if not whole[t]:
                moved = _where(mask[:, t, None], moved, state)
            state, shown[:, t] = moved, moved.h
        return shown.masked_fill_(~mask[..., None], 0.0), state


def _where(visible: Bool[Tensor, "B 1"], moved: Hidden, state: Hidden) -> Hidden:
    """What is hidden does not move a state."""
    if moved.c is None or state.c is None:
        return Hidden(torch.where(visible, moved.h, state.h))
    c = torch.where(visible, moved.c, state.c)
    return Hidden(torch.where(visible, moved.h, state.h), c)
