"""Parts that recurrent decoders share: their state, and attention with coverage."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoders.base import DecoderState, zero_position
from regard.decoders.initial_state import InitialState
from regard.nn.attention import Attention, Memory, PastAttention
from regard.nn.cells import Cell, HiddenState
from regard.nn.encoder_output import EncoderOutput


@dataclass(frozen=True)
class RecurrentState(DecoderState):
    """Every layer's state, the last output, and the sum of the weights if the score uses coverage.

    `output` is the top layer's output, or Luong's h̃: the old state of the next step.
    """

    layers: tuple[HiddenState, ...]
    output: Float[Tensor, "B D"]
    coverage: Float[Tensor, "B S"] | None = None


def initial_memory_and_state(
    cells: Sequence[Cell], initial_state: InitialState, attention: Attention, encoded: EncoderOutput
) -> tuple[Memory, RecurrentState]:
    """Return the memory, and the state before the first token."""
    layers = initial_state(cells, encoded)
    memory = attention.remember(encoded.keys, encoded.values, encoded.mask)
    coverage = encoded.keys.new_zeros(encoded.mask.shape) if attention.uses_coverage else None
    return memory, RecurrentState(zero_position(encoded), layers, layers[-1].h, coverage)


def attend(
    attention: Attention,
    query: Float[Tensor, "B T D"],
    memory: Memory,
    state: RecurrentState,
    forced_weights: Float[Tensor, "B T 1 1 S"] | None,
    need_weights: bool,
) -> tuple[Float[Tensor, "B T N"], Float[Tensor, "B T 1 1 S"] | None]:
    """Attend with the queries of the next T steps; coverage is only known for the first."""
    steps = torch.arange(query.shape[1], device=query.device)
    coverage = None if state.coverage is None else state.coverage[:, None]
    context, weights = attention(
        query,
        memory,
        past=PastAttention(state.position[:, None] + steps, coverage),
        forced_weights=None if forced_weights is None else forced_weights[:, :, 0, 0],
        need_weights=need_weights or state.coverage is not None,
    )
    return context, None if weights is None else weights[:, :, None, None]


def updated_coverage(
    state: RecurrentState, weights: Float[Tensor, "B T 1 1 S"] | None
) -> Float[Tensor, "B S"] | None:
    """Return the sum of the weights with these steps added; None without coverage."""
    if state.coverage is None or weights is None:
        return None
    return state.coverage + weights[:, :, 0, 0].sum(dim=1)
