"""The loss of each row of logits, and the logits' gradient in their place."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from triton.language.extra import libdevice
from typing_extensions import override

from regard.kernels.casting import autocast_disabled, cast_for_autocast
from regard.kernels.triton.arithmetic import product

LOGITS = 2**27
"""Maximum number of logits at once: 256 MiB in bfloat16."""


@triton.jit
def _rows(logits, target, visible, losses, V, smoothing, BLOCK: tl.constexpr):
    """loss = lse − (1−ε) logit[y] − ε mean(logits), dlogits = softmax − (1−ε) 1[y] − ε/V"""
    row = tl.program_id(0).to(tl.int64)
    at = logits + row * V
    is_visible = tl.load(visible + row) != 0
    y = tl.load(target + row)
    target_logit = tl.load(at + y).to(tl.float32)
    lane_max = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    logit_sum = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        n = start + tl.arange(0, BLOCK)
        x = tl.load(at + n, mask=n < V, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(lane_max, x)
        # a lane has no maximum before its first number
        rescale = tl.where(lane_max == new_max, 1.0, libdevice.exp(lane_max - new_max))
        total = total * rescale + tl.where(n < V, libdevice.exp(x - new_max), 0.0)
        lane_max = new_max
        logit_sum += tl.where(n < V, x, 0.0)
    row_max = tl.max(lane_max, 0)
    exp_sum = tl.sum(total * libdevice.exp(lane_max - row_max), 0)
    lse = row_max + libdevice.log(exp_sum)
    mean = tl.sum(logit_sum, 0) / V
    loss = lse - (1 - smoothing) * target_logit - smoothing * mean
    tl.store(losses + row, tl.where(is_visible, loss, 0.0))
    for start in range(0, V, BLOCK):
        n = start + tl.arange(0, BLOCK)
        x = tl.load(at + n, mask=n < V, other=0.0).to(tl.float32)
        p = tl.div_rn(libdevice.exp(x - row_max), exp_sum)
        grad = p - smoothing / V - tl.where(n == y, 1 - smoothing, 0.0)
        tl.store(at + n, tl.where(is_visible, grad, 0.0), mask=n < V)


def loss_rows_(logits: Tensor, target: Tensor, visible: Tensor, smoothing: float) -> Tensor:
    """Overwrite the logits with the gradient of the summed loss; return each row's loss."""
    losses = torch.empty(len(logits), device=logits.device)
    V = logits.shape[1]
    block = min(4096, triton.next_power_of_2(V))
    _rows[len(logits),](logits, target, visible, losses, V, smoothing, block, num_warps=8)
    return losses


class LinearLoss(torch.autograd.Function):
    """Loss and gradient of some rows at a time; the backward pass only scales the gradient."""

    @staticmethod
    @override
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        visible: Tensor,
        smoothing: float,
    ) -> Tensor:
        X, V = x.shape[1], weight.shape[0]
        # rows must begin at multiples of 16 bytes: products are several times slower otherwise
        x, weight = (functional.pad(tensor, (0, -X % 8)) for tensor in (x, weight))
        total, dweight, dbias = torch.zeros(3, device=x.device)
        dx = torch.empty_like(x)
        for rows in torch.arange(len(x)).split(max(1, LOGITS // V)):
            chunk = slice(int(rows[0]), int(rows[-1]) + 1)
            logits = functional.linear(x[chunk], weight, bias)
            total = total + loss_rows_(logits, target[chunk], visible[chunk], smoothing).sum()
            torch.mm(logits, weight, out=dx[chunk])
            dweight = dweight + product(logits.T, x[chunk])
            if bias is not None:
                dbias = dbias + logits.sum(dim=0, dtype=torch.float32)
        ctx.save_for_backward(dx[:, :X], dweight[:, :X], None if bias is None else dbias)
        return total

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        dx, dweight, dbias = ctx.saved_tensors
        scaled = None if dbias is None else dbias * grad
        return (dx * grad).to(dx.dtype), dweight * grad, scaled, None, None, None


def linear_loss(
    x: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None,
    target: Tensor,
    visible: Tensor,
    smoothing: float = 0.0,
) -> Tensor:
    """`reference.linear_loss`"""
    tensors = cast_for_autocast(x, weight, bias)
    with autocast_disabled(x):
        return LinearLoss.apply(*tensors, target, visible, smoothing)
