"""The attentional recurrences with their backward passes written by hand, on any device.

Everything that does not depend on the state is outside the loop; on the way back a step computes
only what reaches the step before, and each matrix gets its gradient in one product at the end.
Nothing of the size [B,T,S,A] ever exists. A second derivative is not supported.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.by_hand_asking import make_ask
from regard.kernels.by_hand_casting import alike, as_it_is
from regard.kernels.by_hand_cells import TAPES, Product, turned
from regard.kernels.reference import Asking, CellName, Looked


def look_then_move(
    cell: CellName,
    x: Float[Tensor, "B T G"],
    found: Float[Tensor, "B S G"],
    keys: Float[Tensor, "B S A"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    asking: Asking,
    U: Float[Tensor, "G D"],
) -> Looked:
    """`reference.look_then_move`, with as many multiply-adds there and twice as many back.

    Keeps B·T·(G + A + 2·D + S) numbers.
    """
    given = alike(x, found, keys, h, c, *asking, U)
    with as_it_is(x):
        return Looked(*_LookThenMove.apply(cell, mask, *given))


def move_then_look(
    cell: CellName,
    x: Float[Tensor, "B T G"],
    found: Float[Tensor, "B S O"],
    keys: Float[Tensor, "B S A"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    shown: Float[Tensor, "B O"],
    asking: Asking,
    U: Float[Tensor, "G D"],
    F: Float[Tensor, "G O"],
    R: Float[Tensor, "O D"],
) -> Looked:
    """`reference.move_then_look`, with as many multiply-adds there and twice as many back.

    Keeps B·T·(G + A + 3·D + 2·O + S) numbers.
    """
    given = alike(x, found, keys, h, c, shown, *asking, U, F, R)
    with as_it_is(x):
        return Looked(*_MoveThenLook.apply(cell, mask, *given))


class _LookThenMove(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: CellName,
        mask: Tensor,
        x: Tensor,
        found: Tensor,
        keys: Tensor,
        h: Tensor,
        c: Tensor | None,
        W: Tensor | None,
        v: Tensor | None,
        U: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        ask = make_ask(keys, mask, Asking(W, v))
        tape = TAPES[cell](TAPES[cell].empty(x, ask.width, U.shape[1]), U, ask.width)
        tape.begin()
        products = _forward([*_asks(W, tape.queries), *tape.products()])
        shown = x.new_empty(*x.shape[:2], U.shape[1])
        weights = x.new_empty(*x.shape[:2], keys.shape[1])
        moved = x.new_empty(x.shape[0], 1, x.shape[2])
        queries = tape.queries.unbind(dim=1)
        state, store = h, c
        steps = zip(x[:, :, None].unbind(1), weights.unbind(1), shown.unbind(1), strict=True)
        for t, (x_t, look, new) in enumerate(steps):
            for matrix, columns in products:
                torch.mm(state, matrix, out=columns[t])
            ask.weigh(queries[t] if ask.width else state, look)
            torch.baddbmm(x_t, look[:, None], found, out=moved)
            store = tape.move(t, moved[:, 0], state, store, new)
            state = new
        ctx.cell = cell
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            mask, found, keys, h, c, W, v, U, shown, weights, tape.tape, tape.kept
        )
        return shown, weights, state.clone(), None if store is None else store.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        with as_it_is(ctx.saved_tensors[0]):
            return _look_then_move_back(ctx, *grads)


def _look_then_move_back(
    ctx: Any,
    dshown: Tensor | None,
    dweights: Tensor | None,
    dh: Tensor | None,
    dc: Tensor | None,
) -> tuple[Tensor | None, ...]:
    mask, found, keys, h, c, W, v, U, shown, weights, columns, kept = ctx.saved_tensors
    ask = make_ask(keys, mask, Asking(W, v))
    ask.begin_back(found, weights, dweights)
    tape = TAPES[ctx.cell](columns, U, ask.width, kept)
    grad = TAPES[ctx.cell](torch.empty_like(columns), U, ask.width)
    before = torch.cat([h[:, None], shown[:, :-1]], dim=1)
    tape.begin_back(grad, before, c)
    products = _backward([*_asks(W, grad.queries), *grad.products()])
    dx, dqueries = grad.gates.unbind(dim=1), grad.queries.unbind(dim=1)
    queries = (tape.queries if ask.width else before).unbind(dim=1)
    given = None if dshown is None else dshown.unbind(dim=1)
    dh, dc = _to_add(dh, h), None if c is None else _to_add(dc, c)
    for t in reversed(range(len(dx))):
        if given is not None:
            dh.add_(given[t])
        tape.back(t, dh, dc)
        ask.back(t, dx[t], queries[t], dqueries[t] if ask.width else dh)
        for matrix, columns in products:
            dh.addmm_(columns[t], matrix)
    rows = before.flatten(0, 1)
    dW = None if W is None else grad.queries.flatten(0, 1).T @ rows
    dfound, dkeys = weights.mT @ grad.gates, ask.keys_back(before)
    return None, None, grad.gates, dfound, dkeys, dh, dc, dW, ask.dv, tape.weight_back(grad, rows)


class _MoveThenLook(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: CellName,
        mask: Tensor,
        x: Tensor,
        found: Tensor,
        keys: Tensor,
        h: Tensor,
        c: Tensor | None,
        fed: Tensor,
        W: Tensor | None,
        v: Tensor | None,
        U: Tensor,
        F: Tensor,
        R: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        ask = make_ask(keys, mask, Asking(W, v))
        tape = TAPES[cell](TAPES[cell].empty(x, 0, U.shape[1]), U, 0)
        tape.begin()
        states = x.new_empty(*x.shape[:2], U.shape[1])
        weights = x.new_empty(*x.shape[:2], keys.shape[1])
        told = x.new_empty(*x.shape[:2], ask.width + R.shape[0])
        queries, joins = told.tensor_split([ask.width], dim=-1)
        products, feed = _forward(tape.products()), turned(F)
        asked = _forward([*_asks(W, queries), Product(R, joins)])
        shown = torch.empty_like(joins, memory_format=torch.contiguous_format)
        moved, joined = torch.empty_like(x[:, 0]), x.new_empty(x.shape[0], 1, R.shape[0])
        query, join, show = (part.unbind(dim=1) for part in (queries, joins[:, :, None], shown))
        state, store, first = h, c, fed
        steps = zip(x.unbind(1), weights.unbind(1), states.unbind(1), strict=True)
        for t, (x_t, look, new) in enumerate(steps):
            for matrix, columns in products:
                torch.mm(state, matrix, out=columns[t])
            torch.addmm(x_t, fed, feed, out=moved)
            store = tape.move(t, moved, state, store, new)
            for matrix, columns in asked:
                torch.mm(new, matrix, out=columns[t])
            ask.weigh(query[t] if ask.width else new, look)
            torch.baddbmm(join[t], look[:, None], found, out=joined)
            state, fed = new, torch.tanh(joined[:, 0], out=show[t])
        ctx.cell = cell
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            *(mask, found, keys, h, c, first, W, v, U, F, R),
            *(states, weights, told, shown, tape.tape, tape.kept),
        )
        return shown, weights, state.clone(), None if store is None else store.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        with as_it_is(ctx.saved_tensors[0]):
            return _move_then_look_back(ctx, *grads)


def _move_then_look_back(
    ctx: Any,
    dshown: Tensor | None,
    dweights: Tensor | None,
    dh: Tensor | None,
    dc: Tensor | None,
) -> tuple[Tensor | None, ...]:
    mask, found, keys, h, c, first, W, v, U, F, R, *made = ctx.saved_tensors
    states, weights, told, shown, columns, kept = made
    ask = make_ask(keys, mask, Asking(W, v))
    ask.begin_back(found, weights, dweights)
    tape = TAPES[ctx.cell](columns, U, 0, kept)
    grad = TAPES[ctx.cell](torch.empty_like(columns), U, 0)
    before = torch.cat([h[:, None], states[:, :-1]], dim=1)
    tape.begin_back(grad, before, c)
    dtold = torch.empty_like(told)
    dasks, djoins = dtold.tensor_split([ask.width], dim=-1)
    products = _backward(grad.products())
    asked = _backward([*_asks(W, dasks), Product(R, djoins)])
    dx, dqueries, djoined = (part.unbind(dim=1) for part in (grad.gates, dasks, djoins))
    queries = (told[..., : ask.width] if ask.width else states).unbind(dim=1)
    show, given = shown.unbind(dim=1), None if dshown is None else dshown.unbind(dim=1)
    dfed = torch.zeros_like(first)
    dh, dc = _to_add(dh, h), None if c is None else _to_add(dc, c)
    for t in reversed(range(len(dx))):
        if given is not None:
            dfed.add_(given[t])
        torch.ops.aten.tanh_backward(dfed, show[t], grad_input=djoined[t])
        ask.back(t, djoined[t], queries[t], dqueries[t] if ask.width else dh)
        for matrix, columns in asked:
            dh.addmm_(columns[t], matrix)
        tape.back(t, dh, dc)
        for matrix, columns in products:
            dh.addmm_(columns[t], matrix)
        torch.mm(dx[t], F, out=dfed)
    dasked = dtold.flatten(0, 1).T @ states.flatten(0, 1)
    fed = torch.cat([first[:, None], shown[:, :-1]], dim=1).flatten(0, 1)
    dF, dU = grad.gates.flatten(0, 1).T @ fed, tape.weight_back(grad, before.flatten(0, 1))
    dfound, dkeys = weights.mT @ djoins, ask.keys_back(states)
    dW = None if W is None else dasked[: ask.width]
    dR = dasked[ask.width :]
    return None, None, grad.gates, dfound, dkeys, dh, dc, dfed, dW, ask.dv, dU, dF, dR


def _asks(W: Tensor | None, queries: Tensor) -> list[Product]:
    """Return what makes the query, where the state itself is none."""
    return [] if W is None else [Product(W, queries)]


def _forward(products: list[Product]) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """Return each matrix as a state is multiplied by it, and the place of each step's product."""
    return [(turned(matrix), columns.unbind(dim=1)) for matrix, columns in products]


def _backward(products: list[Product]) -> list[tuple[Tensor, tuple[Tensor, ...]]]:
    """Return each matrix as a product's gradient is multiplied by it, and those of each step."""
    return [(matrix, columns.unbind(dim=1)) for matrix, columns in products]


def _to_add(given: Tensor | None, like: Tensor) -> Tensor:
    """Return a gradient to add to: what came in, or nothing."""
    return torch.zeros_like(like) if given is None else given.clone()
