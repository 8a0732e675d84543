"""The decoder that looks at its own words and at the source, by heads (Vaswani et al. 2017)."""

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
from regard.nn.blocks import FeedForward, Residual
from regard.nn.encoder_output import EncoderOutput
from regard.nn.masks import causal_mask
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class TransformerState(DecoderState):
    """The keys and values of every word so far, layer by layer."""

    words: tuple[Memory, ...]


@dataclass(frozen=True)
class TransformerMemory(TensorRecord):
    """The source's keys and values, layer by layer."""

    layers: tuple[Memory, ...]


@final
class TransformerDecoderBlock(nn.Module):
    """Causal self-attention, a look at the source, feed-forward, each in its residual (§3.1)."""

    def __init__(
        self,
        words: MultiHeadAttention,
        source: MultiHeadAttention,
        feed_forward: FeedForward,
        make_residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.words = words
        self.around_words = make_residual()
        self.source = source
        self.around_source = make_residual()
        self.feed_forward = feed_forward
        self.around_feed_forward = make_residual()

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        words: Memory,
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B H T S"] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "B T D"], Memory, Float[Tensor, "B H T S"] | None]:
        """Transform the next T words, given those before; return the words' memory and weights."""
        weights = None

        def look_back(x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
            nonlocal words
            words = self._extend(words, x)
            visible = causal_mask(x.shape[1], words.keys.shape[-2], x.device)
            return self.words(x, words, visible=visible, need_weights=False)[0]

        def look_across(x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
            nonlocal weights
            found, weights = self.source(
                x, memory, forced_weights=forced_weights, need_weights=need_weights
            )
            return found

        x = self.around_words(x, look_back)
        x = self.around_source(x, look_across)
        return self.around_feed_forward(x, self.feed_forward), words, weights

    def _extend(self, words: Memory, x: Float[Tensor, "B T D"]) -> Memory:
        everywhere = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        new = self.words.remember(x, x, everywhere, offset=words.keys.shape[-2])
        return Memory(
            torch.cat([words.keys, new.keys], dim=-2),
            torch.cat([words.values, new.values], dim=-2),
            torch.cat([words.mask, new.mask], dim=-1),
        )


@final
class TransformerDecoder(Decoder[TransformerState, TransformerMemory]):
    """Blocks one after the other; a norm at the end where the blocks' norms come first."""

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
            "decoder self-attention": block.words.explain(call),
            "decoder cross-attention": block.source.explain(call),
        }

    @override
    def start(self, encoded: EncoderOutput) -> tuple[TransformerMemory, TransformerState]:
        blocks = [cast(TransformerDecoderBlock, block) for block in self.blocks]
        keys, values, mask = encoded.keys, encoded.values, encoded.mask
        memory = TransformerMemory(tuple(b.source.remember(keys, values, mask) for b in blocks))
        nothing = keys.new_zeros(keys.shape[0], 0, self.state_size)
        words = tuple(block.words.remember(nothing, nothing, mask[:, :0]) for block in blocks)
        return memory, TransformerState(zero_position(encoded), words)

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
        here = None if forced_weights is None else forced_weights[:, None]
        state, steps = self.unroll(
            state, previous[:, None], memory, forced_weights=here, need_weights=need_weights
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
        x, words, weights = previous, [], []
        for layer, block in enumerate(self.blocks):
            here = None if forced_weights is None else forced_weights[:, :, layer].transpose(1, 2)
            x, remembered, α = block(
                x,
                state.words[layer],
                memory.layers[layer],
                forced_weights=here,
                need_weights=need_weights,
            )
            words.append(remembered)
            weights.append(α)
        shown = torch.stack(weights, dim=1).permute(0, 3, 1, 2, 4) if need_weights else None
        moved = TransformerState(state.position + previous.shape[1], tuple(words))
        return moved, DecoderStep(None, self.norm(x), None, shown)
