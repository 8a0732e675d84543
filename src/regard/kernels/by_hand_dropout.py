"""Dropout on a CPU: two random bytes for each number; the library draws them one by one."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels.reference import masked_softmax

STEPS = 1 << 16


class _Dropped(torch.autograd.Function):
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


def dropout(x: Float[Tensor, "*B D"], p: float) -> Float[Tensor, "*B D"]:
    """`reference.dropout`; p is kept to one part in 65,536, and the rest is scaled by just that.

    What is dropped depends on torch's own randomness alone, of which it takes one number.
    """
    return _Dropped.apply(x, _factors(x, min(STEPS - 1, max(1, round(p * STEPS)))))


def dropped_attention(
    q: Float[Tensor, "*B T K"],
    k: Float[Tensor, "*B S K"],
    v: Float[Tensor, "*B S N"],
    mask: Bool[Tensor, "*#B #T S"],
    p: float,
) -> Float[Tensor, "*B T N"]:
    """`reference.scaled_dot_attention` with dropout on the weights, which are made."""
    weights = masked_softmax(q @ k.mT * q.shape[-1] ** -0.5, mask)
    return dropout(weights, p) @ v


def _factors(x: Tensor, dropped: int) -> Float[Tensor, "*B D"]:
    """Return what each number is multiplied by: 0, or what makes up for those."""
    seed = int(torch.randint(2**62, ()))
    bits = np.random.SFC64(seed).random_raw(-(-x.numel() // 4)).view(np.int16)[: x.numel()]
    # compared into numbers at once: choosing by a mask of bytes takes three times as long
    kept = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(torch.from_numpy(bits).view(x.shape), dropped - STEPS // 2, out=kept)
    return kept.mul_(STEPS / (STEPS - dropped))
