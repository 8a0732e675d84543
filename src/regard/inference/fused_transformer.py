"""The fused step of a Transformer decoder: joined matrices, and a KV cache written in place.

Self-attention over the few tokens so far is computed by element-wise products and sums, which may
run over all rows at once and do not depend on the cache's layout. Cross-attention is computed by
matrix products, tile by tile.
"""

from typing import cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from regard.decoders.base import zero_position
from regard.decoders.transformer import (
    TransformerDecoder,
    TransformerDecoderBlock,
    TransformerMemory,
)
from regard.inference.fixed_row_matmul import FixedRowMatmul, tiles
from regard.inference.kv_cache import KVCache
from regard.inference.step_decoder import FusedStepDecoder
from regard.inference.table_encoder import TableEncoder
from regard.models.seq2seq import ModelOutput, Seq2Seq
from regard.nn.attention import Memory, MultiHeadAttention, force_weights
from regard.nn.masks import masked_softmax
from regard.nn.readouts import LinearLayer
from regard.nn.scores import ScaledDotScore
from regard.nn.transformer_sublayers import Residual


@final
class FusedTransformerStep(FusedStepDecoder):
    """All blocks' steps, with the norm and the logits behind them."""

    def __init__(self, model: Seq2Seq, table_encoder: TableEncoder | None = None) -> None:
        super().__init__(model, table_encoder)
        self.decoder = cast(TransformerDecoder, model.decoder)
        self.blocks = [_FusedBlock(block) for block in _blocks(model)]

    @staticmethod
    @override
    def why_not(model: Seq2Seq) -> str | None:
        attentions = [
            part
            for block in _blocks(model)
            for part in (block.self_attention, block.cross_attention)
        ]
        if reasons := [reason for part in attentions if (reason := _why_not_fused(part))]:
            return reasons[0]
        linear = isinstance(model.readout.layer, LinearLayer)
        return None if linear else "its readout is not linear"

    @override
    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"]
    ) -> tuple[TransformerMemory, KVCache]:
        encoded = self.encode(source, source_mask)
        keys, values, mask = encoded.keys, encoded.values, encoded.mask
        attentions = (block.block.cross_attention for block in self.blocks)
        layers = tuple(attention.remember(keys, values, mask) for attention in attentions)
        empty = encoded.keys.new_empty(len(source), 0, self.decoder.state_size)
        cache = KVCache(zero_position(encoded), ((empty, empty),) * len(layers))
        return TransformerMemory(layers), cache

    @override
    def step(
        self,
        state: KVCache,
        tokens: Int[Tensor, "B"],
        memory: TransformerMemory,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
    ) -> tuple[KVCache, ModelOutput]:
        state = state.grow_if_full()
        t = state.length
        x = self.model.target_embedding(tokens[:, None], state.position)[:, 0]
        all_weights = []
        for layer, block in enumerate(self.blocks):
            forced = None if forced_weights is None else forced_weights[:, layer]
            query, key, value = block.project(x)
            x = block.attend_to_tokens(x, query, *state.write(layer, t, key, value))
            x, weights = block.attend_to_source(x, memory.layers[layer], forced)
            x = block.feed_forward(x)
            all_weights.append(weights)
        logits = self.logits_matmul(self.decoder.norm(x), self.logits_bias)
        return state.advance(), ModelOutput(logits, torch.stack(all_weights, dim=1))


@final
class _FusedBlock:
    """One block's step, for any whole number of tiles."""

    def __init__(self, block: TransformerDecoderBlock) -> None:
        self.block, self.heads = block, block.self_attention.num_heads
        attention, cross_attention = block.self_attention, block.cross_attention
        # the scores are scaled through the query matrices
        scale = (attention.W_q.weight.shape[0] // self.heads) ** -0.5
        self.W_qkv = FixedRowMatmul(
            attention.W_q.weight * scale, attention.W_k.weight, attention.W_v.weight
        )
        self.W_o = FixedRowMatmul(attention.W_o.weight)
        self.cross_W_q = FixedRowMatmul(cross_attention.W_q.weight * scale)
        self.cross_W_o = FixedRowMatmul(cross_attention.W_o.weight)
        self.W_1 = FixedRowMatmul(block.feed_forward.W_1.weight)
        self.W_2 = FixedRowMatmul(block.feed_forward.W_2.weight)

    def project(self, x: Float[Tensor, "B D"]) -> tuple[Tensor, ...]:
        """Return the token's query, key and value."""
        return self.W_qkv(_pre_norm(self.block.self_attention_residual, x)).chunk(3, dim=1)

    def attend_to_tokens(
        self,
        x: Float[Tensor, "B D"],
        query: Float[Tensor, "B D"],
        keys: Float[Tensor, "B T D"],
        values: Float[Tensor, "B T D"],
    ) -> Float[Tensor, "B D"]:
        """Add what every head reads from the tokens so far."""
        (B, T, D), H = keys.shape, self.heads
        scores = (keys.view(B, T, H, -1) * query.reshape(B, 1, H, -1)).sum(dim=-1)
        weights = scores.mT.softmax(dim=-1).mT
        context = (values.view(B, T, H, -1) * weights[..., None]).sum(dim=1).view(B, D)
        return _post_norm(self.block.self_attention_residual, self.W_o(context, x))

    def attend_to_source(
        self,
        x: Float[Tensor, "B D"],
        memory: Memory,
        forced_weights: Float[Tensor, "B H S"] | None,
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H S"]]:
        """Add what every head reads from the source; return its weights too."""
        B, H, S, K = memory.keys.shape
        query = self.cross_W_q(_pre_norm(self.block.cross_attention_residual, x)).view(B, H, 1, K)
        every_tile = list(tiles(B))
        scores = torch.cat([query[tile] @ memory.keys[tile].mT for tile in every_tile])
        weights = masked_softmax(scores, memory.mask[:, None])
        weights = force_weights(
            weights, None if forced_weights is None else forced_weights[:, :, None]
        )
        contexts = torch.cat([weights[tile] @ memory.values[tile] for tile in every_tile])
        x = _post_norm(
            self.block.cross_attention_residual, self.cross_W_o(contexts.view(B, H * K), x)
        )
        return x, weights.view(B, H, S)

    def feed_forward(self, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Add the feed-forward layer."""
        residual, layer = self.block.feed_forward_residual, self.block.feed_forward
        hidden = self.W_1(_pre_norm(residual, x), layer.W_1.bias).relu_()
        return _post_norm(residual, self.W_2(hidden, layer.W_2.bias) + x)


def _blocks(model: Seq2Seq) -> list[TransformerDecoderBlock]:
    decoder = cast(TransformerDecoder, model.decoder)
    return [cast(TransformerDecoderBlock, block) for block in decoder.blocks]


def _why_not_fused(attention: MultiHeadAttention) -> str | None:
    if not isinstance(attention.attention.score, ScaledDotScore):
        return f"its score is {type(attention.attention.score).__name__}"
    if attention.attention.relative is not None:
        return "its positions are relative"
    return None if attention.rotary is None else "its positions are rotary"


def _pre_norm(residual: Residual, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    return residual.norm(x) if residual.pre_norm else x


def _post_norm(residual: Residual, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    return x if residual.pre_norm else residual.norm(x)
