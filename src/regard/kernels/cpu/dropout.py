"""Dropout on a CPU: two random bytes for each number; PyTorch draws the numbers one by one."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels.reference import masked_softmax

NUM_LEVELS = 1 << 16
"""The number of values of two bytes: p is a multiple of 1 / NUM_LEVELS."""


class _Dropout(torch.autograd.Function):
    @staticmethod
    @override
    def forward(ctx: Any, x: Tensor, factors: Tensor) -> Tensor:
        ctx.save_for_backward(factors)
        return x * factors

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (factors,) = ctx.saved_tensors
        return grad * factors, None


def dropout(x: Float[Tensor, "*B D"], *, p: float) -> Float[Tensor, "*B D"]:
    """`reference.dropout`; p is rounded to a multiple of 1 / 65,536.

    The mask depends only on torch's own generator, from which one number is drawn.
    """
    return _dropout(x, p)


def _dropout(x: Float[Tensor, "*B D"], p: float) -> Float[Tensor, "*B D"]:
    return _Dropout.apply(x, _factors(x, min(NUM_LEVELS - 1, max(1, round(p * NUM_LEVELS)))))


def scaled_dot_attention(
    query: Float[Tensor, "*B T K"],
    keys: Float[Tensor, "*B S K"],
    values: Float[Tensor, "*B S N"],
    *,
    mask: Bool[Tensor, "*#B #T S"],
    dropout: float,
) -> Float[Tensor, "*B T N"]:
    """`reference.scaled_dot_attention`, for weights with dropout; builds [B,T,S]."""
    weights = masked_softmax(query @ keys.mT * query.shape[-1] ** -0.5, mask)
    return _dropout(weights, dropout) @ values


def _factors(x: Tensor, num_dropped_levels: int) -> Float[Tensor, "*B D"]:
    """Return each number's factor: 0 for this share of NUM_LEVELS, or the scale of the others."""
    seed = int(torch.randint(2**62, ()))
    bits = np.random.SFC64(seed).random_raw(-(-x.numel() // 4)).view(np.int16)[: x.numel()]
    # the comparison writes numbers: via a Boolean mask it would take three times as long
    factors = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(
        torch.from_numpy(bits).view(x.shape), num_dropped_levels - NUM_LEVELS // 2, out=factors
    )
    return factors.mul_(NUM_LEVELS / (NUM_LEVELS - num_dropped_levels))
