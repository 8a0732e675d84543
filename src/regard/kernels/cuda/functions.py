"""Recurrences on a GPU, forward and backward, out of Triton kernels."""

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels import reference
from regard.kernels.by_hand_casting import as_it_is
from regard.kernels.choose import CHOICES
from regard.kernels.cuda import additive
from regard.kernels.cuda import recurrence as kernel
from regard.kernels.cuda.arithmetic import product

linear = CHOICES["linear"].run

TILE = {"BM": 64, "BN": 32, "num_warps": 4, "num_stages": 4}
# where enough programs are left to fill the device
WIDE = {"BM": 64, "BN": 64, "num_warps": 8, "num_stages": 3}


def _tf32() -> bool:
    return torch.get_float32_matmul_precision() != "highest"


def _rough(x: Tensor) -> bool:
    return x.dtype == torch.bfloat16 or _tf32()


def _tile(x: Tensor, tile: dict[str, int] = TILE) -> dict[str, int]:
    return tile | {"BK": 128 if x.dtype == torch.bfloat16 else 64}


def _grid(B: int, N: int, readers: int = 1, tile: dict[str, int] = TILE) -> tuple[int, int, int]:
    return triton.cdiv(B, tile["BM"]), triton.cdiv(N, tile["BN"]), readers


def _block(size: int, most: int = 1 << 30) -> int:
    return min(most, triton.next_power_of_2(size))


def _into(out: Tensor, a: Tensor, b: Tensor) -> None:
    """A product whose sums stay in float32."""
    if a.dtype == torch.float32:
        torch.mm(a, b, out=out)
    else:
        torch.mm(a, b, out_dtype=torch.float32, out=out)


def _float(like: Tensor, *shape: int) -> Tensor:
    return torch.empty(shape, device=like.device, dtype=torch.float32)


class _States:
    """What a scan of `gru_before` or a recurrence with attention keeps for the way back."""

    def __init__(self, x: Tensor, h: Tensor, D: int) -> None:
        R, B, T, _ = x.shape
        self.h = _float(x, T + 1, R, B, D)
        self.low = self.h
        if x.dtype != torch.float32:
            self.low = x.new_empty(T + 1, R, B, D)
            self.low[0] = h
        self.h[0] = h
        self.rzn = _float(x, T, R, B, 3 * D)
        self.rh = x.new_empty(T, R, B, D)


class GruScan(torch.autograd.Function):
    """Every state of R readers side by side: x [R,B,T,3D] (W x + b), h [R,B,D], U [R,3D,D].

    What the mask [R,B,T] hides does not move a state. One kernel a step where the reset comes after
    the product, otherwise two, since a product waits for the reset.
    """

    @staticmethod
    @override
    def forward(ctx: Any, after: bool, x: Tensor, h: Tensor, U: Tensor, mask: Tensor) -> Tensor:
        x, U, mask = x.contiguous(), U.to(x.dtype).contiguous(), mask.contiguous()
        R, B, T, G = x.shape
        D = G // 3
        s = _States(x, h, D)
        rest = _float(x, T if after else 0, R, B, D)
        tf32, tile = _tf32(), _tile(x)
        for t in range(T):
            here = x[:, :, t]
            if after:
                kernel._renew[_grid(B, D, R)](
                    s.low[t], s.h[t], U, here, T * G, mask[:, :, t], T, s.rzn[t], rest[t],
                    s.h[t + 1], s.low[t + 1], B, D, tf32, **tile,
                )  # fmt: skip
                continue
            kernel._gates[_grid(B, 2 * D, R)](
                s.low[t], s.h[t], U, here, T * G, mask[:, :, t], T, s.rzn[t], s.rh[t], B, D, tf32,
                **tile,
            )  # fmt: skip
            kernel._blend[_grid(B, D, R)](
                s.rh[t], U, here[..., 2 * D :], T * G, s.h[t], s.rzn[t], s.h[t + 1], s.low[t + 1],
                B, D, tf32, **tile,
            )  # fmt: skip
        ctx.save_for_backward(U, s.h, s.low, s.rzn, rest if after else s.rh)
        ctx.after, ctx.tf32 = after, tf32
        return s.low[1:].permute(1, 2, 0, 3)

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, dshown: Tensor) -> Any:
        U, h, low, rzn, kept = ctx.saved_tensors
        T, R, B, G = rzn.shape
        D, after, tf32, tile = G // 3, ctx.after, ctx.tf32, _tile(U)
        dshown = dshown.contiguous()
        UT = U.mT.contiguous()
        dx = U.new_empty(R, B, T, G)
        du = U.new_empty(T, R, B, G) if after else None
        carried = _float(U, R, B, D).zero_()
        wide = WIDE if after else TILE
        parts = _float(U, 2, R, B, D)
        for t in range(T - 1, -1, -1):
            here = dx[:, :, t]
            kernel._blend_back[R * B, triton.cdiv(D, 256)](
                parts, 0 if t == T - 1 else len(parts), dshown[:, :, t], T * D, carried, rzn[t],
                h[t], kept[t] if after else None, here, T * G, None if du is None else du[t],
                R * B, D, after, 256,
            )  # fmt: skip
            if not after:
                kernel._reset_back[_grid(B, D, 2 * R)](
                    here, T * G, UT, rzn[t], h[t], carried, parts, B, D, tf32, **tile
                )
            kernel._parts[_grid(B, D, 2 * R if after else R, wide)](
                here if du is None else du[t], T * G if du is None else G, UT, None, None, parts, B,
                0 if after else 1, D, G if after else D, triton.cdiv(G, 2) if after else D, 0,
                2 if after else 1, tf32, **_tile(U, wide),
            )  # fmt: skip
        dh = carried + parts.sum(dim=0)
        old = low[:-1]
        dU = [
            _before_gradient(dx[r], old[:, r], kept[:, r])
            if du is None
            else product(du[:, r].reshape(-1, G).T, old[:, r].reshape(-1, D))
            for r in range(R)
        ]
        return None, dx, dh, torch.stack(dU), None


