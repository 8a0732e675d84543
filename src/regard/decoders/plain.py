"""Decoders without attention: the source is one vector (Cho, Sutskever)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard import kernels
from regard.decoders import messages
from regard.decoders.base import Decoder, DecoderStep, unroll_by_steps, zero_position
from regard.decoders.initial_state import InitialState
from regard.decoders.recurrent import RecurrentState
from regard.errors import InputError
from regard.nn.cells import GRUCell, HiddenState
from regard.nn.encoder_output import EncoderOutput
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class FixedContext(TensorRecord):
    """The context of a source; None if the decoder has only the initial state.

    `gates` is the projection of the context for the gates of Cho's decoder, once per source.
    """

    context: Float[Tensor, "B C"] | None
    gates: Float[Tensor, "B G"] | None = None


@final
class PlainDecoder(Decoder[RecurrentState, FixedContext]):
    """h_t = f(y_{t−1}, h_{t−1}), or f([y_{t−1}; c], h_{t−1}) with the context at every step."""

    def __init__(
        self,
        stack: RecurrentStack,
        initial_state: InitialState,
        *,
        context_size: int | None,
        context_every_step: bool,
    ) -> None:
        super().__init__()
        self.stack = stack
        self.initial_state = initial_state
        self.state_size = stack.hidden_size
        self.context_size = context_size
        self.attention_shape = None
        self.context_every_step = context_every_step

    @override
    def start(self, encoded: EncoderOutput) -> tuple[FixedContext, RecurrentState]:
        return _initial_memory_and_state(self.initial_state(self.stack.layers, encoded), encoded)

    @override
    def explain(self, call: kernels.Call) -> dict[str, kernels.Decision]:
        return super().explain(call) | {"decoder scan": self.stack.explain(call)}

    @override
    def step(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B E"],
        memory: FixedContext,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        _refuse_forced_weights(forced_weights)
        output, layers = self.stack.step(self._input(previous, memory), state.layers)
        next_state = RecurrentState(state.position + 1, layers, output)
        return next_state, DecoderStep(state.output, output, memory.context, None)

    @override
    def unroll(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: FixedContext,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        _refuse_forced_weights(forced_weights)
        x = self._input(previous, memory)
        full_mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        outputs, layers = self.stack.scan(x, state.layers, full_mask)
        old_outputs = torch.cat([state.output[:, None], outputs[:, :-1]], dim=1)
        next_state = RecurrentState(state.position + x.shape[1], layers, outputs[:, -1])
        contexts = None if memory.context is None else _repeat_context(memory.context, previous)
        return next_state, DecoderStep(old_outputs, outputs, contexts, None)

    def _input(
        self, previous: Float[Tensor, "B *T E"], memory: FixedContext
    ) -> Float[Tensor, "B *T I"]:
        if not self.context_every_step or memory.context is None:
            return previous
        return torch.cat([previous, _repeat_context(memory.context, previous)], dim=-1)


@final
class ChoDecoder(Decoder[RecurrentState, FixedContext]):
    """Cho's own decoder, whose reset gate also gates the context (Cho et al. 2014, A.1.2).

    r′ = σ(W_r e + U_r h + C_r c)   z′ = σ(W_z e + U_z h + C_z c)
    n′ = tanh(W_n e + r′∘(U_n h + C_n c))

    This is the GRU with reset after, with U h + C c in the place of U h.
    """

    def __init__(self, cell: GRUCell, initial_state: InitialState, *, context_size: int) -> None:
        super().__init__()
        self.cell = cell
        self.initial_state = initial_state
        self.state_size = cell.hidden_size
        self.context_size = context_size
        self.attention_shape = None
        self.C = nn.Linear(context_size, 3 * cell.hidden_size, bias=False)

    @override
    def start(self, encoded: EncoderOutput) -> tuple[FixedContext, RecurrentState]:
        layers = self.initial_state([self.cell], encoded)
        memory, state = _initial_memory_and_state(layers, encoded)
        return replace(memory, gates=self.C(memory.context)), state

    @property
    @override
    def why_stepwise(self) -> str:
        return messages.GATED_CONTEXT

    @override
    def step(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B E"],
        memory: FixedContext,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        _refuse_forced_weights(forced_weights)
        x, U = self.cell.W(previous), self.cell.U.weight
        h = kernels.gru_after_step(x, state.output, U, memory.gates)
        next_state = RecurrentState(state.position + 1, (HiddenState(h),), h)
        return next_state, DecoderStep(state.output, h, memory.context, None)

    @override
    def unroll(
        self,
        state: RecurrentState,
        previous: Float[Tensor, "B T E"],
        memory: FixedContext,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[RecurrentState, DecoderStep]:
        return unroll_by_steps(self, state, previous, memory, forced_weights=forced_weights)


def _initial_memory_and_state(
    layers: tuple[HiddenState, ...], encoded: EncoderOutput
) -> tuple[FixedContext, RecurrentState]:
    state = RecurrentState(zero_position(encoded), layers, layers[-1].h)
    return FixedContext(encoded.summary), state


def _repeat_context(
    context: Float[Tensor, "B C"], embedded: Float[Tensor, "B *T E"]
) -> Float[Tensor, "B *T C"]:
    """Repeat the context for each token of a sequence; a single token needs it once."""
    if embedded.ndim == 2:
        return context
    return context[:, None].expand(-1, embedded.shape[1], -1)


def _refuse_forced_weights(forced_weights: Tensor | None) -> None:
    if forced_weights is not None:
        raise InputError(messages.NO_ATTENTION_TO_FORCE)
