"""Readout and loss in one, some rows at a time: the logits of all words never exist together.

The gradient is computed beside the loss, while a chunk's logits are there, so that they are
computed once; on the way back it is only scaled. A second derivative is not supported.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.by_hand_casting import alike, as_it_is

LOGITS = 2**21
"""How many logits exist at once: 8 MiB in float32."""

COUNTED = ("cpu",)
"""Where hidden rows are left out; elsewhere to count them would wait for the device."""


def linear_loss(
    x: Float[Tensor, "R X"],
    weight: Float[Tensor, "V X"],
    bias: Float[Tensor, "V"] | None,
    target: Int[Tensor, "R"],
    visible: Bool[Tensor, "R"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """`reference.linear_loss`: R·V·X multiply-adds, and 2·R·V·X for the gradient.

    Keeps R·X + V·X numbers. The loss is summed in float32 at least, whatever the product runs in.
    """
    wanted = torch.is_grad_enabled()
    x, weight, bias = alike(x, weight, bias)
    with as_it_is(x):
        return _LinearLoss.apply(x, weight, bias, target, visible, smoothing, wanted)


class _LinearLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        visible: Tensor,
        smoothing: float,
        wanted: bool,
    ) -> Tensor:
        given, rows = x, None
        if x.device.type in COUNTED:
            rows = visible.nonzero()[:, 0]
            x, target = x[rows], target[rows]
        wide = torch.promote_types(x.dtype, torch.float32)
        total = x.new_zeros((), dtype=wide)
        grads = _Gradients(x, weight, bias) if wanted else None
        chunk = max(1, LOGITS // weight.shape[0])
        for start in range(0, x.shape[0], chunk):
            here = slice(start, start + chunk)
            hidden = ~visible[here] if rows is None else None
            logits = torch.nn.functional.linear(x[here], weight, bias).to(wide)
            log_probs = torch.log_softmax(logits, dim=-1)
            total += _loss(log_probs, target[here], hidden, smoothing)
            if grads is not None:
                grads.add(here, _blame(log_probs, target[here], hidden, smoothing))
        if grads is not None:
            dx = grads.dx
            if rows is not None:
                dx = torch.zeros_like(given).index_copy_(0, rows, dx)
            ctx.save_for_backward(dx, grads.dweight, grads.dbias)
            ctx.dtype = x.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with as_it_is(grad):
            parts = [None if x is None else (x * grad).to(ctx.dtype) for x in ctx.saved_tensors]
        return *parts, None, None, None, None


class _Gradients:
    """The gradients of x, weight and bias, chunk by chunk; sums are float32 at least."""

    def __init__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        self.x, self.weight = x, weight
        wide = torch.promote_types(x.dtype, torch.float32)
        self.dx, self.dweight = torch.empty_like(x), torch.zeros_like(weight, dtype=wide)
        self.dbias = None if bias is None else torch.zeros_like(bias, dtype=wide)

    def add(self, here: slice, blame: Float[Tensor, "R V"]) -> None:
        """Take in the logits' gradients of some rows."""
        dlogits = blame.to(self.x.dtype)
        torch.mm(dlogits, self.weight, out=self.dx[here])
        if blame.dtype == self.x.dtype:
            self.dweight.addmm_(dlogits.T, self.x[here])
        else:
            self.dweight += dlogits.T @ self.x[here]
        if self.dbias is not None:
            self.dbias += blame.sum(dim=0)


def _loss(
    log_probs: Float[Tensor, "R V"],
    target: Int[Tensor, "R"],
    hidden: Bool[Tensor, "R"] | None,
    smoothing: float,
) -> Float[Tensor, ""]:
    """Σ (1−ε)·(−log p(y)) + ε·mean_v(−log p(v)) over the visible rows."""
    loss = -log_probs.gather(1, target[:, None])[:, 0]
    if smoothing:
        loss = (1 - smoothing) * loss - smoothing * log_probs.mean(dim=-1)
    return (loss if hidden is None else loss.masked_fill(hidden, 0.0)).sum()


def _blame(
    log_probs: Float[Tensor, "R V"],
    target: Int[Tensor, "R"],
    hidden: Bool[Tensor, "R"] | None,
    smoothing: float,
) -> Float[Tensor, "R V"]:
    """Return the logits' gradient p − (1−ε)·[v = y] − ε/V, in the place of log p."""
    blame = log_probs.exp_()
    if smoothing:
        blame -= smoothing / blame.shape[-1]
    right = blame.gather(1, target[:, None]) + (smoothing - 1)
    blame.scatter_(1, target[:, None], right)
    return blame if hidden is None else blame.masked_fill_(hidden[:, None], 0.0)
