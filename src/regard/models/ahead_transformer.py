"""A Transformer, ready to be decoded: joined matrices, and caches that grow in their place.

A query asks its few own words by sums of products, number by number: all rows may take them at
once, and how a cache lies does not count. It asks the source by products, tile by tile.
"""

from dataclasses import dataclass, replace
from typing import cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from regard.decoders.contract import State, zero_position
from regard.decoders.transformer import (
    TransformerDecoder,
    TransformerDecoderBlock,
    TransformerMemory,
)
from regard.models.seq2seq import Scored, Seq2Seq
from regard.models.stepping import Ahead
from regard.models.tiled import Tiled, tiles
from regard.nn.attention import Memory, MultiHeadAttention, impose
from regard.nn.blocks import Residual
from regard.nn.masks import masked_softmax
from regard.nn.readouts import LinearLayer
from regard.nn.scores import ScaledDotScore

ROOM = 16
"""Words for which a cache that is full is given more room."""


def transformer_ahead(model: Seq2Seq, decoder: TransformerDecoder) -> Ahead | None:
    """Return what decodes as the model does, only faster; None if there is no such thing."""
    blocks = [cast(TransformerDecoderBlock, block) for block in decoder.blocks]
    plain = all(_plain(attention) for b in blocks for attention in (b.words, b.source))
    if not plain or not isinstance(model.readout.layer, LinearLayer):
        return None
    return _Transformer(model, decoder, blocks)


def _plain(attention: MultiHeadAttention) -> bool:
    inside = attention.attention
    usual = isinstance(inside.score, ScaledDotScore) and inside.relative is None
    return usual and attention.rotary is None


@dataclass(frozen=True)
class _Cache(State):
    """Keys and values of the words so far, layer by layer; behind them there may be room."""

    layers: tuple[tuple[Float[Tensor, "B C D"], Float[Tensor, "B C D"]], ...]

    @override
    def gather(self, index: Int[Tensor, "R"]) -> "_Cache":
        """Take rows, with room for one word more."""
        t = int(self.position[0])

        def taken(cache: Float[Tensor, "B C D"]) -> Float[Tensor, "R C1 D"]:
            moved = cache.new_empty(len(index), t + 1, cache.shape[2])
            moved[:, :t] = cache[:, :t].index_select(0, index)
            return moved

        layers = tuple((taken(keys), taken(values)) for keys, values in self.layers)
        return _Cache(self.position.index_select(0, index), layers)


