"""Bahdanau's decoder: attend, then step (look-then-move; Bahdanau et al. 2015)."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from regard import kernels
from regard.decoders.base import Decoder, DecoderStep, unroll_by_steps
from regard.decoders.initial_state import InitialState
from regard.decoders.recurrent import (
    RecurrentState,
    attend,
    initial_memory_and_state,
    updated_coverage,
)
from regard.decoders.unrolling import explain_recurrence, score_parameters, why_not_fused
from regard.nn.attention import Attention, Memory
from regard.nn.cells import HiddenState
from regard.nn.encoder_output import EncoderOutput
from regard.nn.recurrent_stack import RecurrentStack


@final
class BahdanauDecoder(Decoder[RecurrentState, Memory]):
    """A recurrence whose input at every step is the previous token and the context.

    c_i = Σ_j α_ij h_j        α_i = softmax_j score(s_{i−1}, h_j)        the query is the old state
    s_i = f([E y_{i−1}; c_i], s_{i−1})                                   A.2.2 of the paper

    With several layers the query is the top layer's old state, and the context enters the first.
    """

    def __init__(
        self,
        stack: RecurrentStack,
        attention: Attention,
        initial_state: InitialState,
        *,
        context_size: int,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.initial_state = initial_state
        self.state_size = stack.hidden_size
        self.context_size = context_size
        self.attention_shape = 1, 1

    @property
    @override
    def why_stepwise(self) -> str | None:
        """Why `unroll` goes step by step; None if one op does it."""
        return why_not_fused(self.stack, self.attention)

    @override
    def explain(self, call: kernels.Call) -> dict[str, kernels.Decision]:
        decisions = super().explain(call)
        if self.why_stepwise is None:
            recurrence = explain_recurrence("look_then_move", self.stack, self.attention, call)
            decisions["decoder recurrence"] = recurrence
        return decisions

    @override
    def start(self, encoded: EncoderOutput) -> tuple[Memory, RecurrentState]:
        return initial_memory_and_state(
            self.stack.layers, self.initial_state, self.attention, encoded
        )

    @override
    def step(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B E"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        step_forced_weights = None if forced_weights is None else forced_weights[:, None]
        query = state.output[:, None]
        contexts, weights = attend(
            self.attention, query, memory, state, step_forced_weights, need_weights
        )
        c = contexts[:, 0]
        output, layers = self.stack.step(torch.cat([previous, c], dim=-1), state.layers)
        coverage = updated_coverage(state, weights)
        next_state = RecurrentState(state.position + 1, layers, output, coverage)
        step_weights = weights[:, 0] if weights is not None and need_weights else None
        return next_state, DecoderStep(state.output, output, c, step_weights)

    @override
    def unroll(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: Memory,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        if forced_weights is not None or self.why_stepwise is not None:
            return unroll_by_steps(
                self,
                state,
                previous,
                memory,
                forced_weights=forced_weights,
                need_weights=need_weights,
            )
        return self._unroll_at_once(state, previous, memory, need_weights)

    def _unroll_at_once(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: Memory,
        need_weights: bool,
    ) -> tuple[RecurrentState, DecoderStep]:
        """Project the tokens and the memory first, since W [y; c] = W_y y + Σ_j α_j W_c h_j."""
        cell, (initial,) = self.stack.layers[0], state.layers
        sizes = [previous.shape[-1], memory.values.shape[-1]]
        W_y, W_c = cell.W.weight.split_with_sizes(sizes, dim=1)
        assert cell.op is not None  # noqa: S101
        score, keys = score_parameters(self.attention, memory.keys)
        outputs, weights, h, c = kernels.look_then_move(
            kernels.linear(previous, W_y, bias=cell.W.bias),
            cell=cell.op,
            keys=keys,
            values=functional.linear(memory.values, W_c),
            mask=memory.mask,
            h=initial.h,
            c=initial.c,
            score=score,
            U=cell.U.weight,
        )
        old_outputs = torch.cat([state.output[:, None], outputs[:, :-1]], dim=1)
        state = RecurrentState(state.position + previous.shape[1], (HiddenState(h, c),), h)
        attention_weights = weights[:, :, None, None] if need_weights else None
        return state, DecoderStep(old_outputs, outputs, weights @ memory.values, attention_weights)
