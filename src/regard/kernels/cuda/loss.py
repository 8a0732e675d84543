"""From logits to the loss of each row, and to their own gradient in their place."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from triton.language.extra import libdevice
from typing_extensions import override

from regard.kernels.by_hand_casting import alike, as_it_is
from regard.kernels.cuda.arithmetic import product

LOGITS = 2**27
"""How many logits exist at once: 256 MiB in bfloat16."""


@triton.jit
def _rows(logits, target, visible, losses, V, smoothing, BLOCK: tl.constexpr):
    """loss = lse − (1−ε) logit[y] − ε mean(logits), dlogits = softmax − (1−ε) 1[y] − ε/V"""
    row = tl.program_id(0).to(tl.int64)
    at = logits + row * V
    seen = tl.load(visible + row) != 0
    y = tl.load(target + row)
    right = tl.load(at + y).to(tl.float32)
    top = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    plain = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        n = start + tl.arange(0, BLOCK)
        x = tl.load(at + n, mask=n < V, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, x)
        # before its first number a lane has no largest yet
        total = total * tl.where(top == new, 1.0, libdevice.exp(top - new)) + tl.where(
            n < V, libdevice.exp(x - new), 0.0
        )
        top = new
        plain += tl.where(n < V, x, 0.0)
    peak = tl.max(top, 0)
    whole = tl.sum(total * libdevice.exp(top - peak), 0)
    lse = peak + libdevice.log(whole)
    mean = tl.sum(plain, 0) / V
    loss = lse - (1 - smoothing) * right - smoothing * mean
    tl.store(losses + row, tl.where(seen, loss, 0.0))
    for start in range(0, V, BLOCK):
        n = start + tl.arange(0, BLOCK)
        x = tl.load(at + n, mask=n < V, other=0.0).to(tl.float32)
        share = tl.div_rn(libdevice.exp(x - peak), whole)
        grad = share - smoothing / V - tl.where(n == y, 1 - smoothing, 0.0)
        tl.store(at + n, tl.where(seen, grad, 0.0), mask=n < V)


def loss_rows_(logits: Tensor, target: Tensor, visible: Tensor, smoothing: float) -> Tensor:
    """Put the gradient of the summed loss in the place of the logits; return each row's loss."""
    losses = torch.empty(len(logits), device=logits.device)
    V = logits.shape[1]
    block = min(4096, triton.next_power_of_2(V))
    _rows[len(logits),](logits, target, visible, losses, V, smoothing, block, num_warps=8)
    return losses


class LinearLoss(torch.autograd.Function):
    """Loss and gradient of some rows at a time; on the way back the gradient is only scaled."""

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
        # rows that begin at a multiple of 16 bytes: products are several times slower otherwise
        x, weight = (functional.pad(part, (0, -X % 8)) for part in (x, weight))
        total, dweight, dbias = torch.zeros(3, device=x.device)
        dx = torch.empty_like(x)
        for rows in torch.arange(len(x)).split(max(1, LOGITS // V)):
            here = slice(int(rows[0]), int(rows[-1]) + 1)
            logits = functional.linear(x[here], weight, bias)
            total = total + loss_rows_(logits, target[here], visible[here], smoothing).sum()
            torch.mm(logits, weight, out=dx[here])
            dweight = dweight + product(logits.T, x[here])
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
    bias: Tensor | None,
    target: Tensor,
    visible: Tensor,
    smoothing: float = 0.0,
) -> Tensor:
    """`reference.linear_loss`"""
    given = alike(x, weight, bias)
    with as_it_is(x):
        return LinearLoss.apply(*given, target, visible, smoothing)
