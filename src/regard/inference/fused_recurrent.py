"""Fused steps of Bahdanau's and Luong's decoders: products without the state are precomputed.

W [y; c] = W_y y + Σ_j α_j W_c h_j: a token's part is a row of a table, the source's part is
projected once a line, and all matrices that multiply the old state are joined. The readout's first
layer is split the same way: the columns of each product are the cell's gates, then the readout's.
"""

from dataclasses import replace
from typing import NamedTuple, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard.decoders.bahdanau import BahdanauDecoder
from regard.decoders.luong import LuongDecoder
from regard.decoders.recurrent import RecurrentState
from regard.decoders.unrolling import why_not_fused
from regard.inference.fixed_row_matmul import FixedRowMatmul, tiles
from regard.inference.fused_cell import FusedCell
from regard.inference.step_decoder import FusedStepDecoder
from regard.inference.table_encoder import MAX_TABLE_TOKENS, TableEncoder
from regard.models.seq2seq import ModelOutput, Seq2Seq
from regard.nn.attention import Memory, force_weights
from regard.nn.masks import masked_softmax
from regard.nn.readouts import LinearLayer, MaxoutLayer, TanhLayer
from regard.nn.scores import ScoreFunction, TanhScore

MAX_PROJECTED_LENGTH = 24
"""Longer sources are not projected; each step's context is projected instead.

The time of a weighted sum is that of reading its terms, and the projected ones are wider.
"""


class _FusedRecurrentStep(FusedStepDecoder):
    """What both decoders have in common."""

    context_matmul: FixedRowMatmul

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        super().__init__(model, table_encoder)
        decoder = cast(BahdanauDecoder | LuongDecoder, model.decoder)
        self.cell, self.score = decoder.stack.layers[0], decoder.attention.score
        self.fused_cell, self.readout = FusedCell(self.cell), _readout_parts(model, decoder)
        V, E = model.target_embedding.weight.shape
        self.G = self.cell.W.weight.shape[0]
        W_y, self.W_rest = self.cell.W.weight.tensor_split([E], dim=1)
        self.token_matmul = FixedRowMatmul(W_y, self.readout.previous)
        self.token_bias = torch.cat([_bias(self.cell.W), self.readout.bias])
        every_token = torch.arange(V, device=self.device)
        self.token_table = None if V > MAX_TABLE_TOKENS else self._project_tokens(every_token)

    @override
    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]
    ) -> tuple[Memory, RecurrentState]:
        memory, state = self.model.decoder.start(self.encode(source, source_mask))
        B, S, N = memory.values.shape
        if S <= MAX_PROJECTED_LENGTH:
            # the number of rows that are encoded together is always the same
            projected = self.context_matmul(memory.values.reshape(B * S, N), size=B * S)
            memory = replace(memory, values=projected.view(B, S, -1))
        return memory, state

    def _token_part(self, tokens: Int[Tensor, "B"]) -> Float[Tensor, "B X"]:
        if self.token_table is None:
            return self._project_tokens(tokens)
        return self.token_table.index_select(0, tokens)

    @torch.no_grad()
    def _project_tokens(self, tokens: Int[Tensor, "B"]) -> Float[Tensor, "B X"]:
        embedded = self.model.target_embedding(tokens[:, None])[:, 0]
        return self.token_matmul(embedded, self.token_bias)

    def _attend(
        self,
        query: Float[Tensor, "B A"],
        memory: Memory,
        forced_weights: Tensor | None,
        addend: Float[Tensor, "B X"],
    ) -> tuple[Float[Tensor, "B X"], Float[Tensor, "B 1 S"]]:
        """Return the projected context plus an addend, and the weights."""
        score = self.score.score_projected if isinstance(self.score, TanhScore) else self.score
        every_tile = list(tiles(len(query)))
        scores = [score(query[tile, None], memory.keys[tile]) for tile in every_tile]
        weights = masked_softmax(torch.cat(scores), memory.mask[:, None])
        weights = force_weights(weights, None if forced_weights is None else forced_weights[:, 0])
        if memory.values.shape[1] > MAX_PROJECTED_LENGTH:
            contexts = [weights[tile] @ memory.values[tile] for tile in every_tile]
            return self.context_matmul(torch.cat(contexts)[:, 0], addend), weights
        out = addend.new_empty(len(query), 1, addend.shape[1])
        for tile in every_tile:
            torch.baddbmm(addend[tile, None], weights[tile], memory.values[tile], out=out[tile])
        return out[:, 0], weights

    def _score_tokens(
        self,
        readout_part: Float[Tensor, "B O"],
        output: Float[Tensor, "B D"],
        weights: Float[Tensor, "B 1 S"],
    ) -> ModelOutput:
        """Score every token, given the readout's first layer of all but the decoder's output."""
        layer = self.model.readout.layer
        if isinstance(layer, TanhLayer | MaxoutLayer):
            output = layer.activate(self.readout.new_state(output, readout_part))
        return ModelOutput(self.logits_matmul(output, self.logits_bias), weights[:, None])


