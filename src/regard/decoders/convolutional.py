"""The decoder of causal gated convolutions, with attention in every layer (Gehring et al. 2017)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard.decoders.base import Decoder, DecoderState, DecoderStep, only_step, zero_position
from regard.kernels import Call, Decision
from regard.nn.attention import Attention, Memory
from regard.nn.encoder_output import EncoderOutput
from regard.nn.gated_convolution import GatedConvolution, projection_or_identity
from regard.nn.scores import DotScore


@dataclass(frozen=True)
class ConvolutionalState(DecoderState):
    """The last k−1 inputs of each layer."""

    inputs: tuple[Float[Tensor, "B k D"], ...]


@final
class ConvolutionalDecoder(Decoder[ConvolutionalState, Memory]):
    """In every layer a causal gated convolution, then cross-attention (§3.2, §3.3).

    h_i = (GLU(conv_k h) + h)_i·√½        d_i = W_d h_i + b_d + g_i        α_i = softmax_j d_i·z_j
    c_i = √m Σ_j α_ij (z_j + e_j)         h_i ← (h_i + c_i)·√½

    m is the true length of the source; g_i is the embedding of the previous token, with its
    position. If two widths differ, a linear map connects them.
    """

    def __init__(
        self,
        embedding_size: int,
        hidden_size: int,
        num_layers: int,
        kernel_size: int,
        memory_sizes: tuple[int, int],
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        key_size, value_size = memory_sizes
        self.state_size = embedding_size
        self.context_size = None
        self.attention_shape = num_layers, 1
        self.hidden_size = hidden_size
        self.attention = Attention(DotScore())
        self.enter = projection_or_identity(embedding_size, hidden_size)
        self.blocks = nn.ModuleList(
            GatedConvolution(hidden_size, kernel_size, dropout) for _ in range(num_layers)
        )
        self.W_d = nn.ModuleList(nn.Linear(hidden_size, embedding_size) for _ in range(num_layers))
        self.fit_keys = projection_or_identity(key_size, embedding_size)
        self.fit_values = projection_or_identity(value_size, hidden_size)
        self.leave = projection_or_identity(hidden_size, embedding_size)
        self.padding = kernel_size - 1

    @override
    def explain(self, call: Call) -> dict[str, Decision]:
        return super().explain(call) | {"decoder attention": self.attention.explain(call)}

    @override
    def start(self, encoded: EncoderOutput) -> tuple[Memory, ConvolutionalState]:
        B = encoded.mask.shape[0]
        keys, values = self.fit_keys(encoded.keys), self.fit_values(encoded.values)
        zeros = keys.new_zeros(B, self.padding, self.hidden_size)
        memory = self.attention.remember(keys, values, encoded.mask)
        return memory, ConvolutionalState(zero_position(encoded), (zeros,) * len(self.blocks))

    @override
    def step(
        self,
        state: ConvolutionalState,
        previous: Float[Tensor, "B E"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[ConvolutionalState, DecoderStep]:
        forced = None if forced_weights is None else forced_weights[:, None]
        state, steps = self.unroll(
            state, previous[:, None], memory, forced_weights=forced, need_weights=need_weights
        )
        return state, only_step(steps)

    @override
    def unroll(
        self,
        state: ConvolutionalState,
        previous: Float[Tensor, "B T E"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[ConvolutionalState, DecoderStep]:
        T = previous.shape[1]
        root_m = memory.mask.sum(dim=-1)[:, None, None].to(previous.dtype).sqrt()
        h, inputs, weights = self.enter(previous), [], []
        for layer, (block, W_d) in enumerate(zip(self.blocks, self.W_d, strict=True)):
            padded = torch.cat([state.inputs[layer], h], dim=1)
            inputs.append(padded[:, T:])
            h = block(padded, h)
            c, α = self.attention(
                W_d(h) + previous,
                memory,
                forced_weights=None if forced_weights is None else forced_weights[:, :, layer, 0],
                need_weights=need_weights,
            )
            h = (h + root_m * c) * 0.5**0.5
            weights.append(α)
        attention_weights = torch.stack(weights, dim=2)[:, :, :, None] if need_weights else None
        next_state = ConvolutionalState(state.position + T, tuple(inputs))
        return next_state, DecoderStep(None, self.leave(h), None, attention_weights)
