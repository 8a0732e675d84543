"""The sublayers of a Transformer block: the feed-forward layer, and the residual around each."""

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
        """Add f(x) to x, with norm and dropout."""
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
