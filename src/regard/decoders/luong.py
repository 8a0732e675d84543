"""Luong's decoder: step, then attend (move-then-look; Luong et al. 2015)."""

from dataclasses import replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from regard import kernels
from regard.decoders import messages
from regard.decoders.base import Decoder, DecoderStep, only_step, unroll_by_steps
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
class LuongDecoder(Decoder[RecurrentState, Memory]):
    """A recurrence whose new state is the query, with optional input feeding.

    h_t = f(E y_{t−1}, h_{t−1})            or f([E y_{t−1}; h̃_{t−1}], h_{t−1}) with input feeding
    c_t = Σ_j α_tj h̄_j                     α_t = softmax_j score(h_t, h̄_j)
    h̃_t = tanh(W_c [c_t; h_t])             the output of the step; h_t itself if not attentional
    """

    def __init__(
        self,
        stack: RecurrentStack,
        attention: Attention,
        initial_state: InitialState,
        *,
        context_size: int,
        W_c: nn.Linear | None,
        input_feeding: bool,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.initial_state = initial_state
        self.state_size = stack.hidden_size
        self.context_size = context_size
        self.attention_shape = 1, 1
        self.W_c = W_c
        self.input_feeding = input_feeding

    @property
    @override
    def why_stepwise(self) -> str | None:
        """Why `unroll` goes step by step; None if it does not."""
        if not self.input_feeding:
            return messages.COVERAGE if self.attention.uses_coverage else None
        if self.W_c is None:
            return messages.NOT_ATTENTIONAL
        return why_not_fused(self.stack, self.attention)

    @override
    def explain(self, call: kernels.Call) -> dict[str, kernels.Decision]:
        decisions = super().explain(call)
        if self.why_stepwise is not None:
            return decisions
        if not self.input_feeding:
            scan, attention = self.stack.explain(call), self.attention.explain(call)
            return decisions | {"decoder scan": scan, "decoder attention": attention}
        recurrence = explain_recurrence("move_then_look", self.stack, self.attention, call)
        return decisions | {"decoder recurrence": recurrence}

    @override
    def start(self, encoded: EncoderOutput) -> tuple[Memory, RecurrentState]:
        memory, state = initial_memory_and_state(
            self.stack.layers, self.initial_state, self.attention, encoded
        )
        if self.W_c is None:
            return memory, state
        return memory, replace(state, output=torch.zeros_like(state.output))

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
        x = torch.cat([previous, state.output], dim=-1) if self.input_feeding else previous
        h, layers = self.stack.step(x, state.layers)
        forced = None if forced_weights is None else forced_weights[:, None]
        steps, coverage = self._attend(h[:, None], state, memory, forced, need_weights)
        step = only_step(steps)
        return RecurrentState(state.position + 1, layers, step.new_state, coverage), step

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
        fed_W_c = self.W_c if self.input_feeding else None
        if self.why_stepwise is not None or (fed_W_c is not None and forced_weights is not None):
            return unroll_by_steps(
                self,
                state,
                previous,
                memory,
                forced_weights=forced_weights,
                need_weights=need_weights,
            )
        if fed_W_c is not None:
            return self._unroll_at_once(fed_W_c, state, previous, memory, need_weights)
        full_mask = torch.ones(previous.shape[:2], dtype=torch.bool, device=previous.device)
        h, layers = self.stack.scan(previous, state.layers, full_mask)
        steps, _ = self._attend(h, state, memory, forced_weights, need_weights)
        position = state.position + previous.shape[1]
        return RecurrentState(position, layers, steps.new_state[:, -1]), steps

    def _unroll_at_once(
        self,
        W_c: nn.Linear,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: Memory,
        need_weights: bool,
    ) -> tuple[RecurrentState, DecoderStep]:
        """Project the tokens and the memory first, since W_c [c; h] = Σ_j α_j C h̄_j + R h."""
        cell, (initial,) = self.stack.layers[0], state.layers
        W_y, F = cell.W.weight.split_with_sizes([previous.shape[-1], self.state_size], dim=1)
        sizes = [memory.values.shape[-1], self.state_size]
        C, R = W_c.weight.split_with_sizes(sizes, dim=1)
        assert cell.op is not None  # noqa: S101
        score, keys = score_parameters(self.attention, memory.keys)
        # weights sum to 1, so a bias can be pooled; if nothing is visible, only the bias remains
        fully_masked = ~memory.mask.any(dim=1, keepdim=True)
        values = memory.values.masked_fill(fully_masked[..., None], 0.0)
        mask = memory.mask | (
            fully_masked & (torch.arange(memory.mask.shape[1], device=fully_masked.device) == 0)
        )
        outputs, weights, h, c = kernels.move_then_look(
            kernels.linear(previous, W_y, bias=cell.W.bias),
            cell=cell.op,
            keys=keys,
            values=functional.linear(values, C, W_c.bias),
            mask=mask,
            h=initial.h,
            c=initial.c,
            output=state.output,
            score=score,
            U=cell.U.weight,
            F=F,
            R=R,
        )
        weights = weights.masked_fill(fully_masked[..., None], 0.0)
        old_outputs = torch.cat([state.output[:, None], outputs[:, :-1]], dim=1)
        state = RecurrentState(
            state.position + previous.shape[1], (HiddenState(h, c),), outputs[:, -1]
        )
        attention_weights = weights[:, :, None, None] if need_weights else None
        return state, DecoderStep(old_outputs, outputs, weights @ memory.values, attention_weights)

    def _attend(
        self,
        h: Float[Tensor, "B T D"],
        state: RecurrentState,
        memory: Memory,
        forced_weights: Float[Tensor, "B T L H S"] | None,
        need_weights: bool,
    ) -> tuple[DecoderStep, Float[Tensor, "B S"] | None]:
        """Attend with each new state, and join it with the context."""
        c, weights = attend(self.attention, h, memory, state, forced_weights, need_weights)
        outputs = h if self.W_c is None else torch.tanh(self.W_c(torch.cat([c, h], dim=-1)))
        old_outputs = torch.cat([state.output[:, None], outputs[:, :-1]], dim=1)
        steps = DecoderStep(old_outputs, outputs, c, weights if need_weights else None)
        return steps, updated_coverage(state, weights)
