"""GRU scans on a GPU, forward and backward, in one direction or two."""

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels.casting import autocast_disabled
from regard.kernels.registry import OPS
from regard.kernels.triton import step_kernels
from regard.kernels.triton.arithmetic import product
from regard.kernels.triton.launch import (
    TILE,
    WIDE,
    StateBuffers,
    empty_float,
    grid,
    reset_before_gradient,
    tile_options,
    uses_tf32,
)
from regard.kernels.types import CellWeights

linear = OPS["linear"].run


class GruScan(torch.autograd.Function):
    """Every state of R directions in parallel: x [R,B,T,3D] (W x + b), h [R,B,D], U [R,3D,D].

    Positions that the mask [R,B,T] hides change no state. A step is one kernel if the reset comes
    after the product, otherwise two: the second product needs the reset.
    """

    @staticmethod
    @override
    def forward(
        ctx: Any, reset_after: bool, x: Tensor, h: Tensor, U: Tensor, mask: Tensor
    ) -> Tensor:
        x, U, mask = x.contiguous(), U.to(x.dtype).contiguous(), mask.contiguous()
        R, B, T, G = x.shape
        D = G // 3
        s = StateBuffers(x, h, D)
        rest = empty_float(x, T if reset_after else 0, R, B, D)
        tf32, tile = uses_tf32(), tile_options(x)
        for t in range(T):
            x_t = x[:, :, t]
            if reset_after:
                step_kernels._gru_after_step[grid(B, D, R)](
                    s.low[t], s.h[t], U, x_t, T * G, mask[:, :, t], T, s.rzn[t], rest[t],
                    s.h[t + 1], s.low[t + 1], B, D, tf32, **tile,
                )  # fmt: skip
                continue
            step_kernels._gates[grid(B, 2 * D, R)](
                s.low[t], s.h[t], U, x_t, T * G, mask[:, :, t], T, s.rzn[t], s.rh[t], B, D, tf32,
                **tile,
            )  # fmt: skip
            step_kernels._blend[grid(B, D, R)](
                s.rh[t], U, x_t[..., 2 * D :], T * G, s.h[t], s.rzn[t], s.h[t + 1], s.low[t + 1],
                B, D, tf32, **tile,
            )  # fmt: skip
        ctx.save_for_backward(U, s.h, s.low, s.rzn, rest if reset_after else s.rh)
        ctx.reset_after, ctx.tf32 = reset_after, tf32
        return s.low[1:].permute(1, 2, 0, 3)

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, doutputs: Tensor) -> Any:
        U, h, low, rzn, saved = ctx.saved_tensors
        T, R, B, G = rzn.shape
        D, reset_after, tf32, tile = G // 3, ctx.reset_after, ctx.tf32, tile_options(U)
        doutputs = doutputs.contiguous()
        UT = U.mT.contiguous()
        dx = U.new_empty(R, B, T, G)
        du = U.new_empty(T, R, B, G) if reset_after else None
        carry = empty_float(U, R, B, D).zero_()
        wide = WIDE if reset_after else TILE
        parts = empty_float(U, 2, R, B, D)
        for t in range(T - 1, -1, -1):
            dx_t = dx[:, :, t]
            step_kernels._blend_backward[R * B, triton.cdiv(D, 256)](
                parts, 0 if t == T - 1 else len(parts), doutputs[:, :, t], T * D, carry, rzn[t],
                h[t], saved[t] if reset_after else None, dx_t, T * G, None if du is None else du[t],
                R * B, D, reset_after, 256,
            )  # fmt: skip
            if not reset_after:
                step_kernels._reset_backward[grid(B, D, 2 * R)](
                    dx_t, T * G, UT, rzn[t], h[t], carry, parts, B, D, tf32, **tile
                )
            step_kernels._old_state_parts[grid(B, D, 2 * R if reset_after else R, wide)](
                dx_t if du is None else du[t], T * G if du is None else G, UT, None, None, parts, B,
                0 if reset_after else 1, D, G if reset_after else D,
                triton.cdiv(G, 2) if reset_after else D, 0, 2 if reset_after else 1, tf32,
                **tile_options(U, wide),
            )  # fmt: skip
        dh = carry + parts.sum(dim=0)
        old_states = low[:-1]
        dU = [
            reset_before_gradient(dx[r], old_states[:, r], saved[:, r])
            if du is None
            else product(du[:, r].reshape(-1, G).T, old_states[:, r].reshape(-1, D))
            for r in range(R)
        ]
        return None, dx, dh, torch.stack(dU), None


def gru_before_scan(x: Tensor, h: Tensor, *, W: Tensor, U: Tensor, b: Tensor | None) -> Tensor:
    """`reference.gru_before_scan`"""
    projected = linear(x, W, bias=b)
    visible = torch.ones(1, *x.shape[:2], dtype=torch.bool, device=x.device)
    with autocast_disabled(x):
        states = GruScan.apply(False, projected[None], h[None], U[None], visible)
    return states[0]


def bidirectional_gru_before_scan(
    x: Tensor, h: Tensor, *, mask: Tensor, forward: CellWeights, backward: CellWeights
) -> tuple[Tensor, Tensor]:
    """`reference.bidirectional_gru_before_scan`"""
    return _bidirectional(False, x, h, mask, (forward, backward))


def bidirectional_gru_after_scan(
    x: Tensor, h: Tensor, *, mask: Tensor, forward: CellWeights, backward: CellWeights
) -> tuple[Tensor, Tensor]:
    """`reference.bidirectional_gru_after_scan`"""
    return _bidirectional(True, x, h, mask, (forward, backward))


def _bidirectional(
    reset_after: bool,
    x: Tensor,
    h: Tensor,
    mask: Tensor,
    directions: tuple[CellWeights, CellWeights],
) -> tuple[Tensor, Tensor]:
    """Scan both directions in parallel; the second has each line reversed."""
    forward, backward = directions
    forward_x = linear(x, forward.W, bias=forward.b)
    backward_x = linear(x, backward.W, bias=backward.b).flip(1)
    pairs = [forward_x, backward_x], [h, h], [forward.U, backward.U], [mask, mask.flip(1)]
    with autocast_disabled(x):
        states = GruScan.apply(reset_after, *map(torch.stack, pairs))
    output = torch.cat([states[0], states[1].flip(1)], dim=-1)
    last_states = torch.cat([states[0, :, -1], states[1, :, -1]], dim=-1)
    return output.masked_fill(~mask[..., None], 0.0), last_states
