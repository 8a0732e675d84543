"""The interface of decoders, for search and training: start, step, unroll.

A decoder gets embedded tokens and an encoded source; the model embeds tokens and computes logits.
Attention weights are [B,L,H,S] at a step and [B,T,L,H,S] for a sequence, for every decoder:
L layers that attend, H heads in each. Forced weights have the same shape; NaN means free.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.decoders import messages
from regard.kernels import Alternatives, Call, Decision, Implementation
from regard.nn.encoder_output import EncoderOutput
from regard.nn.tensor_record import TensorRecord, map_tensors


@dataclass(frozen=True)
class DecoderState(TensorRecord):
    """The state of a decoder; `position` is the number of tokens it has been fed.

    Only states with the same position can be joined.
    """

    position: Int[Tensor, "B"]


@dataclass(frozen=True)
class DecoderStep(TensorRecord):
    """The outputs at one target position, or at T of them; None if a decoder lacks one."""

    old_state: Float[Tensor, "B *T D"] | None
    new_state: Float[Tensor, "B *T D"]
    context: Float[Tensor, "B *T N"] | None
    weights: Float[Tensor, "B *T L H S"] | None


def zero_position(encoded: EncoderOutput) -> Int[Tensor, "B"]:
    """Return the position before the first token, for each row."""
    return torch.zeros(encoded.mask.shape[0], dtype=torch.long, device=encoded.mask.device)


StateT = TypeVar("StateT", bound=DecoderState)
MemoryT = TypeVar("MemoryT", bound=TensorRecord)


class Decoder(nn.Module, ABC, Generic[StateT, MemoryT]):
    """A state machine that attends to a memory, which does not change."""

    state_size: int
    context_size: int | None
    # number of layers that attend, and of their heads; None without attention
    attention_shape: tuple[int, int] | None

    @abstractmethod
    def start(self, encoded: EncoderOutput) -> tuple[MemoryT, StateT]:
        """Return the memory of a source, and the state before the first token."""

    @abstractmethod
    def step(
        self,
        state: StateT,
        previous: Float[Tensor, "B E"],
        memory: MemoryT,
        *,
        forced_weights: Float[Tensor, "B L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[StateT, DecoderStep]:
        """Feed the previous token and return the next state."""

    def unroll(
        self,
        state: StateT,
        previous: Float[Tensor, "B T E"],
        memory: MemoryT,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[StateT, DecoderStep]:
        """Feed given tokens: the same as T steps, at once if the decoder can."""
        return unroll_by_steps(
            self, state, previous, memory, forced_weights=forced_weights, need_weights=need_weights
        )

    @property
    def why_stepwise(self) -> str | None:
        """Why `unroll` goes step by step; None if it does not."""
        return None

    def explain(self, call: Call) -> dict[str, Decision]:
        """Return what runs in training, part by part, and why."""
        return {"decoder": UNROLLING.explain(self)}


def unroll_by_steps(
    decoder: Decoder[StateT, MemoryT],
    state: StateT,
    previous: Float[Tensor, "B T E"],
    memory: MemoryT,
    *,
    forced_weights: Float[Tensor, "B T L H S"] | None = None,
    need_weights: bool = True,
) -> tuple[StateT, DecoderStep]:
    """Feed given tokens one by one: the definition of `unroll`."""
    steps = []
    for t, token in enumerate(previous.unbind(dim=1)):
        forced = None if forced_weights is None else forced_weights[:, t]
        state, step = decoder.step(
            state, token, memory, forced_weights=forced, need_weights=need_weights
        )
        steps.append(step)
    return state, stack_steps(steps)


UNROLLING = Alternatives[Decoder[Any, Any]](
    (
        Implementation(Decoder.unroll, "at once", messages.ONE_CALL, lambda x: x.why_stepwise),
        Implementation(unroll_by_steps, "step by step", messages.EVERY_DECODER),
    )
)


def stack_steps(steps: list[DecoderStep]) -> DecoderStep:
    """Stack steps along T."""
    return map_tensors(lambda *parts: torch.stack(parts, dim=1), *steps)


def only_step(steps: DecoderStep) -> DecoderStep:
    """Return the only step of a sequence of one token."""
    return map_tensors(lambda part: part[:, 0], steps)
