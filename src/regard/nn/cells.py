"""Recurrent cells, each with its equation and one bias per gate.

A cell steps once or scans a sequence; `nn/recurrent_stack.py` stacks cells.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from typing_extensions import override

from regard import kernels
from regard.nn.masks import last_visible, reverse
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class HiddenState(TensorRecord):
    """The state of a cell: its output h, and an LSTM's cell state c."""

    h: Float[Tensor, "B D"]
    c: Float[Tensor, "B D"] | None = None


class Cell(nn.Module, ABC):
    """The interface of cells."""

    hidden_size: int
    W: nn.Linear
    U: nn.Linear
    op: kernels.CellName | None
    """Its name in the ops of `kernels`; None if they do not support it."""
    scan_op: str
    """The op of `kernels` that `scan` runs."""

    @abstractmethod
    def state_with_output(self, h: Float[Tensor, "B D"]) -> HiddenState:
        """Return the state whose output is h."""

    @property
    def recurrent_weight(self) -> Float[Tensor, "P D"]:
        """The rows of U that depend on nothing but the old h: all of them, except reset before."""
        return self.U.weight

    @abstractmethod
    def gates(
        self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: HiddenState
    ) -> HiddenState:
        """Return the next state; x is W x + b, and u is h times `recurrent_weight`."""

    def forward(self, x: Float[Tensor, "B I"], state: HiddenState) -> HiddenState:
        """Return the next state."""
        return self.gates(self.W(x), nn.functional.linear(state.h, self.recurrent_weight), state)

    @abstractmethod
    def scan(
        self, x: Float[Tensor, "B T I"], state: HiddenState, mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], HiddenState]:
        """Return h at every position, zero where hidden, and the state at the last visible one."""


@final
class ElmanCell(Cell):
    """h ← tanh(W x + U h) (Elman 1990)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.op, self.scan_op = None, "elman_scan"
        self.W = nn.Linear(input_size, hidden_size, bias=bias)
        self.U = nn.Linear(hidden_size, hidden_size, bias=False)

    @override
    def state_with_output(self, h: Float[Tensor, "B D"]) -> HiddenState:
        return HiddenState(h)

    @override
    def gates(
        self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: HiddenState
    ) -> HiddenState:
        return HiddenState(torch.tanh(x + u))

    @override
    def scan(
        self, x: Float[Tensor, "B T I"], state: HiddenState, mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], HiddenState]:
        h = kernels.elman_scan(x, state.h, W=self.W.weight, U=self.U.weight, b=self.W.bias)
        return _zero_out_padding(h, mask), HiddenState(last_visible(h, mask, state.h))


@final
class GRUCell(Cell):
    """The gated recurrent unit (Cho et al. 2014; Bahdanau et al. 2015, A.1.1).

    r = σ(W_r x + U_r h)                       reset gate
    z = σ(W_z x + U_z h)                       update gate
    n = tanh(W_n x + U_n (r∘h))                reset before, as published
    n = tanh(W_n x + r∘(U_n h))                reset after, as fused libraries compute it
    h ← (1−z)∘h + z∘n

    In Cho et al. z is the share of the old state: change the sign of everything inside z. The rows
    of W and U belong to r, z and n, in that order.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, reset_after: bool = False
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.reset_after = reset_after
        self.op = "gru_after" if reset_after else "gru_before"
        self.scan_op = f"{self.op}_scan"
        self.W = nn.Linear(input_size, 3 * hidden_size, bias=bias)
        self.U = nn.Linear(hidden_size, 3 * hidden_size, bias=False)

    @override
    def state_with_output(self, h: Float[Tensor, "B D"]) -> HiddenState:
        return HiddenState(h)

    @property
    @override
    def recurrent_weight(self) -> Float[Tensor, "P D"]:
        # with reset before, n depends on r
        return self.U.weight if self.reset_after else self.U.weight[: 2 * self.hidden_size]

    @override
    def gates(
        self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: HiddenState
    ) -> HiddenState:
        if self.reset_after:
            return HiddenState(kernels.gru_after_gates(x, u, state.h))
        U_n = self.U.weight[2 * self.hidden_size :]
        return HiddenState(kernels.gru_before_gates(x, u, state.h, U_n))

    @override
    def scan(
        self, x: Float[Tensor, "B T I"], state: HiddenState, mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], HiddenState]:
        scan = kernels.gru_after_scan if self.reset_after else kernels.gru_before_scan
        h = scan(x, state.h, W=self.W.weight, U=self.U.weight, b=self.W.bias)
        return _zero_out_padding(h, mask), HiddenState(last_visible(h, mask, state.h))


@final
class LSTMCell(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with a forget gate).

    i = σ(W_i x + U_i h)   f = σ(W_f x + U_f h)   o = σ(W_o x + U_o h)   g = tanh(W_g x + U_g h)
    c ← f∘c + i∘g          h ← o∘tanh(c)

    No peepholes. The rows of W and U belong to i, f, g and o, in that order.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.op, self.scan_op = "lstm", "lstm_scan"
        self.W = nn.Linear(input_size, 4 * hidden_size, bias=bias)
        self.U = nn.Linear(hidden_size, 4 * hidden_size, bias=False)

    @override
    def state_with_output(self, h: Float[Tensor, "B D"]) -> HiddenState:
        return HiddenState(h, torch.zeros_like(h))

    @override
    def gates(
        self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: HiddenState
    ) -> HiddenState:
        assert state.c is not None  # noqa: S101
        return HiddenState(*kernels.lstm_gates(x, u, state.c))

    @override
    def scan(
        self, x: Float[Tensor, "B T I"], state: HiddenState, mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], HiddenState]:
        assert state.c is not None  # noqa: S101
        W, U, b = self.W.weight, self.U.weight, self.W.bias
        h, c = kernels.lstm_scan(x, state.h, c=state.c, mask=mask, W=W, U=U, b=b)
        return _zero_out_padding(h, mask), HiddenState(last_visible(h, mask, state.h), c)


def bidirectional_op(forward: Cell, backward: Cell) -> str | None:
    """Return the op of `kernels` that scans with both cells; None if there is none."""
    if forward.op != backward.op or forward.op not in ("gru_before", "gru_after"):
        return None
    return f"bidirectional_{forward.op}_scan"


def scan_both(
    forward: Cell,
    backward: Cell,
    x: Float[Tensor, "B T I"],
    state: HiddenState,
    mask: Bool[Tensor, "B T"],
) -> tuple[Float[Tensor, "B T O"], HiddenState]:
    """Scan in both directions: return [→h; ←h], and both last states joined."""
    if op := bidirectional_op(forward, backward):
        forward_weights, backward_weights = (
            kernels.CellWeights(cell.W.weight, cell.U.weight, cell.W.bias)
            for cell in (forward, backward)
        )
        output, last = getattr(kernels, op)(
            x, state.h, mask=mask, forward=forward_weights, backward=backward_weights
        )
        return output, HiddenState(last)
    forward_h, forward_last = forward.scan(x, state, mask)
    backward_h, backward_last = backward.scan(reverse(x, mask), state, mask)
    h = torch.cat([forward_h, reverse(backward_h, mask)], dim=-1)
    if forward_last.c is None or backward_last.c is None:
        return h, HiddenState(torch.cat([forward_last.h, backward_last.h], dim=-1))
    return h, HiddenState(
        torch.cat([forward_last.h, backward_last.h], dim=-1),
        torch.cat([forward_last.c, backward_last.c], dim=-1),
    )


def _zero_out_padding(
    h: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T D"]:
    return h.masked_fill(~mask[..., None], 0.0)
