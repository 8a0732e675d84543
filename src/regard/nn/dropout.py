"""Dropout (Srivastava et al. 2014), as all layers use it."""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from regard import kernels


@final
class Dropout(nn.Module):
    """In training, zero a share p of the numbers and divide the others by 1 − p."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Apply dropout in training; otherwise return x."""
        return kernels.dropout(x, p=self.p) if self.training and self.p > 0 else x
