"""What every encoder does, so that every decoder can follow it."""

from abc import ABC, abstractmethod

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.kernels import Call, Decision
from regard.kernels.messages import NOTHING_FASTER
from regard.nn.encoder_output import EncoderOutput


class Encoder(nn.Module, ABC):
    """Embedded words in, keys and values out."""

    key_size: int
    value_size: int

    @abstractmethod
    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> EncoderOutput:
        """Read a batch of sources."""

    def explain(self, call: Call) -> dict[str, Decision]:
        """Return what runs in training, part by part, and why."""
        return {"encoder": Decision("plain PyTorch", NOTHING_FASTER)}
