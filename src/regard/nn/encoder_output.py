"""The output of an encoder, which a decoder starts from."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from regard.nn.cells import HiddenState
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class EncoderOutput(TensorRecord):
    """An encoded source, its positions in reading order.

    `last` is the encoder's final output; `states` are a recurrent encoder's final states, layer by
    layer, and empty for others; `summary` is None if the decoder needs none.
    """

    keys: Float[Tensor, "B S M"]
    values: Float[Tensor, "B S N"]
    mask: Bool[Tensor, "B S"]
    last: Float[Tensor, "B M"]
    states: tuple[HiddenState, ...] = ()
    summary: Float[Tensor, "B C"] | None = None
