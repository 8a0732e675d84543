"""Adadelta (Zeiler 2012) in one pass: each number is read once and written once."""

from typing import Any, final

import torch
import triton
import triton.language as tl
from torch import nn
from typing_extensions import override

BLOCK = 1024


@triton.jit
def _adadelta(p, g, square, delta, rate, rho, eps, decay, size, BLOCK: tl.constexpr):
    """E[g²] ← mean, Δ = g √(E[Δ²] + ε) / √(E[g²] + ε), p ← p − rate Δ, E[Δ²] ← mean."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    parameter = tl.load(p + i, mask=inside)
    grad = tl.load(g + i, mask=inside) + decay * parameter
    mean_square = rho * tl.load(square + i, mask=inside) + (1 - rho) * grad * grad
    mean_delta = tl.load(delta + i, mask=inside)
    update = tl.sqrt(mean_delta + eps) / tl.sqrt(mean_square + eps) * grad
    tl.store(square + i, mean_square, mask=inside)
    tl.store(delta + i, rho * mean_delta + (1 - rho) * update * update, mask=inside)
    tl.store(p + i, parameter - rate * update, mask=inside)


@final
class Adadelta(torch.optim.Optimizer):
    """`torch.optim.Adadelta`, with the same names in its state."""

    def __init__(
        self,
        params: list[nn.Parameter],
        *,
        lr: float = 1.0,
        rho: float,
        eps: float,
        weight_decay: float,
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    @override
    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Make one update."""
        for group in self.param_groups:
            hyperparameters = group["lr"], group["rho"], group["eps"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                for name in ("square_avg", "acc_delta"):
                    state.setdefault(name, torch.zeros_like(p))
                tensors = p, p.grad, state["square_avg"], state["acc_delta"]
                _adadelta[triton.cdiv(p.numel(), BLOCK),](
                    *tensors, *hyperparameters, p.numel(), BLOCK
                )