@final
class FusedBahdanauStep(_FusedRecurrentStep):
    """Attend, then update the cell; all products with the old state are one."""

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        super().__init__(model, table_encoder)
        query_weight = _query_weight(self.score, self.cell.recurrent_weight)
        self.context_matmul = FixedRowMatmul(self.W_rest, self.readout.context)
        parts = query_weight, self.cell.recurrent_weight, self.readout.old_state
        self.old_state_matmul = FixedRowMatmul(*parts)
        self.sizes = [len(part) for part in parts]

    @staticmethod
    @override
    def why_not(model: Seq2Seq) -> str | None:
        return _why_not(model, cast(BahdanauDecoder, model.decoder))

    @override
    def step(
        self,
        state: RecurrentState,
        tokens: Int[Tensor, "B"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B 1 1 S"] | None = None,
    ) -> tuple[RecurrentState, ModelOutput]:
        products = self.old_state_matmul(state.output)
        query, u, old_readout = products.split_with_sizes(self.sizes, dim=1)
        query = query if self.sizes[0] else state.output
        x, weights = self._attend(query, memory, forced_weights, self._token_part(tokens))
        hidden = self.fused_cell(x[:, : self.G], u, state.layers[0])
        readout_part = x[:, self.G :] + old_readout if self.sizes[2] else x[:, self.G :]
        new = RecurrentState(state.position + 1, (hidden,), hidden.h)
        return new, self._score_tokens(readout_part, hidden.h, weights)


@final
class FusedLuongStep(_FusedRecurrentStep):
    """Update the cell, then attend; with or without input feeding."""

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        super().__init__(model, table_encoder)
        decoder = cast(LuongDecoder, model.decoder)
        W_c = cast(nn.Linear, decoder.W_c)
        query_weight = _query_weight(self.score, self.cell.recurrent_weight)
        C, R = W_c.weight.tensor_split([-decoder.state_size], dim=1)
        self.context_matmul = FixedRowMatmul(C, self.readout.context)
        self.input_feeding = decoder.input_feeding
        self.feeding_matmul = FixedRowMatmul(self.W_rest)
        self.recurrent_matmul = FixedRowMatmul(self.cell.recurrent_weight)
        self.old_state_matmul = FixedRowMatmul(self.readout.old_state)
        self.new_state_matmul = FixedRowMatmul(query_weight, R)
        self.new_state_bias = torch.cat([R.new_zeros(len(query_weight)), _bias(W_c)])
        self.sizes = [len(query_weight), len(R)]

    @staticmethod
    @override
    def why_not(model: Seq2Seq) -> str | None:
        decoder = cast(LuongDecoder, model.decoder)
        return "it is not attentional" if decoder.W_c is None else _why_not(model, decoder)

    @override
    def step(
        self,
        state: RecurrentState,
        tokens: Int[Tensor, "B"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B 1 1 S"] | None = None,
    ) -> tuple[RecurrentState, ModelOutput]:
        x, token_readout = self._token_part(tokens).tensor_split([self.G], dim=1)
        if self.input_feeding:
            x = self.feeding_matmul(state.output, x)
        hidden = self.fused_cell(x, self.recurrent_matmul(state.layers[0].h), state.layers[0])
        products = self.new_state_matmul(hidden.h, self.new_state_bias)
        query, state_term = products.split_with_sizes(self.sizes, dim=1)
        query = query if self.sizes[0] else hidden.h
        addend = torch.cat([state_term, token_readout], dim=1)
        projected, weights = self._attend(query, memory, forced_weights, addend)
        output, readout_part = projected.tensor_split([self.sizes[1]], dim=1)
        output = torch.tanh(output)
        if self.old_state_matmul.output_size:
            readout_part = self.old_state_matmul(state.output, readout_part)
        new = RecurrentState(state.position + 1, (hidden,), output)
        return new, self._score_tokens(readout_part, output, weights)


class _ReadoutParts(NamedTuple):
    """The weights of the readout's first layer by input; without such a layer, all are empty.

    If the token or the context is no input, its weight is zero; that of the old state has no rows.
    """

    previous: Float[Tensor, "O E"]
    context: Float[Tensor, "O N"]
    old_state: Float[Tensor, "P D"]
    new_state: FixedRowMatmul
    bias: Float[Tensor, "O"]


def _readout_parts(model: Seq2Seq, decoder: BahdanauDecoder | LuongDecoder) -> _ReadoutParts:
    sizes = {
        "previous": model.target_embedding.weight.shape[1],
        "context": decoder.context_size or 0,
        "old_state": decoder.state_size,
        "new_state": decoder.state_size,
    }
    layer, like = model.readout.layer, model.readout.weight
    parts, bias = {}, like.new_zeros(0)
    if isinstance(layer, TanhLayer | MaxoutLayer):
        widths = [sizes[name] for name in model.readout_inputs]
        pieces = layer.W.weight.detach().split_with_sizes(widths, dim=1)
        parts, bias = dict(zip(model.readout_inputs, pieces, strict=True)), _bias(layer.W)
    missing = {name: like.new_zeros(len(bias), size) for name, size in sizes.items()}
    missing["old_state"] = missing["old_state"][:0]
    parts = missing | parts
    new_state = FixedRowMatmul(parts["new_state"])
    return _ReadoutParts(parts["previous"], parts["context"], parts["old_state"], new_state, bias)


def _why_not(model: Seq2Seq, decoder: BahdanauDecoder | LuongDecoder) -> str | None:
    if reason := why_not_fused(decoder.stack, decoder.attention):
        return reason
    if model.target_embedding.positions is not None:
        return "its embedding has positions"
    if model.target_embedding.one_hot:
        return "its tokens are one-hot"
    linear = isinstance(model.readout.layer, LinearLayer)
    if linear and model.readout_inputs != ("new_state",):
        return "its linear readout reads more than the new state"
    return None


def _query_weight(score: ScoreFunction, like: Float[Tensor, "P D"]) -> Float[Tensor, "A D"]:
    """Return the query projection of a state; no rows if the state itself is the query."""
    return score.query_weight if isinstance(score, TanhScore) else like[:0]


def _bias(linear: nn.Linear) -> Float[Tensor, "O"]:
    zeros = linear.weight.new_zeros(linear.weight.shape[0])
    return zeros if linear.bias is None else linear.bias.detach()
