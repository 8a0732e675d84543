"""Readout and loss in one op, some rows at a time: the logits of all tokens never exist together.

The forward pass computes the gradient too, while it has the logits of a chunk: they are computed
only once. The backward pass only scales the gradient. A second derivative is not supported.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.casting import autocast_disabled, cast_for_autocast

LOGITS = 2**21
"""Maximum number of logits at once: 8 MiB in float32."""

ROW_SKIPPING_DEVICES = ("cpu",)
"""Devices on which hidden rows are skipped; on others, counting them would wait for the device."""


def linear_loss(
    x: Float[Tensor, "R X"],
    weight: Float[Tensor, "V X"],
    *,
    bias: Float[Tensor, "V"] | None,
    target: Int[Tensor, "R"],
    visible: Bool[Tensor, "R"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """`reference.linear_loss`: R·V·X multiply-adds, and 2·R·V·X for the gradient.

    Saves R·X + V·X numbers. The loss is summed in float32 at least, whatever the product runs in.
    """
    needs_gradients = torch.is_grad_enabled()
    x, weight, bias = cast_for_autocast(x, weight, bias)
    with autocast_disabled(x):
        return _LinearLoss.apply(x, weight, bias, target, visible, smoothing, needs_gradients)


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
        needs_gradients: bool,
    ) -> Tensor:
        full_x, rows = x, None
        if x.device.type in ROW_SKIPPING_DEVICES:
            rows = visible.nonzero()[:, 0]
            x, target = x[rows], target[rows]
        wide = torch.promote_types(x.dtype, torch.float32)
        total = x.new_zeros((), dtype=wide)
        grads = _Gradients(x, weight, bias) if needs_gradients else None
        chunk_size = max(1, LOGITS // weight.shape[0])
        for start in range(0, x.shape[0], chunk_size):
            chunk = slice(start, start + chunk_size)
            hidden = ~visible[chunk] if rows is None else None
            logits = torch.nn.functional.linear(x[chunk], weight, bias).to(wide)
            log_probs = torch.log_softmax(logits, dim=-1)
            total += _loss(log_probs, target[chunk], hidden, smoothing)
            if grads is not None:
                grads.add(chunk, _logits_gradient(log_probs, target[chunk], hidden, smoothing))
        if grads is not None:
            dx = grads.dx
            if rows is not None:
                dx = torch.zeros_like(full_x).index_copy_(0, rows, dx)
            ctx.save_for_backward(dx, grads.dweight, grads.dbias)
            ctx.dtype = x.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with autocast_disabled(grad):
            parts = [None if x is None else (x * grad).to(ctx.dtype) for x in ctx.saved_tensors]
        return *parts, None, None, None, None


class _Gradients:
    """The gradients of x, weight and bias, chunk by chunk; sums are float32 at least."""

    def __init__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        self.x, self.weight = x, weight
        wide = torch.promote_types(x.dtype, torch.float32)
        self.dx, self.dweight = torch.empty_like(x), torch.zeros_like(weight, dtype=wide)
        self.dbias = None if bias is None else torch.zeros_like(bias, dtype=wide)

    def add(self, rows: slice, wide_dlogits: Float[Tensor, "R V"]) -> None:
        """Add the gradients that come from the logits of some rows."""
        dlogits = wide_dlogits.to(self.x.dtype)
        torch.mm(dlogits, self.weight, out=self.dx[rows])
        if wide_dlogits.dtype == self.x.dtype:
            self.dweight.addmm_(dlogits.T, self.x[rows])
        else:
            self.dweight += dlogits.T @ self.x[rows]
        if self.dbias is not None:
            self.dbias += wide_dlogits.sum(dim=0)


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


def _logits_gradient(
    log_probs: Float[Tensor, "R V"],
    target: Int[Tensor, "R"],
    hidden: Bool[Tensor, "R"] | None,
    smoothing: float,
) -> Float[Tensor, "R V"]:
    """Return the logits' gradient p − (1−ε)·[v = y] − ε/V, in place of log p."""
    dlogits = log_probs.exp_()
    if smoothing:
        dlogits -= smoothing / dlogits.shape[-1]
    target_gradient = dlogits.gather(1, target[:, None]) + (smoothing - 1)
    dlogits.scatter_(1, target[:, None], target_gradient)
    return dlogits if hidden is None else dlogits.masked_fill_(hidden[:, None], 0.0)
