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
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return _kept(x, keep, scale)

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return _kept(grad, keep, ctx.scale), None, None


def _kept(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    return torch.where(keep, x, 0.0).mul_(scale)


def dropout(x: Float[Tensor, "*B D"], p: float) -> Float[Tensor, "*B D"]:
    """`reference.dropout`; p is kept to one part in 65,536, and the rest is scaled by just that.

    What is dropped depends on torch's own randomness alone, of which it takes one number.
    """
    dropped = min(STEPS - 1, max(1, round(p * STEPS)))
    return _Dropped.apply(x, _mask(x, dropped), STEPS / (STEPS - dropped))


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


def _mask(x: Tensor, dropped: int) -> Bool[Tensor, "*B D"]:
    seed = int(torch.randint(2**62, ()))
    bits = np.random.SFC64(seed).random_raw(-(-x.numel() // 4)).view(np.int16)[: x.numel()]
    return torch.from_numpy(bits).view(x.shape) >= dropped - STEPS // 2
