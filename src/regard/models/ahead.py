"""A recurrent model that looks, ready to be decoded: what no state is part of is done ahead.

W [y; c] = W_y y + Σ_j α_j W_c h_j: what a word brings is a row of a table, what the source brings
is projected once a line, and all matrices that meet the old state are one. The readout's first
layer is cut the same way, so that the columns of all of these are the cell's gates, then its own.
"""

from dataclasses import replace
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard.decoders.bahdanau import BahdanauDecoder
from regard.decoders.luong import LuongDecoder
from regard.decoders.recurrent import RecurrentState
from regard.decoders.transformer import TransformerDecoder
from regard.decoders.unrolling import why_not_one_op
from regard.models.ahead_transformer import transformer_ahead
from regard.models.reader import WORDS
from regard.models.seq2seq import Scored, Seq2Seq
from regard.models.stepping import Ahead
from regard.models.tiled import Moving, Tiled, tiles
from regard.nn.attention import Memory, impose
from regard.nn.masks import masked_softmax
from regard.nn.readouts import LinearLayer, MaxoutLayer, TanhLayer
from regard.nn.scores import Score, TanhScore

PLACES = 24
"""The longest source that is projected; of a longer one, what was found there is.

A weighted sum costs what reading its terms costs, and projected they are wider.
"""


def ahead(model: Seq2Seq) -> Ahead | None:
    """Return what decodes as the model does, only faster; None if there is no such thing."""
    decoder = model.decoder
    if model.training or model.readout.pointer is not None:
        return None
    if isinstance(decoder, TransformerDecoder):
        return transformer_ahead(model, decoder)
    if isinstance(decoder, BahdanauDecoder) and _fits(model, decoder):
        return _LooksFirst(model, decoder)
    if isinstance(decoder, LuongDecoder) and decoder.W_c is not None and _fits(model, decoder):
        return _MovesFirst(model, decoder, decoder.W_c)
    return None


def _fits(model: Seq2Seq, decoder: BahdanauDecoder | LuongDecoder) -> bool:
    embedding = model.target_embedding
    linear = isinstance(model.readout.layer, LinearLayer)
    return (
        why_not_one_op(decoder.stack, decoder.attention) is None
        and embedding.positions is None
        and not embedding.one_hot
        and (not linear or model.readout_inputs == ("new_state",))
    )


class _Recurrent(Ahead):
    """What both kinds have in common."""

    context: Tiled
    """What is found is multiplied by."""

    def __init__(self, model: Seq2Seq, decoder: BahdanauDecoder | LuongDecoder) -> None:
        super().__init__(model)
        self.cell, self.score = decoder.stack.layers[0], decoder.attention.score
        self.moving, self.reading = Moving(self.cell), _reading(model, decoder)
        V, E = model.target_embedding.weight.shape
        self.G = self.cell.W.weight.shape[0]
        W_y, self.W_other = self.cell.W.weight.tensor_split([E], dim=1)
        self.word = Tiled(W_y, self.reading.previous)
        self.word_bias = torch.cat([_bias(self.cell.W), self.reading.bias])
        self.table = None if V > WORDS else self._project(torch.arange(V, device=self.device))

    @override
    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]
    ) -> tuple[Memory, RecurrentState]:
        memory, state = self.model.decoder.start(self.model.encode(source, source_mask))
        B, S, N = memory.values.shape
        if S <= PLACES:
            # the number of rows that are read together is always the same
            projected = self.context(memory.values.reshape(B * S, N), size=B * S)
            memory = replace(memory, values=projected.view(B, S, -1))
        return memory, state

    def _words(self, words: Int[Tensor, "B"]) -> Float[Tensor, "B X"]:
        return self._project(words) if self.table is None else self.table.index_select(0, words)

    @torch.no_grad()
    def _project(self, words: Int[Tensor, "B"]) -> Float[Tensor, "B X"]:
        embedded = self.model.target_embedding(words[:, None])[:, 0]
        return self.word(embedded, self.word_bias)

    def _look(
        self,
        query: Float[Tensor, "B A"],
        memory: Memory,
        imposed: Tensor | None,
        plus: Float[Tensor, "B X"],
    ) -> tuple[Float[Tensor, "B X"], Float[Tensor, "B 1 S"]]:
        """Return what was found, as it is used, added to something, and the weights."""
        compare = self.score.compare if isinstance(self.score, TanhScore) else self.score
        places = list(tiles(len(query)))
        scores = [compare(query[here, None], memory.keys[here]) for here in places]
        weights = masked_softmax(torch.cat(scores), memory.mask[:, None])
        weights = impose(weights, None if imposed is None else imposed[:, 0])
        if memory.values.shape[1] > PLACES:
            found = [weights[here] @ memory.values[here] for here in places]
            return self.context(torch.cat(found)[:, 0], plus), weights
        out = plus.new_empty(len(query), 1, plus.shape[1])
        for here in places:
            torch.baddbmm(plus[here, None], weights[here], memory.values[here], out=out[here])
        return out[:, 0], weights

    def _write(
        self, x: Float[Tensor, "B O"], new: Float[Tensor, "B D"], weights: Float[Tensor, "B 1 S"]
    ) -> Scored:
        """Score every word; x is all that the readout's layer is given but the new state."""
        layer = self.model.readout.layer
        if isinstance(layer, TanhLayer | MaxoutLayer):
            new = layer.bend(self.reading.new(new, x))
        return Scored(self.vocabulary(new, self.bias), weights[:, None])


