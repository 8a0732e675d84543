"""Bahdanau's recurrence with attention on a GPU, forward and backward."""

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels.casting import autocast_disabled
from regard.kernels.triton import step_kernels
from regard.kernels.triton.additive_attention import Operands, keys_gradient, visible_ends
from regard.kernels.triton.arithmetic import product
from regard.kernels.triton.launch import (
    TILE,
    WIDE,
    StateBuffers,
    approximates_tanh,
    block_size,
    empty_float,
    grid,
    product_into,
    reset_before_gradient,
    tile_options,
    uses_tf32,
)
from regard.kernels.types import CellName, RecurrentAttentionOutput, ScoreParameters


class LookThenMove(torch.autograd.Function):
    """`reference.look_then_move` with a GRU and the additive score."""

    @staticmethod
    @override
    def forward(
        ctx: Any, reset_after: bool, x: Tensor, values: Tensor, keys: Tensor, mask: Tensor,
        h: Tensor, W: Tensor, v: Tensor, U: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        x, values, keys = (y.to(x.dtype).contiguous() for y in (x, values, keys))
        mask = mask.contiguous()
        B, T, G = x.shape
        S, A, D = keys.shape[1], keys.shape[2], G // 3
        U = U.to(x.dtype)
        P = G if reset_after else 2 * D  # the columns of U h that do not wait for attention
        UW = torch.cat([U[:P], W.to(x.dtype)])
        U = U.contiguous()
        s = StateBuffers(x[None], h[None], D)
        lengths = visible_ends(mask)
        weights = empty_float(x, B, T, S).zero_()
        products = empty_float(x, T, B, P + A)
        rest = empty_float(x, T if reset_after else 1, B, D)
        tf32, tile, approximate = uses_tf32(), tile_options(x), approximates_tanh(x)
        for t in range(T):
            product, saved = products[t], rest[t if reset_after else 0]
            product_into(product, s.low[t, 0], UW.T)
            step_kernels._attend[B,](
                product[:, P:], P + A, keys, v, mask, lengths, weights[:, t], T * S, S, A,
                approximate, block_size(S), block_size(S, 64), 128, num_warps=8,
            )  # fmt: skip
            step_kernels._pool[B, triton.cdiv(D, 64)](
                weights[:, t], T * S, values, product, P + A, x[:, t], T * G, s.h[t], s.rzn[t],
                saved, s.rh[t], s.h[t + 1], s.low[t + 1], S, D, reset_after, block_size(S, 16), 64,
                num_warps=1,
            )  # fmt: skip
            if not reset_after:
                step_kernels._blend[grid(B, D)](
                    s.rh[t], U, saved, D, s.h[t], s.rzn[t], s.h[t + 1], s.low[t + 1], B, D, tf32,
                    **tile,
                )  # fmt: skip
        ctx.save_for_backward(
            U, W, v, values, keys, lengths, s.h, s.low, s.rzn, s.rh, rest, products, weights
        )
        ctx.reset_after, ctx.tf32 = reset_after, tf32
        # the last state is an output of its own: a gradient may come in through it alone
        return s.low[1:, 0].transpose(0, 1), weights.to(x.dtype), s.low[T, 0].clone()

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, doutputs: Tensor, dweights: Tensor, dlast: Tensor) -> Any:
        (U, W, v, values, keys, lengths, h, low, rzn, rh, rest, products, weights) = (
            ctx.saved_tensors
        )
        reset_after, tf32, tile = ctx.reset_after, ctx.tf32, tile_options(U)
        approximate = approximates_tanh(U)
        T, _, B, G = rzn.shape
        S, A, D = keys.shape[1], keys.shape[2], G // 3
        P = G if reset_after else 2 * D
        doutputs, dweights = doutputs.contiguous(), dweights.contiguous()
        UT, WT = U.T.contiguous(), W.to(U.dtype).T.contiguous()
        dx = U.new_empty(B, T, G)
        du = U.new_empty(T, B, G) if reset_after else None
        dq = U.new_empty(T, B, A)
        de = empty_float(U, B, T, S).zero_()
        dalpha = empty_float(U, B, S)
        carry = dlast.float().contiguous()
        wide = WIDE if reset_after else TILE
        parts = empty_float(U, 4 if reset_after else 3, B, D)
        for t in range(T - 1, -1, -1):
            dx_t = dx[:, t]
            step_kernels._blend_backward[B, triton.cdiv(D, 256)](
                parts, 0 if t == T - 1 else len(parts), doutputs[:, t], T * D, carry, rzn[t], h[t],
                rest[t if reset_after else 0], dx_t, T * G, None if du is None else du[t], B, D,
                reset_after, 256,
            )  # fmt: skip
            if not reset_after:
                step_kernels._reset_backward[grid(B, D, 2)](
                    dx_t, T * G, UT, rzn[t], h[t], carry, parts, B, D, tf32, **tile
                )
            step_kernels._weights_backward[B, triton.cdiv(S, 4)](
                dx_t, T * G, values, dweights[:, t], T * S, lengths, dalpha, S, G, 4,
                block_size(G, 512), num_warps=1,
            )  # fmt: skip
            step_kernels._query_backward[B, triton.cdiv(A, 32)](
                dalpha, weights[:, t], T * S, products[t][:, P:], P + A, keys, v, de[:, t],
                dq[t], S, A, approximate, block_size(S), block_size(S, 32), 32, num_warps=1,
            )  # fmt: skip
            step_kernels._old_state_parts[grid(B, D, 4 if reset_after else 2, wide)](
                dx_t if du is None else du[t], T * G if du is None else G, UT, dq[t], WT, parts, B,
                0 if reset_after else 1, D, G if reset_after else D, D, A, 4 if reset_after else 2,
                tf32, **tile_options(U, wide),
            )  # fmt: skip
        dh = carry + parts.sum(dim=0)
        old_states = low[:-1, 0].reshape(T * B, D)
        dU = (
            reset_before_gradient(dx, low[:-1, 0], rh[:, 0])
            if du is None
            else product(du.reshape(-1, G).T, old_states)
        )
        dW = product(dq.reshape(T * B, A).T, old_states)
        dvalues = torch.bmm(weights.mT.to(dx.dtype), dx)
        operands = Operands(products[..., P:].transpose(0, 1), keys, v, lengths)
        dkeys, dv = keys_gradient(operands, de)
        return None, dx, dvalues, dkeys, None, dh, dW, dv, dU


def look_then_move(
    x: Tensor,
    *,
    cell: CellName,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    h: Tensor,
    c: Tensor | None,
    score: ScoreParameters,
    U: Tensor,
) -> RecurrentAttentionOutput:
    """`reference.look_then_move` with a GRU and the additive score."""
    tensors = x, values, keys, mask, h, score.W, score.v, U
    with autocast_disabled(x):
        outputs, weights, last_state = LookThenMove.apply(cell == "gru_after", *tensors)
    return RecurrentAttentionOutput(outputs, weights, last_state, c)
