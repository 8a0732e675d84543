"""Additive attention for many queries on a GPU: [B,T,S,A] is computed, but never stored.

From e^2q and e^2k, tanh(q + k) = 1 − 2r with r = 1 / (1 + e^2q · e^2k): one reciprocal for each of
the B·T·S·A numbers, which takes most of the time. If a number is so large that its power would
overflow float32, r is computed from q + k instead.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from typing_extensions import override

from regard.kernels.casting import autocast_disabled, cast_for_autocast
from regard.kernels.triton.arithmetic import reciprocal

# e^±2·20 and their product are finite and not zero in float32
LARGEST = tl.constexpr(20.0)


@triton.jit
def _scores_loop(
    q, k, e_q, e_k, v, t, s, T, S, A, SAFE: tl.constexpr, BT: tl.constexpr, BS: tl.constexpr
):
    total = tl.zeros([BT, BS], tl.float32)
    for a in range(A):
        if SAFE:
            left = tl.load(e_q + a * T + t, mask=t < T, other=0.0)
            right = tl.load(e_k + a * S + s, mask=s < S, other=0.0)
            r = reciprocal(1 + left[:, None] * right)
        else:
            left = tl.load(q + a * T + t, mask=t < T, other=0.0)
            right = tl.load(k + a * S + s, mask=s < S, other=0.0)
            r = reciprocal(1 + tl.exp(2 * (left[:, None] + right)))
        total += tl.load(v + a) * r
    return total


@triton.jit
def _scores(
    q, k, e_q, e_k, v, largest, scores, lengths, T, S, A, BT: tl.constexpr, BS: tl.constexpr
):
    """scores[t,s] = Σ_a v[a] (1 − 2 r[t,s,a]) of a tile; q is [B,A,T] and k is [B,A,S]."""
    b = tl.program_id(2)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    s = tl.program_id(1) * BS + tl.arange(0, BS)
    if tl.program_id(1) * BS >= tl.load(lengths + b):
        return
    q, e_q = q + b * A * T, e_q + b * A * T
    k, e_k = k + b * A * S, e_k + b * A * S
    if tl.load(largest) <= LARGEST:
        total = _scores_loop(q, k, e_q, e_k, v, t, s, T, S, A, True, BT, BS)
    else:
        total = _scores_loop(q, k, e_q, e_k, v, t, s, T, S, A, False, BT, BS)
    v_sum = tl.load(v + A)  # v is followed by Σ_a v[a]
    inside = (t[:, None] < T) & (s < S)
    tl.store(scores + (b * T + t[:, None]) * S + s, v_sum - 2 * total, mask=inside)


@triton.jit
def _backward_loop(
    q, k, e_q, e_k, de, de_row_stride, de_col_stride, t, a, t_in, a_in, num_keys, A,
    SAFE: tl.constexpr, BT: tl.constexpr, BA: tl.constexpr,
):  # fmt: skip
    at = t[:, None] * A + a
    inside = t_in[:, None] & a_in
    row_operand = tl.load((e_q if SAFE else q) + at, mask=inside, other=0.0)
    slope = tl.zeros([BT, BA], tl.float32)
    dv_partial = tl.zeros([BT, BA], tl.float32)
    for s in range(num_keys):
        other = tl.load((e_k if SAFE else k) + s * A + a, mask=a_in, other=0.0)
        grad = tl.load(de + s * de_col_stride + t * de_row_stride, mask=t_in, other=0.0)[:, None]
        r = reciprocal(1 + (row_operand * other if SAFE else tl.exp(2 * (row_operand + other))))
        part = grad * r
        dv_partial += grad - 2 * part
        slope += part - part * r
    return slope, dv_partial


@triton.jit
def _backward(
    q, k, e_q, e_k, v, de, de_row_stride, de_col_stride, largest, lengths, dq, dv, T, S, A,
    RAGGED: tl.constexpr, BT: tl.constexpr, BA: tl.constexpr,
):  # fmt: skip
    """dq[t,a] = 4 v[a] Σ_s de[t,s] (r − r²), and dv = Σ_ts de (1 − 2r); de by its strides.

    RAGGED: the keys end at `lengths`; otherwise the rows themselves do, and all keys count.
    """
    b = tl.program_id(2)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    a = tl.program_id(1) * BA + tl.arange(0, BA)
    length = tl.load(lengths + b)
    num_keys = length if RAGGED else S
    rows = T if RAGGED else length
    t_in, a_in = t < rows, a < A
    q, e_q = q + b * T * A, e_q + b * T * A
    k, e_k = k + b * S * A, e_k + b * S * A
    de = de + b * S * T
    if tl.load(largest) <= LARGEST:
        slope, dv_partial = _backward_loop(
            q,
            k,
            e_q,
            e_k,
            de,
            de_row_stride,
            de_col_stride,
            t,
            a,
            t_in,
            a_in,
            num_keys,
            A,
            True,
            BT,
            BA,
        )
    else:
        slope, dv_partial = _backward_loop(
            q,
            k,
            e_q,
            e_k,
            de,
            de_row_stride,
            de_col_stride,
            t,
            a,
            t_in,
            a_in,
            num_keys,
            A,
            False,
            BT,
            BA,
        )
    grad = 4 * tl.load(v + a, mask=a_in, other=0.0) * slope
    tl.store(dq + (b * T + t[:, None]) * A + a, grad, mask=(t[:, None] < T) & a_in)
    part = b * tl.num_programs(0) + tl.program_id(0)
    tl.store(dv + part * A + a, tl.sum(dv_partial, 0), mask=a_in)


@triton.jit
def _softmax(scores, mask, T, S, BLOCK: tl.constexpr):
    """A row's weights in place of its scores; 0 where hidden, and if all is hidden."""
    row = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    is_visible = tl.load(mask + row // T * S + s, mask=s < S, other=0) != 0
    e = tl.load(scores + row * S + s, mask=is_visible, other=-float("inf"))
    parts = tl.where(is_visible, tl.exp(e - tl.max(e, 0)), 0.0)
    total = tl.sum(parts, 0)
    tl.store(scores + row * S + s, parts * tl.where(total > 0, 1 / total, 0.0), mask=s < S)


@triton.jit
def _softmax_backward(dweights, weights, S, BLOCK: tl.constexpr):
    """α∘(dα − α·dα) in place of dα."""
    row = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    alpha = tl.load(weights + row * S + s, mask=s < S, other=0.0).to(tl.float32)
    grad = tl.load(dweights + row * S + s, mask=s < S, other=0.0)
    tl.store(dweights + row * S + s, alpha * (grad - tl.sum(alpha * grad, 0)), mask=s < S)


def softmax_(scores: Tensor, mask: Tensor) -> None:
    """Turn scores [B,T,S] into weights, in place."""
    B, T, S = scores.shape
    _softmax[B * T,](scores, mask, T, S, triton.next_power_of_2(S))


def softmax_backward_(dweights: Tensor, weights: Tensor) -> None:
    """Turn the gradient of weights [B,T,S] into that of the scores, in place."""
    B, T, S = weights.shape
    _softmax_backward[B * T,](dweights, weights, S, triton.next_power_of_2(S))


def _powers(x: Tensor) -> Tensor:
    return torch.exp(2 * x)


class Operands:
    """Queries and keys in float32, and their powers e^2x."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> None:
        self.q, self.k, self.v = q.float().contiguous(), k.float().contiguous(), v.float()
        self.lengths = lengths
        self.largest = torch.maximum(self.q.abs().amax(), self.k.abs().amax())
        self.e_q, self.e_k = _powers(self.q), _powers(self.k)


def visible_ends(mask: Tensor) -> Tensor:
    """Return the end of each line: one after its last visible position."""
    return ((torch.arange(mask.shape[1], device=mask.device) + 1) * mask).amax(dim=1).int()


def scores(p: Operands) -> Tensor:
    """Σ_a v[a] tanh(q[t,a] + k[s,a]); nothing is written beyond a row's length."""
    B, T, A = p.q.shape
    S = p.k.shape[1]
    out = torch.empty(B, T, S, device=p.q.device)
    transposed = [x.mT.contiguous() for x in (p.q, p.k, p.e_q, p.e_k)]
    v = torch.cat([p.v, p.v.sum()[None]])
    BT, BS = 64, 64
    grid = triton.cdiv(T, BT), triton.cdiv(S, BS), B
    _scores[grid](*transposed, v, p.largest, out, p.lengths, T, S, A, BT, BS, num_warps=4)
    return out


def keys_gradient(p: Operands, de: Tensor) -> tuple[Tensor, Tensor]:
    """dk and dv from de, the gradient of the scores."""
    dk, partial = _run_backward(p.k, p.q, p.e_k, p.e_q, p, de.mT, ragged=False)
    return dk, partial.sum(dim=0)


def queries_gradient(p: Operands, de: Tensor) -> Tensor:
    """dq from de, the gradient of the scores."""
    return _run_backward(p.q, p.k, p.e_q, p.e_k, p, de, ragged=True)[0]


def _run_backward(
    row_operand: Tensor, column_operand: Tensor, e_row_operand: Tensor, e_column_operand: Tensor,
    p: Operands, de: Tensor, *, ragged: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    B, T, A = row_operand.shape
    BT, BA = 32, 64
    grid = triton.cdiv(T, BT), triton.cdiv(A, BA), B
    grad = torch.empty(B, T, A, device=de.device)
    partial = torch.empty(B * grid[0], A, device=de.device)
    _backward[grid](
        row_operand, column_operand, e_row_operand, e_column_operand, p.v, de, de.stride(1),
        de.stride(2), p.largest, p.lengths, grad, partial, T, column_operand.shape[1], A, ragged,
        BT, BA, num_warps=4,
    )  # fmt: skip
    return grad, partial


class AdditiveAttention(torch.autograd.Function):
    """`reference.additive_attention`; of all its intermediates only [B,T,S] is ever stored."""

    @staticmethod
    @override
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        lengths = visible_ends(mask)
        operands = Operands(q, k, v, lengths)
        weights = scores(operands)
        softmax_(weights, mask)
        weights = weights.to(values.dtype)
        ctx.save_for_backward(q, k, v, values, lengths, weights)
        return weights @ values, weights

    @staticmethod
    @override
    @once_differentiable
    def backward(ctx: Any, dcontext: Tensor, dweights: Tensor) -> Any:
        q, k, v, values, lengths, weights = ctx.saved_tensors
        dvalues = weights.mT @ dcontext
        de = (dcontext @ values.mT).float().add_(dweights)
        softmax_backward_(de, weights)
        operands = Operands(q, k, v, lengths)
        dk, dv = keys_gradient(operands, de)
        return queries_gradient(operands, de), dk, dv, dvalues, None


def additive_attention(
    query: Tensor, keys: Tensor, values: Tensor, *, v: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """`reference.additive_attention`"""
    tensors = cast_for_autocast(query, keys, v, values)
    with autocast_disabled(query):
        context, weights = AdditiveAttention.apply(*tensors, mask.contiguous())
    return context, weights
