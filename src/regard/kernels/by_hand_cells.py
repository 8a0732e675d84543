"""What a cell leaves on the tape of a recurrence at each step, and the way back over it.

A tape is one buffer [B,T,P]: the query that the state asks with, what else a cell must keep of its
product with the old state, and its gates. The gradients' tape has the same columns. None of these
knows what is attended to.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from regard.kernels.reference import CellName

_sigmoid_back = torch.ops.aten.sigmoid_backward
_tanh_back = torch.ops.aten.tanh_backward


class Product(NamedTuple):
    """A matrix that meets a state, and where its products lie."""

    matrix: Float[Tensor, "P D"]
    columns: Float[Tensor, "B T P"]


def turned(matrix: Float[Tensor, "P D"]) -> Float[Tensor, "D P"]:
    """Return the transposed matrix in one piece: products with it are a third faster, T times."""
    return matrix.contiguous().T.contiguous()


class Tape(ABC):
    """One cell's part in a recurrence; steps are read and written as views made once."""

    extra: ClassVar[int] = 0
    """How many times D columns stand between the query and the gates."""

    def __init__(
        self,
        tape: Float[Tensor, "B T P"],
        U: Float[Tensor, "G D"],
        query: int,
        kept: Float[Tensor, "B T D"] | None = None,
    ) -> None:
        self.tape, self.U, self.kept = tape, U, kept
        self.D = U.shape[1]
        self.queries = tape[..., :query]
        self.between = tape[..., query : query + self.extra * self.D]
        self.gates = tape[..., query + self.extra * self.D :]

    @classmethod
    def empty(cls, x: Float[Tensor, "B T G"], query: int, D: int) -> Float[Tensor, "B T P"]:
        """Make the buffer of a tape."""
        return x.new_empty(*x.shape[:2], query + cls.extra * D + x.shape[-1])

    def products(self) -> list[Product]:
        """Return what the old state is multiplied by, and the columns that fills."""
        return [Product(self.U, self.gates)]

    @abstractmethod
    def begin(self) -> None:
        """Prepare what `move` needs at every step."""

    @abstractmethod
    def move(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        """Write the next h to `out`, given x and, on the tape, the product; return the next c."""

    @abstractmethod
    def begin_back(
        self,
        grad: "Tape",
        before: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        """Prepare the way back: all factors that no gradient is part of, for all steps at once."""

    @abstractmethod
    def back(self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None) -> None:
        """Write the gates' gradients of a step; leave in dh and dc what reaches h and c past U."""

    def weight_back(self, grad: "Tape", before: Float[Tensor, "R D"]) -> Float[Tensor, "G D"]:
        """Return dU, in one product over all steps; `before` are the old states."""
        return grad.gates.flatten(0, 1).T @ before


class _GRU(Tape):
    """What the two GRUs share: the last gates are r, z and n, and h ← h + z∘(n−h)."""

    @abstractmethod
    def _reset_of(self, before: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return what r is multiplied by, at every step."""

    @override
    def begin(self) -> None:
        self.rz = self.gates[..., : 2 * self.D].unbind(dim=1)
        self.r, self.z, self.n = _steps(self.gates, 3)

    @override
    def begin_back(
        self,
        grad: Tape,
        before: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        r, z, n = self.gates.chunk(3, dim=-1)
        self.r, self.keep = r.unbind(dim=1), (1 - z).unbind(dim=1)
        self.by_r = _sigmoid_back(self._reset_of(before), r).unbind(dim=1)
        self.by_zn = _renewal(before, z, n)
        self.dr, _, self.dn = _steps(grad.gates, 3)
        self.dzn = _side_by_side(grad.gates[..., self.D :], 2)


@final
class GRUBefore(_GRU):
    """r = σ(x_r + U_r h)   z = σ(x_z + U_z h)   n = tanh(x_n + U_n (r∘h))   h ← h + z∘(n−h)

    Columns: query, r, z, n. The candidate n waits for r∘h, which is kept.
    """

    held: tuple[Bool[Tensor, "B 1"], ...] | None = None
    """Rows that stay as they are at a step: their z is 0, and so is every gradient."""

    @override
    def products(self) -> list[Product]:
        return [Product(self.U[: 2 * self.D], self.gates[..., : 2 * self.D])]

    @override
    def _reset_of(self, before: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return before

    @override
    def begin(self) -> None:
        super().begin()
        self.kept = self.tape.new_empty(*self.tape.shape[:2], self.D)
        self.reset = self.kept.unbind(dim=1)
        self.U_n = turned(self.U[2 * self.D :])

    @override
    def move(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        self.rz[t].add_(x[:, : 2 * self.D]).sigmoid_()
        if self.held is not None:
            self.z[t].masked_fill_(self.held[t], 0.0)
        torch.mul(self.r[t], h, out=self.reset[t])
        torch.addmm(x[:, 2 * self.D :], self.reset[t], self.U_n, out=self.n[t]).tanh_()
        torch.lerp(h, self.n[t], self.z[t], out=out)
        return None

    @override
    def begin_back(
        self,
        grad: Tape,
        before: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        super().begin_back(grad, before, c)
        self.U_n = self.U[2 * self.D :]
        self.dreset = torch.empty_like(before[:, 0], memory_format=torch.contiguous_format)

    @override
    def back(self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None) -> None:
        torch.mul(dh[:, None], self.by_zn[t], out=self.dzn[t])
        torch.mm(self.dn[t], self.U_n, out=self.dreset)
        torch.mul(self.dreset, self.by_r[t], out=self.dr[t])
        dh.mul_(self.keep[t]).addcmul_(self.dreset, self.r[t])

    @override
    def weight_back(self, grad: Tape, before: Float[Tensor, "R D"]) -> Float[Tensor, "G D"]:
        assert self.kept is not None  # noqa: S101
        rz, n = grad.gates.flatten(0, 1).tensor_split([2 * self.D], dim=1)
        dU = torch.empty_like(self.U)
        torch.mm(rz.T, before, out=dU[: 2 * self.D])
        torch.mm(n.T, self.kept.flatten(0, 1), out=dU[2 * self.D :])
        return dU


@final
class GRUAfter(_GRU):
    """r = σ(x_r + u_r)   z = σ(x_z + u_z)   n = tanh(x_n + r∘u_n)   h ← h + z∘(n−h)   u = U h

    Columns: query, u_n, r, z, n.
    """

    extra = 1

    @override
    def products(self) -> list[Product]:
        return [
            Product(self.U[: 2 * self.D], self.gates[..., : 2 * self.D]),
            Product(self.U[2 * self.D :], self.between),
        ]

    @override
    def _reset_of(self, before: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.between

    @override
    def begin(self) -> None:
        super().begin()
        self.u_n = self.between.unbind(dim=1)

    @override
    def move(
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
    def begin_back(
        self,
        grad: Tape,
        before: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        super().begin_back(grad, before, c)
        self.du_n = grad.between.unbind(dim=1)

    @override
    def back(self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None) -> None:
        torch.mul(dh[:, None], self.by_zn[t], out=self.dzn[t])
        torch.mul(self.dn[t], self.by_r[t], out=self.dr[t])
        torch.mul(self.dn[t], self.r[t], out=self.du_n[t])
        dh.mul_(self.keep[t])

    @override
    def weight_back(self, grad: Tape, before: Float[Tensor, "R D"]) -> Float[Tensor, "G D"]:
        dU = torch.empty_like(self.U)
        rz = grad.gates[..., : 2 * self.D].flatten(0, 1)
        torch.mm(rz.T, before, out=dU[: 2 * self.D])
        torch.mm(grad.between.flatten(0, 1).T, before, out=dU[2 * self.D :])
        return dU


@final
class LSTM(Tape):
    """i, f, o = σ(x + U h)   g = tanh(x_g + U_g h)   c ← f∘c + i∘g   h ← o∘tanh(c)

    Columns: query, i, f, g, o. Every c is kept.
    """

    @override
    def begin(self) -> None:
        self.kept = self.tape.new_empty(*self.tape.shape[:2], self.D)
        self.c = self.kept.unbind(dim=1)
        self.every = self.gates.unbind(dim=1)
        self.doors = self.gates[..., : 2 * self.D].unbind(dim=1)
        self.i, self.f, self.g, self.o = _steps(self.gates, 4)

    @override
    def move(
        self,
        t: int,
        x: Float[Tensor, "B G"],
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"] | None,
        out: Float[Tensor, "B D"],
    ) -> Float[Tensor, "B D"] | None:
        assert c is not None  # noqa: S101
        self.every[t].add_(x)
        self.doors[t].sigmoid_()
        self.g[t].tanh_()
        self.o[t].sigmoid_()
        torch.mul(self.f[t], c, out=self.c[t]).addcmul_(self.i[t], self.g[t])
        torch.tanh(self.c[t], out=out).mul_(self.o[t])
        return self.c[t]

    @override
    def begin_back(
        self,
        grad: Tape,
        before: Float[Tensor, "B T D"],
        c: Float[Tensor, "B D"] | None,
    ) -> None:
        assert c is not None and self.kept is not None  # noqa: S101, PT018
        i, f, g, o = self.gates.chunk(4, dim=-1)
        stored = torch.cat([c[:, None], self.kept[:, :-1]], dim=1)
        seen = torch.tanh(self.kept)
        by_ifg = before.new_empty(*before.shape[:2], 3, self.D)
        _sigmoid_back(g, i, grad_input=by_ifg[:, :, 0])
        _sigmoid_back(stored, f, grad_input=by_ifg[:, :, 1])
        _tanh_back(i, g, grad_input=by_ifg[:, :, 2])
        self.by_ifg = by_ifg.unbind(dim=1)
        self.by_o = _sigmoid_back(seen, o).unbind(dim=1)
        self.by_c = _tanh_back(o, seen).unbind(dim=1)
        self.f = f.unbind(dim=1)
        self.difg = _side_by_side(grad.gates[..., : 3 * self.D], 3)
        self.do = grad.gates[..., 3 * self.D :].unbind(dim=1)

    @override
    def back(self, t: int, dh: Float[Tensor, "B D"], dc: Float[Tensor, "B D"] | None) -> None:
        assert dc is not None  # noqa: S101
        torch.mul(dh, self.by_o[t], out=self.do[t])
        dc.addcmul_(dh, self.by_c[t])
        torch.mul(dc[:, None], self.by_ifg[t], out=self.difg[t])
        dc.mul_(self.f[t])
        dh.zero_()


def _steps(gates: Float[Tensor, "B T G"], number: int) -> list[tuple[Tensor, ...]]:
    """Return each gate's steps."""
    return [gate.unbind(dim=1) for gate in gates.chunk(number, dim=-1)]


def _side_by_side(gates: Float[Tensor, "B T G"], number: int) -> tuple[Tensor, ...]:
    """Return the steps of several gates, each [B,number,D]."""
    return gates.unflatten(-1, (number, -1)).unbind(dim=1)


def _renewal(
    before: Float[Tensor, "B T D"], z: Float[Tensor, "B T D"], n: Float[Tensor, "B T D"]
) -> tuple[Tensor, ...]:
    """Return what dh is multiplied by on its way into z and n of h + z∘(n−h), step by step."""
    both = z.new_empty(*z.shape[:2], 2, z.shape[2])
    torch.sub(n, before, out=both[:, :, 0])
    _sigmoid_back(both[:, :, 0], z, grad_input=both[:, :, 0])
    _tanh_back(z, n, grad_input=both[:, :, 1])
    return both.unbind(dim=1)


TAPES: dict[CellName, type[Tape]] = {"gru_before": GRUBefore, "gru_after": GRUAfter, "lstm": LSTM}
