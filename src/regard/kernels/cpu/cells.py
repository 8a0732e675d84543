"""What a cell writes to the tape of a recurrence at each step, and its backward pass over it.

A tape is one buffer [B,T,P]: the query of the state, other products with the old state that a cell
must save, and its gates. The gradients' tape has the same columns. Attention is left to others.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from regard.kernels.types import CellName

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


class Product(NamedTuple):
    """A matrix that a state is multiplied by, and the columns of its products."""

    matrix: Float[Tensor, "P D"]
    columns: Float[Tensor, "B T P"]


def transpose_contiguous(matrix: Float[Tensor, "P D"]) -> Float[Tensor, "D P"]:
    """Return the transposed matrix as one block: T products with it are a third faster."""
    return matrix.contiguous().T.contiguous()


class Tape(ABC):
    """One cell's part in a recurrence; its steps are views of the tape, created once."""

    num_extra_columns: ClassVar[int] = 0
    """How many blocks of D columns are between the query and the gates."""

    def __init__(
        self,
        tape: Float[Tensor, "B T P"],
        U: Float[Tensor, "G D"],
        query_size: int,
        saved_states: Float[Tensor, "B T D"] | None = None,
    ) -> None:
        self.tape, self.U, self.saved_states = tape, U, saved_states
        self.D = U.shape[1]
        gates = query_size + self.num_extra_columns * self.D
        self.queries, self.extra_columns = tape[..., :query_size], tape[..., query_size:gates]
        self.gates = tape[..., gates:]

    @classmethod
    def empty(cls, x: Float[Tensor, "B T G"], query_size: int, D: int) -> Float[Tensor, "B T P"]:
        """Allocate the buffer of a tape."""
        return x.new_empty(*x.shape[:2], query_size + cls.num_extra_columns * D + x.shape[-1])

    def products(self) -> list[Product]:
        """Return the matrices that multiply the old state, and the columns of the products."""
        return [Product(self.U, self.gates)]

    @abstractmethod
    def begin_forward(self) -> None:
        """Prepare what `step_forward` needs at every step."""

    @abstractmethod
    def step_forward(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        """Write the next h to `out`, given x and, on the tape, the product; return the next c."""

    @abstractmethod
    def begin_backward(
        self,
        grad: "Tape",
        old_states: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        """Compute the factors that depend on no gradient, for all steps at once."""

    @abstractmethod
    def step_backward(
        self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None
    ) -> None:
        """Write the gates' gradients of a step; leave in dh and dc what bypasses U."""

    def weight_gradient(
        self, grad: "Tape", old_states: Float[Tensor, "R D"]
    ) -> Float[Tensor, "G D"]:
        """Return dU from the state before each step, in one product over all steps."""
        return grad.gates.flatten(0, 1).T @ old_states


class _GRUTape(Tape):
    """What both GRUs share: the last gates are r, z and n, and h ← h + z∘(n−h)."""

    @abstractmethod
    def _reset_input(self, old_states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return the factor of r at every step."""

    @override
    def begin_forward(self) -> None:
        self.rz = self.gates[..., : 2 * self.D].unbind(dim=1)
        self.r, self.z, self.n = _unbind_gates(self.gates, 3)

    @override
    def begin_backward(
        self,
        grad: Tape,
        old_states: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        r, z, n = self.gates.chunk(3, dim=-1)
        self.r, self.h_factor = r.unbind(dim=1), (1 - z).unbind(dim=1)
        self.r_factor = _sigmoid_backward(self._reset_input(old_states), r).unbind(dim=1)
        self.zn_factor = _update_factors(old_states, z, n)
        self.dr, _, self.dn = _unbind_gates(grad.gates, 3)
        self.dzn = _unbind_adjacent_gates(grad.gates[..., self.D :], 2)


@final
class ResetBeforeGRUTape(_GRUTape):
    """r = σ(x_r + U_r h)   z = σ(x_z + U_z h)   n = tanh(x_n + U_n (r∘h))   h ← h + z∘(n−h)

    Columns: query, r, z, n. The candidate n waits for r∘h, which is saved.
    """

    padding_mask: tuple[Bool[Tensor, "B 1"], ...] | None = None
    """Rows whose state does not change at a step: their z is 0, and so is every gradient."""

    @override
    def products(self) -> list[Product]:
        return [Product(self.U[: 2 * self.D], self.gates[..., : 2 * self.D])]

    @override
    def _reset_input(self, old_states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return old_states

    @override
    def begin_forward(self) -> None:
        super().begin_forward()
        self.saved_states = self.tape.new_empty(*self.tape.shape[:2], self.D)
        self.reset_h = self.saved_states.unbind(dim=1)
        self.U_n = transpose_contiguous(self.U[2 * self.D :])

    @override
    def step_forward(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        self.rz[t].add_(x[:, : 2 * self.D]).sigmoid_()
        if self.padding_mask is not None:
            self.z[t].masked_fill_(self.padding_mask[t], 0.0)
        torch.mul(self.r[t], h, out=self.reset_h[t])
        torch.addmm(x[:, 2 * self.D :], self.reset_h[t], self.U_n, out=self.n[t]).tanh_()
        torch.lerp(h, self.n[t], self.z[t], out=out)
        return None

    @override
    def begin_backward(
        self,
        grad: Tape,
        old_states: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        super().begin_backward(grad, old_states, c)
        self.U_n = self.U[2 * self.D :]
        self.dreset_h = torch.empty_like(old_states[:, 0], memory_format=torch.contiguous_format)

    @override
    def step_backward(
        self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None
    ) -> None:
        torch.mul(dh[:, None], self.zn_factor[t], out=self.dzn[t])
        torch.mm(self.dn[t], self.U_n, out=self.dreset_h)
        torch.mul(self.dreset_h, self.r_factor[t], out=self.dr[t])
        dh.mul_(self.h_factor[t]).addcmul_(self.dreset_h, self.r[t])

    @override
    def weight_gradient(self, grad: Tape, old_states: Float[Tensor, "R D"]) -> Float[Tensor, "G D"]:
        assert self.saved_states is not None  # noqa: S101
        rz, n = grad.gates.flatten(0, 1).tensor_split([2 * self.D], dim=1)
        dU = torch.empty_like(self.U)
        torch.mm(rz.T, old_states, out=dU[: 2 * self.D])
        torch.mm(n.T, self.saved_states.flatten(0, 1), out=dU[2 * self.D :])
        return dU


@final
class ResetAfterGRUTape(_GRUTape):
    """r = σ(x_r + u_r)   z = σ(x_z + u_z)   n = tanh(x_n + r∘u_n)   h ← h + z∘(n−h)   u = U h

    Columns: query, u_n, r, z, n.
    """

    num_extra_columns = 1

    @override
    def products(self) -> list[Product]:
        return [
            Product(self.U[: 2 * self.D], self.gates[..., : 2 * self.D]),
            Product(self.U[2 * self.D :], self.extra_columns),
        ]

    @override
    def _reset_input(self, old_states: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.extra_columns

    @override
    def begin_forward(self) -> None:
        super().begin_forward()
        self.u_n = self.extra_columns.unbind(dim=1)

    @override
    def step_forward(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        self.rz[t].add_(x[:, : 2 * self.D]).sigmoid_()
        torch.addcmul(x[:, 2 * self.D :], self.r[t], self.u_n[t], out=self.n[t]).tanh_()
        torch.lerp(h, self.n[t], self.z[t], out=out)
        return None

    @override
    def begin_backward(
        self,
        grad: Tape,
        old_states: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        super().begin_backward(grad, old_states, c)
        self.du_n = grad.extra_columns.unbind(dim=1)

    @override
    def step_backward(
        self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None
    ) -> None:
        torch.mul(dh[:, None], self.zn_factor[t], out=self.dzn[t])
        torch.mul(self.dn[t], self.r_factor[t], out=self.dr[t])
        torch.mul(self.dn[t], self.r[t], out=self.du_n[t])
        dh.mul_(self.h_factor[t])

    @override
    def weight_gradient(self, grad: Tape, old_states: Float[Tensor, "R D"]) -> Float[Tensor, "G D"]:
        dU = torch.empty_like(self.U)
        rz = grad.gates[..., : 2 * self.D].flatten(0, 1)
        torch.mm(rz.T, old_states, out=dU[: 2 * self.D])
        torch.mm(grad.extra_columns.flatten(0, 1).T, old_states, out=dU[2 * self.D :])
        return dU


@final
class LSTMTape(Tape):
    """i, f, o = σ(x + U h)   g = tanh(x_g + U_g h)   c ← f∘c + i∘g   h ← o∘tanh(c)

    Columns: query, i, f, g, o. Every c is saved.
    """

    @override
    def begin_forward(self) -> None:
        self.saved_states = self.tape.new_empty(*self.tape.shape[:2], self.D)
        self.c = self.saved_states.unbind(dim=1)
        self.all_gates = self.gates.unbind(dim=1)
        self.input_forget_gates = self.gates[..., : 2 * self.D].unbind(dim=1)
        self.i, self.f, self.g, self.o = _unbind_gates(self.gates, 4)

    @override
    def step_forward(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        assert c is not None  # noqa: S101
        self.all_gates[t].add_(x)
        self.input_forget_gates[t].sigmoid_()
        self.g[t].tanh_()
        self.o[t].sigmoid_()
        torch.mul(self.f[t], c, out=self.c[t]).addcmul_(self.i[t], self.g[t])
        torch.tanh(self.c[t], out=out).mul_(self.o[t])
        return self.c[t]

    @override
    def begin_backward(
        self,
        grad: Tape,
        old_states: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        assert c is not None and self.saved_states is not None  # noqa: S101, PT018
        i, f, g, o = self.gates.chunk(4, dim=-1)
        old_c = torch.cat([c[:, None], self.saved_states[:, :-1]], dim=1)
        tanh_c = torch.tanh(self.saved_states)
        ifg_factor = old_states.new_empty(*old_states.shape[:2], 3, self.D)
        _sigmoid_backward(g, i, grad_input=ifg_factor[:, :, 0])
        _sigmoid_backward(old_c, f, grad_input=ifg_factor[:, :, 1])
        _tanh_backward(i, g, grad_input=ifg_factor[:, :, 2])
        self.ifg_factor = ifg_factor.unbind(dim=1)
        self.o_factor = _sigmoid_backward(tanh_c, o).unbind(dim=1)
        self.c_factor = _tanh_backward(o, tanh_c).unbind(dim=1)
        self.f = f.unbind(dim=1)
        self.difg = _unbind_adjacent_gates(grad.gates[..., : 3 * self.D], 3)
        self.do = grad.gates[..., 3 * self.D :].unbind(dim=1)

    @override
    def step_backward(
        self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None
    ) -> None:
        assert dc is not None  # noqa: S101
        torch.mul(dh, self.o_factor[t], out=self.do[t])
        dc.addcmul_(dh, self.c_factor[t])
        torch.mul(dc[:, None], self.ifg_factor[t], out=self.difg[t])
        dc.mul_(self.f[t])
        dh.zero_()


def _unbind_gates(gates: Float[Tensor, "B T G"], num_gates: int) -> list[tuple[Tensor, ...]]:
    """Return each gate's steps."""
    return [gate.unbind(dim=1) for gate in gates.chunk(num_gates, dim=-1)]


def _unbind_adjacent_gates(gates: Float[Tensor, "B T G"], num_gates: int) -> tuple[Tensor, ...]:
    """Return the steps of adjacent gates, each [B,num_gates,D]."""
    return gates.unflatten(-1, (num_gates, -1)).unbind(dim=1)


def _update_factors(
    old_states: Float[Tensor, "B T D"], z: Float[Tensor, "B T D"], n: Float[Tensor, "B T D"]
) -> tuple[Tensor, ...]:
    """Return the factors from dh to the gradients of z and n in h + z∘(n−h), step by step."""
    factors = z.new_empty(*z.shape[:2], 2, z.shape[2])
    torch.sub(n, old_states, out=factors[:, :, 0])
    _sigmoid_backward(factors[:, :, 0], z, grad_input=factors[:, :, 0])
    _tanh_backward(z, n, grad_input=factors[:, :, 1])
    return factors.unbind(dim=1)


TAPES: dict[CellName, type[Tape]] = {
    "gru_before": ResetBeforeGRUTape,
    "gru_after": ResetAfterGRUTape,
    "lstm": LSTMTape,
}
