"""The GRU that resets before its product, along a line, with its backward pass written by hand.

One direction, or two in one call; the library's GRU is not this cell. As in the attentional
recurrences, a step back computes only what reaches the step before.
"""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.kernels.by_hand_casting import alike, as_it_is
from regard.kernels.by_hand_cells import GRUBefore, turned
from regard.kernels.reference import Weights


def gru_before_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """`reference.scan` of `gru_before_step`; keeps B·T·(G + 2·D) numbers."""
    projected, h, U = alike(functional.linear(x, W, b), h, U)
    with as_it_is(x):
        return _Scan.apply(None, projected, h, U)


def gru_before_both(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    right: Weights,
    left: Weights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`reference.gru_before_both`: both directions' inputs in one product, no line turned round."""
    W = torch.cat([right.W, left.W])
    b = None if right.b is None or left.b is None else torch.cat([right.b, left.b])
    projected, h, *U = alike(functional.linear(x, W, b), h, right.U, left.U)
    with as_it_is(x):
        states = _Scan.apply(mask, projected, h, *U)
    D = h.shape[-1]
    last = torch.cat([states[:, -1, :D], states[:, 0, D:]], dim=-1)
    return states.masked_fill(~mask[..., None], 0.0), last


class _Scan(torch.autograd.Function):
    """Each of U belongs to a direction, right and then left, with its columns in x and states."""

    @staticmethod
    def forward(ctx: Any, mask: Tensor | None, x: Tensor, h: Tensor, *U: Tensor) -> Tensor:
        states = x.new_empty(*x.shape[:2], len(U) * h.shape[1])
        columns, kept = torch.empty_like(x), []
        parts = _directions(len(U), x, states, columns)
        for direction, (x_d, states_d, columns_d) in enumerate(parts):
            tape = GRUBefore(columns_d, U[direction], 0)
            tape.begin()
            if mask is not None:
                tape.held = (~mask)[..., None].unbind(dim=1)
            (product,) = tape.products()
            matrix, columns_t = turned(product.matrix), product.columns.unbind(dim=1)
            xs, new = x_d.unbind(dim=1), states_d.unbind(dim=1)
            state = h
            for t in _order(direction, len(xs)):
                torch.mm(state, matrix, out=columns_t[t])
                tape.move(t, xs[t], state, None, new[t])
                state = new[t]
            kept.append(tape.kept)
        ctx.save_for_backward(h, states, columns, *kept, *U)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        with as_it_is(dstates):
            return _scan_back(ctx, dstates)


def _scan_back(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
    h, states, columns, *rest = ctx.saved_tensors
    kept, U = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    dcolumns = torch.empty_like(columns)
    parts = _directions(len(U), states, columns, dstates, dcolumns)
    dh_sum, dU = torch.zeros_like(h), []
    for direction, (states_d, columns_d, dstates_d, dcolumns_d) in enumerate(parts):
        tape = GRUBefore(columns_d, U[direction], 0, kept[direction])
        grad = GRUBefore(dcolumns_d, U[direction], 0)
        # what stood before each step: the state to its left, or to its right
        around = [states_d[:, 1:], h[:, None]] if direction else [h[:, None], states_d[:, :-1]]
        before = torch.cat(around, dim=1)
        tape.begin_back(grad, before, None)
        (product,) = grad.products()
        dold, given = product.columns.unbind(dim=1), dstates_d.unbind(dim=1)
        dh = torch.zeros_like(h)
        for t in reversed(_order(direction, len(given))):
            dh.add_(given[t])
            tape.back(t, dh, None)
            dh.addmm_(dold[t], product.matrix)
        dh_sum.add_(dh)
        dU.append(tape.weight_back(grad, before.flatten(0, 1)))
    return None, dcolumns, dh_sum, *dU


def _order(direction: int, number: int) -> range:
    return range(number)[:: -1 if direction else 1]


def _directions(number: int, *tensors: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return the parts of each direction, side by side in the last axis."""
    return zip(*(tensor.chunk(number, dim=-1) for tensor in tensors), strict=True)
