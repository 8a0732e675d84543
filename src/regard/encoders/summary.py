"""A whole source in one vector: c = q(h_1 … h_S)."""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard.nn.encoder_output import EncoderOutput


class Summary(nn.Module, ABC):
    """One vector for the source, for a fixed context or an initial state."""

    output_size: int

    @abstractmethod
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        """Summarize a batch of sources; a source with nothing visible gives zeros."""


@final
class LastSummary(Summary):
    """c = h_S, or [→h_S; ←h_1] with two directions."""

    def __init__(self, key_size: int) -> None:
        super().__init__()
        self.output_size = key_size

    @override
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        return encoded.last


@final
class BackwardSummary(Summary):
    """c = ←h_1, the final state of the backward direction (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, key_size: int) -> None:
        super().__init__()
        self.output_size = key_size // 2

    @override
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        return encoded.last[:, self.output_size :]


@final
class MeanSummary(Summary):
    """c = Σ_j h_j / S"""

    def __init__(self, key_size: int) -> None:
        super().__init__()
        self.output_size = key_size

    @override
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        total = encoded.keys.masked_fill(~encoded.mask[..., None], 0.0).sum(dim=1)
        return total / encoded.mask.sum(dim=1, keepdim=True).clamp(min=1)


@final
class MaxSummary(Summary):
    """c = max_j h_j, elementwise."""

    def __init__(self, key_size: int) -> None:
        super().__init__()
        self.output_size = key_size

    @override
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        lowest = torch.finfo(encoded.keys.dtype).min
        highest = encoded.keys.masked_fill(~encoded.mask[..., None], lowest).amax(dim=1)
        return highest.masked_fill(~encoded.mask.any(dim=1, keepdim=True), 0.0)


@final
class TanhSummary(Summary):
    """c = tanh(V h_S) (Cho et al. 2014, A.1.1)."""

    def __init__(self, key_size: int) -> None:
        super().__init__()
        self.output_size = key_size
        self.V = nn.Linear(key_size, key_size, bias=False)

    @override
    def forward(self, encoded: EncoderOutput) -> Float[Tensor, "B C"]:
        return torch.tanh(self.V(encoded.last))


SUMMARIES: dict[str, type[Summary]] = {
    "last": LastSummary,
    "backward": BackwardSummary,
    "mean": MeanSummary,
    "max": MaxSummary,
    "tanh": TanhSummary,
}
