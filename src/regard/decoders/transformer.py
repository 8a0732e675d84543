"""The Transformer decoder: multi-head self-attention and cross-attention (Vaswani et al. 2017)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard.decoders.base import Decoder, DecoderState, DecoderStep, only_step, zero_position
from regard.kernels import Call, Decision
from regard.nn.attention import Memory, MultiHeadAttention
from regard.nn.encoder_output import EncoderOutput
from regard.nn.masks import causal_mask
from regard.nn.tensor_record import TensorRecord
from regard.nn.transformer_sublayers import FeedForward, Residual


@dataclass(frozen=True)
class TransformerState(DecoderState):
    """The keys and values of all tokens so far, layer by layer."""

    kv_caches: tuple[Memory, ...]


@dataclass(frozen=True)
class TransformerMemory(TensorRecord):
    """The source's keys and values, layer by layer."""

    layers: tuple[Memory, ...]


@final
class TransformerDecoderBlock(nn.Module):
    """Causal self-attention, cross-attention and feed-forward, each in its residual (§3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        make_residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = make_residual()
        self.cross_attention = cross_attention
        self.cross_attention_residual = make_residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = make_residual()

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        kv_cache: Memory,
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B H T S"] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B T D"], Memory, Float[Tensor, "B H T S"] | None]:
        """Transform the next T tokens; return them, the longer KV cache and the weights."""
        weights = None

        def apply_self_attention(x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
            nonlocal kv_cache
            kv_cache = self._extend(kv_cache, x)
            visible = causal_mask(x.shape[1], kv_cache.keys.shape[-2], x.device)
            return self.self_attention(x, kv_cache, visible=visible, need_weights=False)[0]

        def apply_cross_attention(x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
            nonlocal weights
            output, weights = self.cross_attention(
                x, memory, forced_weights=forced_weights, need_weights=need_weights
            )
            return output

        x = self.self_attention_residual(x, apply_self_attention)
        x = self.cross_attention_residual(x, apply_cross_attention)
        return self.feed_forward_residual(x, self.feed_forward), kv_cache, weights

    def _extend(self, kv_cache: Memory, x: Float[Tensor, "B T D"]) -> Memory:
        full_mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        new = self.self_attention.remember(x, x, full_mask, offset=kv_cache.keys.shape[-2])
        return Memory(
            torch.cat([kv_cache.keys, new.keys], dim=-2),
            torch.cat([kv_cache.values, new.values], dim=-2),
            torch.cat([kv_cache.mask, new.mask], dim=-1),
        )


@final
class TransformerDecoder(Decoder[TransformerState, TransformerMemory]):
    """A stack of blocks, with a final norm if the blocks are pre-norm."""

    def __init__(
        self,
        model_size: int,
        num_layers: int,
        num_heads: int,
        make_block: Callable[[], TransformerDecoderBlock],
        *,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        self.state_size = model_size
        self.context_size = None
        self.attention_shape = num_layers, num_heads
        self.blocks = nn.ModuleList(make_block() for _ in range(num_layers))
        self.norm = nn.LayerNorm(model_size) if pre_norm else nn.Identity()

    @override
    def explain(self, call: Call) -> dict[str, Decision]:
        block = cast(TransformerDecoderBlock, self.blocks[0])
        return super().explain(call) | {
            "decoder self-attention": block.self_attention.explain(call),
            "decoder cross-attention": block.cross_attention.explain(call),
        }

    @override
    def start(self, encoded: EncoderOutput) -> tuple[TransformerMemory, TransformerState]:
        blocks = [cast(TransformerDecoderBlock, block) for block in self.blocks]
        keys, values, mask = encoded.keys, encoded.values, encoded.mask
        layers = tuple(block.cross_attention.remember(keys, values, mask) for block in blocks)
        empty = keys.new_zeros(keys.shape[0], 0, self.state_size)
        caches = tuple(block.self_attention.remember(empty, empty, mask[:, :0]) for block in blocks)
        return TransformerMemory(layers), TransformerState(zero_position(encoded), caches)

    @override
    def step(
        self,
        state: TransformerState,
        previous: Float[Tensor, "B E"],
        memory: TransformerMemory,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[TransformerState, DecoderStep]:
        forced = None if forced_weights is None else forced_weights[:, None]
        state, steps = self.unroll(
            state, previous[:, None], memory, forced_weights=forced, need_weights=need_weights
        )
        return state, only_step(steps)

    @override
    def unroll(
        self,
        state: TransformerState,
        previous: Float[Tensor, "B T E"],
        memory: TransformerMemory,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[TransformerState, DecoderStep]:
        x, kv_caches, weights = previous, [], []
        for layer, block in enumerate(self.blocks):
            forced = None if forced_weights is None else forced_weights[:, :, layer].transpose(1, 2)
            x, kv_cache, α = block(
                x,
                state.kv_caches[layer],
                memory.layers[layer],
                forced_weights=forced,
                need_weights=need_weights,
            )
            kv_caches.append(kv_cache)
            weights.append(α)
        attention_weights = (
            torch.stack(weights, dim=1).permute(0, 3, 1, 2, 4) if need_weights else None
        )
        next_state = TransformerState(state.position + previous.shape[1], tuple(kv_caches))
        return next_state, DecoderStep(None, self.norm(x), None, attention_weights)
