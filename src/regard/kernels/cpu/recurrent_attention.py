"""The recurrences with attention, with custom backward passes, on any device.

Everything that does not depend on the state is outside the loop. A backward step computes only the
gradients that the previous step needs; each matrix gets its gradient in one product at the end.
No tensor has the size [B,T,S,A]. A second derivative is not supported.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.casting import autocast_disabled, cast_for_autocast
from regard.kernels.cpu.cells import TAPES, Product, transpose_contiguous
from regard.kernels.cpu.scoring import make_scorer
from regard.kernels.types import CellName, RecurrentAttentionOutput, ScoreParameters


def look_then_move(
    x: Float[Tensor, "B T G"],
    *,
    cell: CellName,
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S G"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    score: ScoreParameters,
    U: Float[Tensor, "G D"],
) -> RecurrentAttentionOutput:
    """`reference.look_then_move`, with as many multiply-adds, and twice as many backward.

    Saves B·T·(G + A + 2·D + S) numbers.
    """
    tensors = cast_for_autocast(x, values, keys, h, c, *score, U)
    with autocast_disabled(x):
        return RecurrentAttentionOutput(*_LookThenMove.apply(cell, mask, *tensors))


def move_then_look(
    x: Float[Tensor, "B T G"],
    *,
    cell: CellName,
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S O"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    output: Float[Tensor, "B O"],
    score: ScoreParameters,
    U: Float[Tensor, "G D"],
    F: Float[Tensor, "G O"],
    R: Float[Tensor, "O D"],
) -> RecurrentAttentionOutput:
    """`reference.move_then_look`, with as many multiply-adds, and twice as many backward.

    Saves B·T·(G + A + 3·D + 2·O + S) numbers.
    """
    tensors = cast_for_autocast(x, values, keys, h, c, output, *score, U, F, R)
    with autocast_disabled(x):
        return RecurrentAttentionOutput(*_MoveThenLook.apply(cell, mask, *tensors))


class _LookThenMove(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: CellName,
        mask: Tensor,
        x: Tensor,
        values: Tensor,
        keys: Tensor,
        h: Tensor,
        c: Tensor | None,
        W: Tensor | None,
        v: Tensor | None,
        U: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        scorer = make_scorer(keys, mask, ScoreParameters(W, v))
        tape = TAPES[cell](
            TAPES[cell].empty(x, scorer.query_size, U.shape[1]), U, scorer.query_size
        )
        tape.begin_forward()
        products = _forward_products([*_query_products(W, tape.queries), *tape.products()])
        outputs = x.new_empty(*x.shape[:2], U.shape[1])
        weights = x.new_empty(*x.shape[:2], keys.shape[1])
        cell_input = x.new_empty(x.shape[0], 1, x.shape[2])
        queries = tape.queries.unbind(dim=1)
        state, cell_state = h, c
        steps = zip(x[:, :, None].unbind(1), weights.unbind(1), outputs.unbind(1), strict=True)
        for t, (x_t, step_weights, new) in enumerate(steps):
            for matrix, columns in products:
                torch.mm(state, matrix, out=columns[t])
            scorer.weigh(queries[t] if scorer.query_size else state, step_weights)
            torch.baddbmm(x_t, step_weights[:, None], values, out=cell_input)
            cell_state = tape.step_forward(t, cell_input[:, 0], state, cell_state, new)
            state = new
        ctx.cell = cell
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            mask, values, keys, h, c, W, v, U, outputs, weights, tape.tape, tape.saved_states
        )
        return outputs, weights, state.clone(), None if cell_state is None else cell_state.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        with autocast_disabled(ctx.saved_tensors[0]):
            return _look_then_move_backward(ctx, *grads)


def _look_then_move_backward(
    ctx: Any,
    doutputs: Tensor | None,
    dweights: Tensor | None,
    dh: Tensor | None,
    dc: Tensor | None,
) -> tuple[Tensor | None, ...]:
    mask, values, keys, h, c, W, v, U, outputs, weights, columns, saved_states = ctx.saved_tensors
    scorer = make_scorer(keys, mask, ScoreParameters(W, v))
    scorer.begin_backward(values, weights, dweights)
    tape = TAPES[ctx.cell](columns, U, scorer.query_size, saved_states)
    grad = TAPES[ctx.cell](torch.empty_like(columns), U, scorer.query_size)
    old_states = torch.cat([h[:, None], outputs[:, :-1]], dim=1)
    tape.begin_backward(grad, old_states, c)
    products = _backward_products([*_query_products(W, grad.queries), *grad.products()])
    dx, dqueries = grad.gates.unbind(dim=1), grad.queries.unbind(dim=1)
    queries = (tape.queries if scorer.query_size else old_states).unbind(dim=1)
    doutput = None if doutputs is None else doutputs.unbind(dim=1)
    dh, dc = _accumulator(dh, h), None if c is None else _accumulator(dc, c)
    for t in reversed(range(len(dx))):
        if doutput is not None:
            dh.add_(doutput[t])
        tape.step_backward(t, dh, dc)
        scorer.step_backward(t, dx[t], queries[t], dqueries[t] if scorer.query_size else dh)
        for matrix, columns in products:
            dh.addmm_(columns[t], matrix)
    rows = old_states.flatten(0, 1)
    dW = None if W is None else grad.queries.flatten(0, 1).T @ rows
    dvalues, dkeys = weights.mT @ grad.gates, scorer.keys_gradient(old_states)
    return (
        None,
        None,
        grad.gates,
        dvalues,
        dkeys,
        dh,
        dc,
        dW,
        scorer.dv,
        tape.weight_gradient(grad, rows),
    )


class _MoveThenLook(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: CellName,
        mask: Tensor,
        x: Tensor,
        values: Tensor,
        keys: Tensor,
        h: Tensor,
        c: Tensor | None,
        previous_output: Tensor,
        W: Tensor | None,
        v: Tensor | None,
        U: Tensor,
        F: Tensor,
        R: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        scorer = make_scorer(keys, mask, ScoreParameters(W, v))
        tape = TAPES[cell](TAPES[cell].empty(x, 0, U.shape[1]), U, 0)
        tape.begin_forward()
        states = x.new_empty(*x.shape[:2], U.shape[1])
        weights = x.new_empty(*x.shape[:2], keys.shape[1])
        projections = x.new_empty(*x.shape[:2], scorer.query_size + R.shape[0])
        queries, state_terms = projections.tensor_split([scorer.query_size], dim=-1)
        products, F_transposed = _forward_products(tape.products()), transpose_contiguous(F)
        state_products = _forward_products([*_query_products(W, queries), Product(R, state_terms)])
        outputs = torch.empty_like(state_terms, memory_format=torch.contiguous_format)
        cell_input, pre_output = torch.empty_like(x[:, 0]), x.new_empty(x.shape[0], 1, R.shape[0])
        query, state_term, output = (
            part.unbind(dim=1) for part in (queries, state_terms[:, :, None], outputs)
        )
        state, cell_state, initial_output = h, c, previous_output
        steps = zip(x.unbind(1), weights.unbind(1), states.unbind(1), strict=True)
        for t, (x_t, step_weights, new) in enumerate(steps):
            for matrix, columns in products:
                torch.mm(state, matrix, out=columns[t])
            torch.addmm(x_t, previous_output, F_transposed, out=cell_input)
            cell_state = tape.step_forward(t, cell_input, state, cell_state, new)
            for matrix, columns in state_products:
                torch.mm(new, matrix, out=columns[t])
            scorer.weigh(query[t] if scorer.query_size else new, step_weights)
            torch.baddbmm(state_term[t], step_weights[:, None], values, out=pre_output)
            state, previous_output = new, torch.tanh(pre_output[:, 0], out=output[t])
        ctx.cell = cell
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            *(mask, values, keys, h, c, initial_output, W, v, U, F, R),
            *(states, weights, projections, outputs, tape.tape, tape.saved_states),
        )
        return outputs, weights, state.clone(), None if cell_state is None else cell_state.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        with autocast_disabled(ctx.saved_tensors[0]):
            return _move_then_look_backward(ctx, *grads)


def _move_then_look_backward(
    ctx: Any,
    doutputs: Tensor | None,
    dweights: Tensor | None,
    dh: Tensor | None,
    dc: Tensor | None,
) -> tuple[Tensor | None, ...]:
    mask, values, keys, h, c, initial_output, W, v, U, F, R, *buffers = ctx.saved_tensors
    states, weights, projections, outputs, columns, saved_states = buffers
    scorer = make_scorer(keys, mask, ScoreParameters(W, v))
    scorer.begin_backward(values, weights, dweights)
    tape = TAPES[ctx.cell](columns, U, 0, saved_states)
    grad = TAPES[ctx.cell](torch.empty_like(columns), U, 0)
    old_states = torch.cat([h[:, None], states[:, :-1]], dim=1)
    tape.begin_backward(grad, old_states, c)
    dprojections = torch.empty_like(projections)
    dquery_columns, dstate_terms = dprojections.tensor_split([scorer.query_size], dim=-1)
    products = _backward_products(grad.products())
    state_products = _backward_products(
        [*_query_products(W, dquery_columns), Product(R, dstate_terms)]
    )
    dx, dqueries, dpre_output = (
        part.unbind(dim=1) for part in (grad.gates, dquery_columns, dstate_terms)
    )
    queries = (projections[..., : scorer.query_size] if scorer.query_size else states).unbind(dim=1)
    output, doutput = outputs.unbind(dim=1), None if doutputs is None else doutputs.unbind(dim=1)
    dprevious_output = torch.zeros_like(initial_output)
    dh, dc = _accumulator(dh, h), None if c is None else _accumulator(dc, c)
    for t in reversed(range(len(dx))):
        if doutput is not None:
            dprevious_output.add_(doutput[t])
        torch.ops.aten.tanh_backward(dprevious_output, output[t], grad_input=dpre_output[t])
        scorer.step_backward(
            t, dpre_output[t], queries[t], dqueries[t] if scorer.query_size else dh
        )
        for matrix, columns in state_products:
            dh.addmm_(columns[t], matrix)
        tape.step_backward(t, dh, dc)
        for matrix, columns in products:
            dh.addmm_(columns[t], matrix)
        torch.mm(dx[t], F, out=dprevious_output)
    dW_and_dR = dprojections.flatten(0, 1).T @ states.flatten(0, 1)
    previous_output = torch.cat([initial_output[:, None], outputs[:, :-1]], dim=1).flatten(0, 1)
    dF, dU = (
        grad.gates.flatten(0, 1).T @ previous_output,
        tape.weight_gradient(grad, old_states.flatten(0, 1)),
    )
    dvalues, dkeys = weights.mT @ dstate_terms, scorer.keys_gradient(states)
    dW = None if W is None else dW_and_dR[: scorer.query_size]
    dR, dv = dW_and_dR[scorer.query_size :], scorer.dv
    return None, None, grad.gates, dvalues, dkeys, dh, dc, dprevious_output, dW, dv, dU, dF, dR


def _query_products(W: Tensor | None, queries: Tensor) -> list[Product]:
    """Return the product that computes the query; none if the state itself is the query."""
    return [] if W is None else [Product(W, queries)]


def _forward_products(products: list[Product]) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """Return each matrix in the layout of the forward pass, and its columns step by step."""
    return [(transpose_contiguous(matrix), columns.unbind(dim=1)) for matrix, columns in products]


def _backward_products(products: list[Product]) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """Return each matrix in the layout of the backward pass, and its columns step by step."""
    return [(matrix, columns.unbind(dim=1)) for matrix, columns in products]


def _accumulator(gradient: Tensor | None, like: Tensor) -> Tensor:
    """Return a tensor to add gradients to: a copy of the gradient, or zeros."""
    return torch.zeros_like(like) if gradient is None else gradient.clone()
