"""Each op that has a backward pass of its own: how to call it, and what it must agree with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.kernels import CellWeights, ScoreParameters, fused_torch, reference
from regard.kernels.cpu import additive_attention, gru_scan, linear_loss, recurrent_attention

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
    """An op with a backward pass of its own, its definition, and inputs of given sizes."""

    run: Callable[..., Any]
    definition: Callable[..., Any]
    make: Callable[[Maker, dict[str, int], Tensor], dict[str, Any]]

    def inputs(self, dtype=torch.float64, sizes="odd", seed=0):
        sizes, lengths = SIZES[sizes] if isinstance(sizes, str) else sizes
        return self.make(Maker(dtype, seed), sizes, torch.tensor(lengths))


def _mask(lengths, size):
    return torch.arange(size) < lengths[:, None]


def _state(make, cell, n):
    h = make(n["B"], n["D"])
    return {"h": h, "c": make(n["B"], n["D"]) if cell == "lstm" else None}


def _keys_and_score(make, score, n):
    if score == "dot":
        keys = make(n["B"], n["S"], n["D"], scale=n["D"] ** -0.5)
        return {"keys": keys, "score": ScoreParameters(None, None)}
    keys = make(n["B"], n["S"], n["A"])
    return {"keys": keys, "score": ScoreParameters(make.matrix(n["A"], n["D"]), make(n["A"]))}


def _look_then_move(cell, score):
    def make(make, n, lengths):
        G = GATES[cell] * n["D"]
        return {
            "x": make(n["B"], n["T"], G),
            "values": make(n["B"], n["S"], G),
            **_keys_and_score(make, score, n),
            **_state(make, cell, n),
            "U": make.matrix(G, n["D"]),
            "cell": cell,
            "mask": _mask(lengths, n["S"]),
        }

    return Case(recurrent_attention.look_then_move, reference.look_then_move, make)


def _move_then_look(cell, score):
    def make(make, n, lengths):
        G = GATES[cell] * n["D"]
        return {
            "x": make(n["B"], n["T"], G),
            "values": make(n["B"], n["S"], n["O"]),
            **_keys_and_score(make, score, n),
            **_state(make, cell, n),
            "output": make(n["B"], n["O"]),
            "U": make.matrix(G, n["D"]),
            "F": make.matrix(G, n["O"]),
            "R": make.matrix(n["O"], n["D"]),
            "cell": cell,
            "mask": _mask(lengths, n["S"]),
        }

    return Case(recurrent_attention.move_then_look, reference.move_then_look, make)


def _weights(make, n, bias):
    G = 3 * n["D"]
    b = make(G) if bias else None
    return CellWeights(make.matrix(G, n["I"]), make.matrix(G, n["D"]), b)


def _scan(bias):
    def make(make, n, lengths):
        x, h = make(n["B"], n["T"], n["I"]), make(n["B"], n["D"])
        return {"x": x, "h": h, **_weights(make, n, bias)._asdict()}

    return Case(gru_scan.gru_before_scan, reference.gru_before_scan, make)


def _bidirectional(bias, after=False):
    def make(make, n, lengths):
        return {
            "x": make(n["B"], n["S"], n["I"]),
            "h": make(n["B"], n["D"]),
            "mask": _mask(lengths, n["S"]),
            "forward": _weights(make, n, bias),
            "backward": _weights(make, n, bias),
        }

    if after:
        fused = fused_torch.bidirectional_gru_after_scan
        return Case(fused, reference.bidirectional_gru_after_scan, make)
    custom = gru_scan.bidirectional_gru_before_scan
    return Case(custom, reference.bidirectional_gru_before_scan, make)


def _additive(make, n, lengths):
    return {
        "query": make(n["B"], n["T"], n["A"]),
        "keys": make(n["B"], n["S"], n["A"]),
        "v": make(n["A"]),
        "values": make(n["B"], n["S"], n["N"]),
        "mask": _mask(lengths, n["S"]),
    }


def _loss(bias, smoothing):
    def make(make, n, lengths):
        rows = n["B"] * n["S"]
        return {
            "x": make(rows, n["I"]),
            "weight": make.matrix(n["V"], n["I"]),
            "target": torch.randint(n["V"], (rows,), generator=make.generator),
            "visible": _mask(lengths, n["S"]).flatten(),
            "bias": make(n["V"]) if bias else None,
            "smoothing": smoothing,
        }

    return Case(linear_loss.linear_loss, reference.linear_loss, make)


CASES = {
    **{
        f"{name}, {cell}, {score}": make(cell, score)
        for name, make in (("look_then_move", _look_then_move), ("move_then_look", _move_then_look))
        for cell in GATES
        for score in ("additive", "dot")
    },
    "gru_before_scan": _scan(True),
    "gru_before_scan, no bias": _scan(False),
    "bidirectional_gru_before_scan": _bidirectional(True),
    "bidirectional_gru_before_scan, no bias": _bidirectional(False),
    "bidirectional_gru_after_scan": _bidirectional(True, after=True),
    "additive_attention": Case(
        additive_attention.additive_attention, reference.additive_attention, _additive
    ),
    "linear_loss": _loss(True, 0.0),
    "linear_loss, smoothed": _loss(True, 0.1),
    "linear_loss, no bias": _loss(False, 0.1),
}


def leaves(inputs: Any) -> list[Tensor]:
    """Every tensor that has a gradient, in the order of the inputs."""
    if isinstance(inputs, Tensor):
        return [inputs] if inputs.is_floating_point() else []
    parts = inputs.values() if isinstance(inputs, dict) else inputs
    parts = parts if isinstance(inputs, tuple | dict) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def outputs(run: Callable[..., Any], inputs: dict[str, Any]) -> list[Tensor]:
    output = run(**inputs)
    return [output] if isinstance(output, Tensor) else [x for x in output if x is not None]


def gradients(outputs: list[Tensor], inputs: list[Tensor], *, retain=False) -> tuple[Tensor, ...]:
    """The gradient of a random sum of all outputs."""
    make = Maker(outputs[0].dtype, seed=1)
    weighted = [(part * make(*part.shape).detach().to(part.dtype)).sum() for part in outputs]
    total = torch.stack([part.to(outputs[0].dtype) for part in weighted]).sum()
    return torch.autograd.grad(total, inputs, retain_graph=retain)
