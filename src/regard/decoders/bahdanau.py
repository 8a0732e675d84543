"""The decoder that looks before it moves (Bahdanau et al. 2015)."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from regard.decoders.contract import Decoder, Step, unroll_by_steps
from regard.decoders.first import First
from regard.decoders.recurrent import RecurrentState, covered, look, start
from regard.nn.attention import Attention, Memory
from regard.nn.encoded import Encoded
from regard.nn.stack import Stack


@final
class BahdanauDecoder(Decoder[RecurrentState, Memory]):
    """A recurrence whose input at every step is the last word and what attention found for it.

    c_i = Σ_j α_ij h_j        α_i = softmax_j score(s_{i−1}, h_j)        the old state asks
    s_i = f([E y_{i−1}; c_i], s_{i−1})                                   A.2.2 of the paper

    With several layers the top one's old state asks, and the context enters the first.
    """

    def __init__(
        self,
        stack: Stack,
        attention: Attention,
        first: First,
        *,
        context_size: int,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.first = first
        self.state_size = stack.hidden_size
        self.context_size = context_size
        self.looks = 1, 1

    @override
    def start(self, encoded: Encoded) -> tuple[Memory, RecurrentState]:
        return start(self.stack.layers, self.first, self.attention, encoded)

    @override
    def step(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B E"],
        memory: Memory,
        *,
        imposed: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, Step]:
        here = None if imposed is None else imposed[:, None]
        query = state.shown[:, None]
        contexts, weights = look(self.attention, query, memory, state, here, need_weights)
        c = contexts[:, 0]
        shown, layers = self.stack.step(torch.cat([previous, c], dim=-1), state.layers)
        moved = RecurrentState(state.position + 1, layers, shown, covered(state, weights))
        shown_weights = weights[:, 0] if weights is not None and need_weights else None
        return moved, Step(state.shown, shown, c, shown_weights)

    @override
    def unroll(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: Memory,
        *,
        imposed: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, Step]:
        return unroll_by_steps(
            self, state, previous, memory, imposed=imposed, need_weights=need_weights
        )
