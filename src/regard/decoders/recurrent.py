"""What plain, Bahdanau's and Luong's decoders share: the state they carry, and one look."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoders.base import DecoderState, zero_position
from regard.decoders.initial_state import InitialState
from regard.nn.attention import Attention, Memory, Past
from regard.nn.cells import Cell, CellState
from regard.nn.encoder_output import EncoderOutput


@dataclass(frozen=True)
class RecurrentState(DecoderState):
    """Every layer's state, what the last step showed, and the weights' sum where coverage asks.

    `shown` is the top layer's output, or Luong's h̃: what the next step reads as the old state.
    """

    layers: tuple[CellState, ...]
    output: Float[Tensor, "B D"]
    coverage: Float[Tensor, "B S"] | None = None


def start(
    cells: Sequence[Cell], initial_state: InitialState, attention: Attention, encoded: EncoderOutput
) -> tuple[Memory, RecurrentState]:
    """Prepare the memory, and the state before the first word."""
    layers = initial_state(cells, encoded)
    memory = attention.remember(encoded.keys, encoded.values, encoded.mask)
    unseen = encoded.keys.new_zeros(encoded.mask.shape) if attention.uses_coverage else None
    return memory, RecurrentState(zero_position(encoded), layers, layers[-1].h, unseen)


def look(
    attention: Attention,
    query: Float[Tensor, "B T D"],
    memory: Memory,
    state: RecurrentState,
    forced_weights: Float[Tensor, "B T 1 1 S"] | None,
    need_weights: bool,
) -> tuple[Float[Tensor, "B T N"], Float[Tensor, "B T 1 1 S"] | None]:
    """Attend with the queries of the next T steps; coverage is known only for the first."""
    steps = torch.arange(query.shape[1], device=query.device)
    seen = None if state.coverage is None else state.coverage[:, None]
    context, weights = attention(
        query,
        memory,
        past=Past(state.position[:, None] + steps, seen),
        forced_weights=None if forced_weights is None else forced_weights[:, :, 0, 0],
        need_weights=need_weights or state.coverage is not None,
    )
    return context, None if weights is None else weights[:, :, None, None]


def covered(
    state: RecurrentState, weights: Float[Tensor, "B T 1 1 S"] | None
) -> Float[Tensor, "B S"] | None:
    """Add the steps' weights to the sum, where one is kept."""
    if state.coverage is None or weights is None:
        return None
    return state.coverage + weights[:, :, 0, 0].sum(dim=1)