class LookThenMove(torch.autograd.Function):
    """`reference.look_then_move` with a GRU and additive asking."""

    @staticmethod
    @override
    def forward(
        ctx: Any, after: bool, x: Tensor, found: Tensor, keys: Tensor, mask: Tensor, h: Tensor,
        W: Tensor, v: Tensor, U: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        x, found, keys = (y.to(x.dtype).contiguous() for y in (x, found, keys))
        mask = mask.contiguous()
        B, T, G = x.shape
        S, A, D = keys.shape[1], keys.shape[2], G // 3
        U = U.to(x.dtype)
        asks = G if after else 2 * D  # how much of U h is known before attention
        UW = torch.cat([U[:asks], W.to(x.dtype)])
        U = U.contiguous()
        s = _States(x[None], h[None], D)
        lengths = additive.ends(mask)
        weights = _float(x, B, T, S).zero_()
        products = _float(x, T, B, asks + A)
        rest = _float(x, T if after else 1, B, D)
        tf32, tile, rough = _tf32(), _tile(x), _rough(x)
        for t in range(T):
            product, kept = products[t], rest[t if after else 0]
            _into(product, s.low[t, 0], UW.T)
            kernel._look[B,](
                product[:, asks:], asks + A, keys, v, mask, lengths, weights[:, t], T * S, S, A,
                rough, _block(S), _block(S, 64), 128, num_warps=8,
            )  # fmt: skip
            kernel._pool[B, triton.cdiv(D, 64)](
                weights[:, t], T * S, found, product, asks + A, x[:, t], T * G, s.h[t], s.rzn[t],
                kept, s.rh[t], s.h[t + 1], s.low[t + 1], S, D, after, _block(S, 16), 64,
                num_warps=1,
            )  # fmt: skip
            if not after:
                kernel._blend[_grid(B, D)](
                    s.rh[t], U, kept, D, s.h[t], s.rzn[t], s.h[t + 1], s.low[t + 1], B, D, tf32,
                    **tile,
                )  # fmt: skip
        ctx.save_for_backward(
            U, W, v, found, keys, lengths, s.h, s.low, s.rzn, s.rh, rest, products, weights
        )
        ctx.after, ctx.tf32 = after, tf32
        # the last state by itself, so that a gradient may come in through it alone
        return s.low[1:, 0].transpose(0, 1), weights.to(x.dtype), s.low[T, 0].clone()

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, dshown: Tensor, dweights: Tensor, dlast: Tensor) -> Any:
        (U, W, v, found, keys, lengths, h, low, rzn, rh, rest, products, weights) = (
            ctx.saved_tensors
        )
        after, tf32, tile = ctx.after, ctx.tf32, _tile(U)
        rough = _rough(U)
        T, _, B, G = rzn.shape
        S, A, D = keys.shape[1], keys.shape[2], G // 3
        asks = G if after else 2 * D
        dshown, dweights = dshown.contiguous(), dweights.contiguous()
        UT, WT = U.T.contiguous(), W.to(U.dtype).T.contiguous()
        dx = U.new_empty(B, T, G)
        du = U.new_empty(T, B, G) if after else None
        dq = U.new_empty(T, B, A)
        de = _float(U, B, T, S).zero_()
        dalpha = _float(U, B, S)
        carried = dlast.float().contiguous()
        wide = WIDE if after else TILE
        parts = _float(U, 4 if after else 3, B, D)
        for t in range(T - 1, -1, -1):
            here = dx[:, t]
            kernel._blend_back[B, triton.cdiv(D, 256)](
                parts, 0 if t == T - 1 else len(parts), dshown[:, t], T * D, carried, rzn[t], h[t],
                rest[t if after else 0], here, T * G, None if du is None else du[t], B, D, after,
                256,
            )  # fmt: skip
            if not after:
                kernel._reset_back[_grid(B, D, 2)](
                    here, T * G, UT, rzn[t], h[t], carried, parts, B, D, tf32, **tile
                )
            kernel._weights_back[B, triton.cdiv(S, 4)](
                here, T * G, found, dweights[:, t], T * S, lengths, dalpha, S, G, 4,
                _block(G, 512), num_warps=1,
            )  # fmt: skip
            kernel._query_back[B, triton.cdiv(A, 32)](
                dalpha, weights[:, t], T * S, products[t][:, asks:], asks + A, keys, v, de[:, t],
                dq[t], S, A, rough, _block(S), _block(S, 32), 32, num_warps=1,
            )  # fmt: skip
            kernel._parts[_grid(B, D, 4 if after else 2, wide)](
                here if du is None else du[t], T * G if du is None else G, UT, dq[t], WT, parts, B,
                0 if after else 1, D, G if after else D, D, A, 4 if after else 2, tf32,
                **_tile(U, wide),
            )  # fmt: skip
        dh = carried + parts.sum(dim=0)
        old = low[:-1, 0].reshape(T * B, D)
        dU = (
            _before_gradient(dx, low[:-1, 0], rh[:, 0])
            if du is None
            else product(du.reshape(-1, G).T, old)
        )
        dW = product(dq.reshape(T * B, A).T, old)
        dfound = torch.bmm(weights.mT.to(dx.dtype), dx)
        prepared = additive.Prepared(products[..., asks:].transpose(0, 1), keys, v, lengths)
        dkeys, dv = additive.keys_back(prepared, de)
        return None, dx, dfound, dkeys, None, dh, dW, dv, dU


