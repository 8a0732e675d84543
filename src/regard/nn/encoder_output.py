"""What an encoder hands to a decoder."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from regard.nn.cells import CellState
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class EncoderOutput(TensorRecord):
    """A source that has been read, its positions in reading order.

    `last` is what the encoder held when it stopped reading; `states` are a recurrent encoder's
    last states, layer by layer, and empty elsewhere; `summary` is there where a decoder asks.
    """

    keys: Float[Tensor, "B S M"]
    values: Float[Tensor, "B S N"]
    mask: Bool[Tensor, "B S"]
    last: Float[Tensor, "B M"]
    states: tuple[CellState, ...] = ()
    summary: Float[Tensor, "B C"] | None = None
