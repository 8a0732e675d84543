"""Each op that has a backward pass of its own: how to call it, and what it must agree with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.kernels import (
    by_hand,
    by_hand_attention,
    by_hand_loss,
    by_hand_scan,
    library,
    reference,
)

# all different, all prime: a swapped axis cannot pass; one row whole, one of length 1, one blind
ODD = {"B": 3, "T": 5, "S": 7, "D": 11, "A": 13, "N": 17, "I": 19, "O": 23, "V": 29}
SIZES = {
    "odd": (ODD, (7, 1, 0)),
    "one word": ({**ODD, "T": 1}, (7, 1, 0)),
    "one key": ({**ODD, "S": 1}, (1, 1, 0)),
}
GATES = {"gru_before": 3, "gru_after": 3, "lstm": 4}


class Maker:
    """Random tensors of one type, the same for each seed whatever the type."""

    def __init__(self, dtype: torch.dtype, seed: int = 0) -> None:
        self.dtype, self.generator = dtype, torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        x = scale * torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return x.to(self.dtype).requires_grad_()

    def matrix(self, rows: int, columns: int) -> Tensor:
        """A matrix that keeps what it multiplies about as large as it is."""
        return self(rows, columns, scale=columns**-0.5)


@dataclass(frozen=True)
class Case:
    """An op by hand, its definition, and arguments for given sizes and lengths."""

    run: Callable[..., Any]
    definition: Callable[..., Any]
    make: Callable[[Maker, dict[str, int], Tensor], tuple[Any, ...]]

    def arguments(self, dtype=torch.float64, sizes="odd", seed=0):
        found, lengths = SIZES[sizes] if isinstance(sizes, str) else sizes
        return self.make(Maker(dtype, seed), found, torch.tensor(lengths))


def _mask(lengths, size):
    return torch.arange(size) < lengths[:, None]


def _state(make, cell, n):
    h = make(n["B"], n["D"])
    return h, make(n["B"], n["D"]) if cell == "lstm" else None


def _asking(make, ask, n):
    """The keys, and how the state asks them."""
    if ask == "dot":
        keys = make(n["B"], n["S"], n["D"], scale=n["D"] ** -0.5)
        return keys, reference.Asking(None, None)
    keys = make(n["B"], n["S"], n["A"])
    return keys, reference.Asking(make.matrix(n["A"], n["D"]), make(n["A"]))


def _look_then_move(cell, ask):
    def make(make, n, lengths):
        G = GATES[cell] * n["D"]
        x, found = make(n["B"], n["T"], G), make(n["B"], n["S"], G)
        keys, asking = _asking(make, ask, n)
        state = _state(make, cell, n)
        U = make.matrix(G, n["D"])
        return cell, x, found, keys, _mask(lengths, n["S"]), *state, asking, U

    return Case(by_hand.look_then_move, reference.look_then_move, make)


def _move_then_look(cell, ask):
    def make(make, n, lengths):
        G = GATES[cell] * n["D"]
        x, found = make(n["B"], n["T"], G), make(n["B"], n["S"], n["O"])
        keys, asking = _asking(make, ask, n)
        state = _state(make, cell, n)
        shown, U = make(n["B"], n["O"]), make.matrix(G, n["D"])
        F, R = make.matrix(G, n["O"]), make.matrix(n["O"], n["D"])
        return cell, x, found, keys, _mask(lengths, n["S"]), *state, shown, asking, U, F, R

    return Case(by_hand.move_then_look, reference.move_then_look, make)


def _weights(make, n, bias):
    G = 3 * n["D"]
    b = make(G) if bias else None
    return reference.Weights(make.matrix(G, n["I"]), make.matrix(G, n["D"]), b)


def _scan(bias):
    def make(make, n, lengths):
        x, h = make(n["B"], n["T"], n["I"]), make(n["B"], n["D"])
        return x, h, *_weights(make, n, bias)

    def definition(*arguments):
        return reference.scan(reference.gru_before_step, *arguments)

    return Case(by_hand_scan.gru_before_scan, definition, make)


def _both(bias, after=False):
    def make(make, n, lengths):
        x, h = make(n["B"], n["S"], n["I"]), make(n["B"], n["D"])
        mask = _mask(lengths, n["S"])
        return x, h, mask, _weights(make, n, bias), _weights(make, n, bias)

    if after:
        return Case(library.gru_after_both, reference.gru_after_both, make)
    return Case(by_hand_scan.gru_before_both, reference.gru_before_both, make)


def _additive(make, n, lengths):
    q, k = make(n["B"], n["T"], n["A"]), make(n["B"], n["S"], n["A"])
    return q, k, make(n["A"]), make(n["B"], n["S"], n["N"]), _mask(lengths, n["S"])


def _loss(bias, smoothing):
    def make(make, n, lengths):
        rows = n["B"] * n["S"]
        x, weight = make(rows, n["I"]), make.matrix(n["V"], n["I"])
        target = torch.randint(n["V"], (rows,), generator=make.generator)
        visible = _mask(lengths, n["S"]).flatten()
        return x, weight, make(n["V"]) if bias else None, target, visible, smoothing

    return Case(by_hand_loss.linear_loss, reference.linear_loss, make)


CASES = {
    **{
        f"{name}, {cell}, {ask}": make(cell, ask)
        for name, make in (("look_then_move", _look_then_move), ("move_then_look", _move_then_look))
        for cell in GATES
        for ask in ("additive", "dot")
    },
    "gru_before_scan": _scan(True),
    "gru_before_scan, no bias": _scan(False),
    "gru_before_both": _both(True),
    "gru_before_both, no bias": _both(False),
    "gru_after_both": _both(True, after=True),
    "additive_attention": Case(
        by_hand_attention.additive_attention, reference.additive_attention, _additive
    ),
    "linear_loss": _loss(True, 0.0),
    "linear_loss, smoothed": _loss(True, 0.1),
    "linear_loss, no bias": _loss(False, 0.1),
}


def leaves(arguments: Any) -> list[Tensor]:
    """Every tensor that has a gradient, in the order of the arguments."""
    if isinstance(arguments, Tensor):
        return [arguments] if arguments.is_floating_point() else []
    parts = arguments if isinstance(arguments, tuple) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def outputs(run: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Tensor]:
    made = run(*arguments)
    return [made] if isinstance(made, Tensor) else [part for part in made if part is not None]


def gradients(made: list[Tensor], given: list[Tensor], *, retain=False) -> tuple[Tensor, ...]:
    """The gradient of a random sum of everything that was made."""
    make = Maker(made[0].dtype, seed=1)
    weighted = [(part * make(*part.shape).detach().to(part.dtype)).sum() for part in made]
    total = torch.stack([part.to(made[0].dtype) for part in weighted]).sum()
    return torch.autograd.grad(total, given, retain_graph=retain)
