"""What search and training need of a decoder: start, step, unroll.

A decoder sees embedded words and an encoded source; words and logits are not its business.
Attention weights are [B,L,H,S] at a step and [B,T,L,H,S] along a line, whatever the decoder:
L layers that attend, H heads in each. Weights forced from outside have the same shape, with NaN
where the model is free.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.kernels import Alternatives, Call, Decision, Implementation
from regard.nn.encoder_output import EncoderOutput
from regard.nn.tensor_record import TensorRecord, map_tensors


@dataclass(frozen=True)
class DecoderState(TensorRecord):
    """What a decoder carries from step to step; `position` is how many words it has been fed.

    Only states that have been fed equally many words can be joined.
    """

    position: Int[Tensor, "B"]


@dataclass(frozen=True)
class DecoderStep(TensorRecord):
    """What one target position yields, or each of T; None where a decoder has no such thing."""

    old_state: Float[Tensor, "B *T D"] | None
    new_state: Float[Tensor, "B *T D"]
    context: Float[Tensor, "B *T N"] | None
    weights: Float[Tensor, "B *T L H S"] | None


def zero_position(encoded: EncoderOutput) -> Int[Tensor, "B"]:
    """The position before the first word, for each row."""
    return torch.zeros(encoded.mask.shape[0], dtype=torch.long, device=encoded.mask.device)


StateT = TypeVar("StateT", bound=DecoderState)
MemoryT = TypeVar("MemoryT", bound=TensorRecord)


class Decoder(nn.Module, ABC, Generic[StateT, MemoryT]):
    """Moves from state to state, looking back at a memory that never changes."""

    state_size: int
    context_size: int | None
    # how many layers attend, and with how many heads; None without attention
    attention_shape: tuple[int, int] | None

    @abstractmethod
    def start(self, encoded: EncoderOutput) -> tuple[MemoryT, StateT]:
        """Prepare the memory of a source, once, and the state before the first word."""

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
        """Move by one word, the one just written."""

    def unroll(
        self,
        state: StateT,
        previous: Float[Tensor, "B T E"],
        memory: MemoryT,
        *,
        forced_weights: Float[Tensor, "B T L H S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[StateT, DecoderStep]:
        """Move along given words: what T steps do, all at once where the decoder can."""
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
    """Step along given words one by one: the definition of `unroll`."""
    steps = []
    for t, word in enumerate(previous.unbind(dim=1)):
        here = None if forced_weights is None else forced_weights[:, t]
        state, step = decoder.step(
            state, word, memory, forced_weights=here, need_weights=need_weights
        )
        steps.append(step)
    return state, stack_steps(steps)


UNROLLING = Alternatives[Decoder[Any, Any]](
    (
        Implementation(
            Decoder.unroll, "at once", "one call for all positions", lambda x: x.why_stepwise
        ),
        Implementation(unroll_by_steps, "step by step", "every decoder can"),
    )
)


def stack_steps(steps: list[DecoderStep]) -> DecoderStep:
    """Lay steps side by side along T."""
    return map_tensors(lambda *parts: torch.stack(parts, dim=1), *steps)


def only_step(steps: DecoderStep) -> DecoderStep:
    """Return the one step of a line of one word."""
    return map_tensors(lambda part: part[:, 0], steps)