def _before_gradient(dx: Tensor, old: Tensor, rh: Tensor) -> Tensor:
    """dU [3D,D] of a GRU that resets before the product, of dx [B,T,3D] and old and rh [T,B,D]."""
    D = old.shape[-1]
    grads = dx.transpose(0, 1).reshape(-1, 3 * D)
    reset = product(grads[:, 2 * D :].T, rh.reshape(-1, D))
    return torch.cat([product(grads[:, : 2 * D].T, old.reshape(-1, D)), reset])


def gru_before_scan(x: Tensor, h: Tensor, W: Tensor, U: Tensor, b: Tensor | None) -> Tensor:
    """`reference.scan` of `gru_before_step`"""
    projected = linear(x, W, b)
    everywhere = torch.ones(1, *x.shape[:2], dtype=torch.bool, device=x.device)
    with as_it_is(x):
        states = GruScan.apply(False, projected[None], h[None], U[None], everywhere)
    return states[0]


def gru_before_both(
    x: Tensor, h: Tensor, mask: Tensor, right: reference.Weights, left: reference.Weights
) -> tuple[Tensor, Tensor]:
    """`reference.gru_before_both`"""
    return _both(False, x, h, mask, right, left)


def gru_after_both(
    x: Tensor, h: Tensor, mask: Tensor, right: reference.Weights, left: reference.Weights
) -> tuple[Tensor, Tensor]:
    """`reference.gru_after_both`"""
    return _both(True, x, h, mask, right, left)


def _both(
    after: bool,
    x: Tensor,
    h: Tensor,
    mask: Tensor,
    right: reference.Weights,
    left: reference.Weights,
) -> tuple[Tensor, Tensor]:
    """Let the second reader have the line turned round."""
    ahead = linear(x, right.W, right.b)
    back = linear(x, left.W, left.b).flip(1)
    sides = [ahead, back], [h, h], [right.U, left.U], [mask, mask.flip(1)]
    with as_it_is(x):
        states = GruScan.apply(after, *map(torch.stack, sides))
    shown = torch.cat([states[0], states[1].flip(1)], dim=-1)
    last = torch.cat([states[0, :, -1], states[1, :, -1]], dim=-1)
    return shown.masked_fill(~mask[..., None], 0.0), last


def look_then_move(
    cell: reference.CellName,
    x: Tensor,
    found: Tensor,
    keys: Tensor,
    mask: Tensor,
    h: Tensor,
    c: Tensor | None,
    asking: reference.Asking,
    U: Tensor,
) -> reference.Looked:
    """`reference.look_then_move` with a GRU and additive asking."""
    given = x, found, keys, mask, h, asking.W, asking.v, U
    with as_it_is(x):
        shown, weights, last = LookThenMove.apply(cell == "gru_after", *given)
    return reference.Looked(shown, weights, last, c)
