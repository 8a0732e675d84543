"""The layers that Transformers and convolutional models repeat; the residual is written once."""

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.nn.dropout import Dropout


@final
class Residual(nn.Module):
    """x ← norm(x + f(x)), as published, or x + f(norm(x)) with pre-norm; dropout on f's output."""

    def __init__(self, size: int, *, pre_norm: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.pre_norm = pre_norm
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "B T D"], f: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T D"]:
        """Add what f makes of x to x."""
        if self.pre_norm:
            return x + self.dropout(f(self.norm(x)))
        return self.norm(x + self.dropout(f(x)))


@final
class FeedForward(nn.Module):
    """W_2 max(0, W_1 x + b_1) + b_2 (Vaswani et al. 2017, eq. 2)."""

    def __init__(self, size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_1 = nn.Linear(size, hidden_size)
        self.W_2 = nn.Linear(hidden_size, size)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Apply to each position alone."""
        return self.W_2(self.dropout(torch.relu(self.W_1(x))))


@final
class GatedConvolution(nn.Module):
    """(GLU(conv_k h) + h)·√½, GLU(a, b) = a∘σ(b) (Gehring et al. 2017, §3.2).

    The caller pads: what stands before and after the line is its business.
    """

    def __init__(self, size: int, kernel_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.convolution = nn.Conv1d(size, 2 * size, kernel_size)
        self.dropout = Dropout(dropout)

    def forward(
        self, padded: Float[Tensor, "B P D"], h: Float[Tensor, "B T D"]
    ) -> Float[Tensor, "B T D"]:
        """Convolve a padded line, k − 1 longer than h, and add h."""
        gated = self.convolution(self.dropout(padded).mT)
        return (nn.functional.glu(gated, dim=1).mT + h) * 0.5**0.5


def fit(input_size: int, output_size: int) -> nn.Module:
    """Return a linear map where two widths differ, and nothing where they agree."""
    if input_size == output_size:
        return nn.Identity()
    return nn.Linear(input_size, output_size, bias=False)
