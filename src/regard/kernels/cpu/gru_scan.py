"""Scans of the GRU that resets before its product, with a custom backward pass.

One direction, or two in one call; PyTorch's own GRU is another cell. As in the recurrences with
attention, a backward step computes only the gradients that the previous step needs.
"""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.kernels.casting import autocast_disabled, cast_for_autocast
from regard.kernels.cpu.cells import ResetBeforeGRUTape, transpose_contiguous
from regard.kernels.types import CellWeights


def gru_before_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """`reference.gru_before_scan`; saves B·T·(G + 2·D) numbers."""
    projected, h, U = cast_for_autocast(functional.linear(x, W, b), h, U)
    with autocast_disabled(x):
        return _Scan.apply(None, projected, h, U)


def bidirectional_gru_before_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    mask: Bool[Tensor, "B T"],
    forward: CellWeights,
    backward: CellWeights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`reference.bidirectional_gru_before_scan`: one input product, no line reversed."""
    W = torch.cat([forward.W, backward.W])
    b = None if forward.b is None or backward.b is None else torch.cat([forward.b, backward.b])
    projected, h, *U = cast_for_autocast(functional.linear(x, W, b), h, forward.U, backward.U)
    with autocast_disabled(x):
        states = _Scan.apply(mask, projected, h, *U)
    D = h.shape[-1]
    last_states = torch.cat([states[:, -1, :D], states[:, 0, D:]], dim=-1)
    return states.masked_fill(~mask[..., None], 0.0), last_states


class _Scan(torch.autograd.Function):
    """Each U belongs to a direction, forward or backward, and to its columns in x and states."""

    @staticmethod
    def forward(ctx: Any, mask: Tensor | None, x: Tensor, h: Tensor, *U: Tensor) -> Tensor:
        states = x.new_empty(*x.shape[:2], len(U) * h.shape[1])
        columns, saved_states = torch.empty_like(x), []
        parts = _split_directions(len(U), x, states, columns)
        for direction, (x_d, states_d, columns_d) in enumerate(parts):
            tape = ResetBeforeGRUTape(columns_d, U[direction], 0)
            tape.begin_forward()
            if mask is not None:
                tape.padding_mask = (~mask)[..., None].unbind(dim=1)
            (product,) = tape.products()
            matrix, columns_t = transpose_contiguous(product.matrix), product.columns.unbind(dim=1)
            xs, new = x_d.unbind(dim=1), states_d.unbind(dim=1)
            state = h
            for t in _time_steps(direction, len(xs)):
                torch.mm(state, matrix, out=columns_t[t])
                tape.step_forward(t, xs[t], state, None, new[t])
                state = new[t]
            saved_states.append(tape.saved_states)
        ctx.save_for_backward(h, states, columns, *saved_states, *U)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        with autocast_disabled(dstates):
            return _scan_backward(ctx, dstates)


def _scan_backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
    h, states, columns, *rest = ctx.saved_tensors
    saved_states, U = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    dcolumns = torch.empty_like(columns)
    parts = _split_directions(len(U), states, columns, dstates, dcolumns)
    dh_sum, dU = torch.zeros_like(h), []
    for direction, (states_d, columns_d, dstates_d, dcolumns_d) in enumerate(parts):
        tape = ResetBeforeGRUTape(columns_d, U[direction], 0, saved_states[direction])
        grad = ResetBeforeGRUTape(dcolumns_d, U[direction], 0)
        # the state before each step: to its left, or to its right
        shifted = [states_d[:, 1:], h[:, None]] if direction else [h[:, None], states_d[:, :-1]]
        old_states = torch.cat(shifted, dim=1)
        tape.begin_backward(grad, old_states, None)
        (product,) = grad.products()
        dproducts, dstate = product.columns.unbind(dim=1), dstates_d.unbind(dim=1)
        dh = torch.zeros_like(h)
        for t in reversed(_time_steps(direction, len(dstate))):
            dh.add_(dstate[t])
            tape.step_backward(t, dh, None)
            dh.addmm_(dproducts[t], product.matrix)
        dh_sum.add_(dh)
        dU.append(tape.weight_gradient(grad, old_states.flatten(0, 1)))
    return None, dcolumns, dh_sum, *dU


def _time_steps(direction: int, num_steps: int) -> range:
    return range(num_steps)[:: -1 if direction else 1]


def _split_directions(num_directions: int, *tensors: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return the parts of each direction, side by side in the last axis."""
    return zip(*(tensor.chunk(num_directions, dim=-1) for tensor in tensors), strict=True)