@final
class _LooksFirst(_Recurrent):
    """Bahdanau's decoder."""

    def __init__(self, model: Seq2Seq, decoder: BahdanauDecoder) -> None:
        super().__init__(model, decoder)
        asked = _query_weight(self.score, self.cell.met)
        self.context = Tiled(self.W_other, self.reading.context)
        self.old = Tiled(asked, self.cell.met, self.reading.old)
        self.sizes = [asked.shape[0], self.cell.met.shape[0], self.reading.old.shape[0]]

    @override
    def step(
        self,
        state: RecurrentState,
        words: Int[Tensor, "B"],
        memory: Memory,
        *,
        imposed: Float[Tensor, "B 1 1 S"] | None = None,
    ) -> tuple[RecurrentState, Scored]:
        query, u, read = self.old(state.shown).split_with_sizes(self.sizes, dim=1)
        asked = query if self.sizes[0] else state.shown
        x, weights = self._look(asked, memory, imposed, self._words(words))
        hidden = self.moving(x[:, : self.G], u, state.layers[0])
        x = x[:, self.G :] + read if self.sizes[2] else x[:, self.G :]
        moved = RecurrentState(state.position + 1, (hidden,), hidden.h)
        return moved, self._write(x, hidden.h, weights)


@final
class _MovesFirst(_Recurrent):
    """Luong's decoder, with or without input feeding."""

    def __init__(self, model: Seq2Seq, decoder: LuongDecoder, W_c: nn.Linear) -> None:
        super().__init__(model, decoder)
        asked = _query_weight(self.score, self.cell.met)
        C, R = W_c.weight.tensor_split([-decoder.state_size], dim=1)
        self.context = Tiled(C, self.reading.context)
        self.feeding, self.feed = decoder.input_feeding, Tiled(self.W_other)
        self.met, self.old = Tiled(self.cell.met), Tiled(self.reading.old)
        self.join = Tiled(asked, R)
        self.join_bias = torch.cat([R.new_zeros(len(asked)), _bias(W_c)])
        self.sizes = [asked.shape[0], R.shape[0]]

    @override
    def step(
        self,
        state: RecurrentState,
        words: Int[Tensor, "B"],
        memory: Memory,
        *,
        imposed: Float[Tensor, "B 1 1 S"] | None = None,
    ) -> tuple[RecurrentState, Scored]:
        x, read = self._words(words).tensor_split([self.G], dim=1)
        if self.feeding:
            x = self.feed(state.shown, x)
        hidden = self.moving(x, self.met(state.layers[0].h), state.layers[0])
        query, own = self.join(hidden.h, self.join_bias).split_with_sizes(self.sizes, dim=1)
        asked = query if self.sizes[0] else hidden.h
        found, weights = self._look(asked, memory, imposed, torch.cat([own, read], dim=1))
        shown, read = found.tensor_split([self.sizes[1]], dim=1)
        shown = torch.tanh(shown)
        if self.old.output_size:
            read = self.old(state.shown, read)
        moved = RecurrentState(state.position + 1, (hidden,), shown)
        return moved, self._write(read, shown, weights)


class _Reading(NamedTuple):
    """The readout's first layer by what it reads; without one, nothing.

    What it does not read of a word or of what was found is zero, of the old state has no rows.
    """

    previous: Float[Tensor, "O E"]
    context: Float[Tensor, "O N"]
    old: Float[Tensor, "P D"]
    new: Tiled
    bias: Float[Tensor, "O"]


def _reading(model: Seq2Seq, decoder: BahdanauDecoder | LuongDecoder) -> _Reading:
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
    new = Tiled(parts["new_state"])
    return _Reading(parts["previous"], parts["context"], parts["old_state"], new, bias)


def _query_weight(score: Score, like: Float[Tensor, "P D"]) -> Float[Tensor, "A D"]:
    """Return what makes a query of a state; no rows where the state itself asks."""
    return score.query_weight if isinstance(score, TanhScore) else like[:0]


def _bias(linear: nn.Linear) -> Float[Tensor, "O"]:
    none = linear.weight.new_zeros(linear.weight.shape[0])
    return none if linear.bias is None else linear.bias.detach()
