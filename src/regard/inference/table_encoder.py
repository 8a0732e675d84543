"""A recurrent encoder of one layer by table lookup: W x + b of every token is computed once."""

from typing import cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.encoders.recurrent import RecurrentEncoder
from regard.inference.fixed_row_matmul import FixedRowMatmul
from regard.inference.fused_cell import FusedCell
from regard.models.seq2seq import Seq2Seq
from regard.nn.cells import Cell, HiddenState
from regard.nn.encoder_output import EncoderOutput

MAX_TABLE_TOKENS = 4096
"""The largest vocabulary that gets a table."""


def _cells(encoder: RecurrentEncoder) -> list[Cell]:
    return [*encoder.stack.layers, *encoder.stack.backward_layers]


@final
class TableEncoder:
    """Embedding and encoder in one: each direction's cell reads its inputs from a table."""

    def __init__(self, model: Seq2Seq) -> None:
        encoder, embedding = cast(RecurrentEncoder, model.encoder), model.source_embedding
        cells = _cells(encoder)
        self.cells = [(FusedCell(cell), FixedRowMatmul(cell.recurrent_weight)) for cell in cells]
        self.right_to_left = [encoder.reversed_source, not encoder.reversed_source][: len(cells)]
        tokens = torch.arange(len(embedding.weight), device=embedding.weight.device)
        with torch.no_grad():
            embedded = embedding(tokens[:, None])[:, 0]
            self.tables = [cell.W(embedded) for cell in cells]

    @staticmethod
    def why_not(model: Seq2Seq) -> str | None:
        """Say why a table cannot encode a model's sources; None if it can."""
        encoder, embedding = model.encoder, model.source_embedding
        if not isinstance(encoder, RecurrentEncoder):
            return f"{type(encoder).__name__} is not recurrent"
        if len(encoder.stack.layers) > 1:
            return f"it has {len(encoder.stack.layers)} layers"
        if slow := [type(cell).__name__ for cell in _cells(encoder) if cell.op is None]:
            return f"its cell is {slow[0]}"
        if embedding.positions is not None:
            return "its embedding has positions"
        if len(embedding.weight) > MAX_TABLE_TOKENS:
            return f"it has {len(embedding.weight):,} tokens, more than {MAX_TABLE_TOKENS:,}"
        return "the model is in training mode" if embedding.training else None

    def __call__(self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Encode a batch of sources."""
        directions = zip(self.cells, self.tables, self.right_to_left, strict=True)
        scans = [
            self._scan(*cell, table, source, mask, right_to_left)
            for cell, table, right_to_left in directions
        ]
        states = torch.cat([h for h, _ in scans], dim=-1)
        last_states = [last for _, last in scans]
        cell_states = [last.c for last in last_states if last.c is not None]
        c = torch.cat(cell_states, dim=-1) if cell_states else None
        last = HiddenState(torch.cat([last.h for last in last_states], dim=-1), c)
        return EncoderOutput(states, states, mask, last.h, (last,))

    def _scan(
        self,
        cell: FusedCell,
        recurrent_matmul: FixedRowMatmul,
        table: Float[Tensor, "V G"],
        source: Int[Tensor, "B S"],
        mask: Bool[Tensor, "B S"],
        right_to_left: bool,
    ) -> tuple[Float[Tensor, "B S D"], HiddenState]:
        """Return every state, zero at hidden positions, and the last one."""
        (B, S), D = source.shape, cell.D
        x = table.index_select(0, source.t().flatten()).view(S, B, -1)
        all_visible = mask.all(dim=0).tolist()
        states = table.new_empty(B, S, D)
        state = cell.cell.state_with_output(table.new_zeros(B, D))
        for t in reversed(range(S)) if right_to_left else range(S):
            new = cell(x[t], recurrent_matmul(state.h), state)
            if not all_visible[t]:
                new = _where_visible(mask[:, t, None], new, state)
            state, states[:, t] = new, new.h
        return states.masked_fill_(~mask[..., None], 0.0), state


def _where_visible(visible: Bool[Tensor, "B 1"], new: HiddenState, old: HiddenState) -> HiddenState:
    """Return the new state of rows with a visible token, and the old one of the others."""
    if new.c is None or old.c is None:
        return HiddenState(torch.where(visible, new.h, old.h))
    c = torch.where(visible, new.c, old.c)
    return HiddenState(torch.where(visible, new.h, old.h), c)