@final
class _Block:
    """One block's step, for any whole number of tiles."""

    def __init__(self, block: TransformerDecoderBlock) -> None:
        self.block, self.heads = block, block.words.num_heads
        words, source, forward = block.words, block.source, block.feed_forward
        # the scale of the scores, once
        scale = (words.W_q.weight.shape[0] // self.heads) ** -0.5
        self.asked = Tiled(words.W_q.weight * scale, words.W_k.weight, words.W_v.weight)
        self.said = Tiled(words.W_o.weight)
        self.query, self.found = Tiled(source.W_q.weight * scale), Tiled(source.W_o.weight)
        self.wide, self.narrow = Tiled(forward.W_1.weight), Tiled(forward.W_2.weight)

    def __call__(
        self,
        x: Float[Tensor, "B D"],
        cache: tuple[Float[Tensor, "B C D"], Float[Tensor, "B C D"]],
        memory: Memory,
        t: int,
        imposed: Float[Tensor, "B H S"] | None,
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H S"]]:
        """Transform a word that stands at t; its key and value go into the cache."""
        inner = _before(self.block.around_words, x)
        query, *new = self.asked(inner).chunk(3, dim=1)
        keys, values = (_written(part, t, one) for part, one in zip(cache, new, strict=True))
        x = _after(self.block.around_words, self.said(self._look_back(query, keys, values), x))
        query = self.query(_before(self.block.around_source, x))
        context, weights = self._look_across(query, memory, imposed)
        x = _after(self.block.around_source, self.found(context, x))
        forward = self.block.feed_forward
        inner = self.wide(_before(self.block.around_feed_forward, x), forward.W_1.bias).relu_()
        x = self.narrow(inner, forward.W_2.bias) + x
        return _after(self.block.around_feed_forward, x), weights

    def _look_back(
        self,
        query: Float[Tensor, "B D"],
        keys: Float[Tensor, "B T D"],
        values: Float[Tensor, "B T D"],
    ) -> Float[Tensor, "B D"]:
        """Return what every head found among the words so far, side by side."""
        (B, T, D), H = keys.shape, self.heads
        scores = (keys.view(B, T, H, -1) * query.reshape(B, 1, H, -1)).sum(dim=-1)
        weights = scores.mT.softmax(dim=-1).mT
        return (values.view(B, T, H, -1) * weights[..., None]).sum(dim=1).view(B, D)

    def _look_across(
        self,
        query: Float[Tensor, "B D"],
        memory: Memory,
        imposed: Float[Tensor, "B H S"] | None,
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H S"]]:
        """Return what every head found in the source, side by side, and its weights."""
        B, H, S, K = memory.keys.shape
        asked, places = query.view(B, H, 1, K), list(tiles(B))
        scores = torch.cat([asked[here] @ memory.keys[here].mT for here in places])
        weights = masked_softmax(scores, memory.mask[:, None])
        weights = impose(weights, None if imposed is None else imposed[:, :, None])
        found = torch.cat([weights[here] @ memory.values[here] for here in places])
        return found.view(B, H * K), weights.view(B, H, S)


def _before(residual: Residual, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    return residual.norm(x) if residual.pre_norm else x


def _after(residual: Residual, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    return x if residual.pre_norm else residual.norm(x)


def _written(
    cache: Float[Tensor, "B C D"], t: int, new: Float[Tensor, "B D"]
) -> Float[Tensor, "B T D"]:
    """Put a word's numbers into the cache, and return those of all words so far."""
    cache[:, t] = new
    return cache[:, : t + 1]


@final
class _Transformer(Ahead):
    def __init__(
        self, model: Seq2Seq, decoder: TransformerDecoder, blocks: list[TransformerDecoderBlock]
    ) -> None:
        super().__init__(model)
        self.decoder, self.blocks = decoder, [_Block(block) for block in blocks]

    @override
    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]
    ) -> tuple[TransformerMemory, State]:
        encoded = self.model.encode(source, source_mask)
        keys, values, mask = encoded.keys, encoded.values, encoded.mask
        sources = (block.block.source for block in self.blocks)
        layers = tuple(source.remember(keys, values, mask) for source in sources)
        nothing = encoded.keys.new_empty(len(source), 0, self.decoder.state_size)
        cache = _Cache(zero_position(encoded), ((nothing, nothing),) * len(layers))
        return TransformerMemory(layers), cache

    @override
    def step(
        self,
        state: State,
        words: Int[Tensor, "B"],
        memory: TransformerMemory,
        *,
        imposed: Float[Tensor, "B L H S"] | None = None,
    ) -> tuple[State, Scored]:
        state = self._roomy(cast(_Cache, state))
        t = int(state.position[0])
        x = self.model.target_embedding(words[:, None], state.position)[:, 0]
        looks = []
        for layer, block in enumerate(self.blocks):
            pinned = None if imposed is None else imposed[:, layer]
            x, weights = block(x, state.layers[layer], memory.layers[layer], t, pinned)
            looks.append(weights)
        logits = self.vocabulary(self.decoder.norm(x), self.bias)
        moved = replace(state, position=state.position + 1)
        return moved, Scored(logits, torch.stack(looks, dim=1))

    def _roomy(self, state: _Cache) -> _Cache:
        """Return the state with room for one word at least."""
        t, (keys, _) = int(state.position[0]), state.layers[0]
        if keys.shape[1] > t:
            return state

        def roomier(cache: Float[Tensor, "B C D"]) -> Float[Tensor, "B C1 D"]:
            grown = cache.new_empty(len(cache), t + ROOM, cache.shape[2])
            grown[:, :t] = cache
            return grown

        return replace(state, layers=tuple((roomier(k), roomier(v)) for k, v in state.layers))
