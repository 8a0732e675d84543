"""The interface of encoders, which every decoder can follow."""

from abc import ABC, abstractmethod

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.kernels import Call, Decision
from regard.kernels.messages import NOTHING_FASTER
from regard.nn.encoder_output import EncoderOutput


class Encoder(nn.Module, ABC):
    """Maps embedded tokens to keys and values."""

    key_size: int
    value_size: int

    @abstractmethod
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Encode a batch of sources."""

    def explain(self, call: Call) -> dict[str, Decision]:
        """Return what runs in training, part by part, and why."""
        return {"encoder": Decision("plain PyTorch", NOTHING_FASTER)}
