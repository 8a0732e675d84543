"""Products of a fixed number of rows: a row's result cannot depend on how many there are.

The float32 result of a product changes with its number of rows. What is computed number by number
or row by row may run over all of them at once; a product runs tile by tile.
"""

from collections.abc import Iterator
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.nn.cells import Cell, Hidden

# a multiple of every vector width, so that no element-wise kernel has a tail of its own
ROWS = 32


def tiles(number: int, size: int = ROWS) -> Iterator[slice]:
    """Return where each tile of so many rows begins and ends."""
    return (slice(first, first + size) for first in range(0, number, size))


@final
class Tiled:
    """x M for matrices M that meet the same input, side by side."""

    def __init__(self, *matrices: Float[Tensor, "_ I"]) -> None:
        parts = [matrix.detach() for matrix in matrices]
        # laid as a product of few rows likes it; one alone may lie so already
        joined = parts[0] if len(parts) == 1 else torch.cat(parts)
        self.matrix = joined.t().contiguous()
        self.output_size = self.matrix.shape[1]

    def __call__(
        self, x: Float[Tensor, "B I"], plus: Float[Tensor, "*#B O"] | None = None, size: int = ROWS
    ) -> Float[Tensor, "B O"]:
        """Return x M, or with something that is added, so many rows at a time."""
        if len(x) <= size:
            return x @ self.matrix if plus is None else torch.addmm(plus, x, self.matrix)
        out = x.new_empty(len(x), self.output_size)
        added = None if plus is None else plus.expand_as(out)
        for here in tiles(len(x), size):
            if added is None:
                torch.mm(x[here], self.matrix, out=out[here])
            else:
                torch.addmm(added[here], x[here], self.matrix, out=out[here])
        return out


@final
class Moving:
    """A cell that moves where W x + b and the product with `met` are known, in few passes."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.D = cell, cell.hidden_size
        waits = cell.op == "gru_before"
        self.U_n = Tiled(cell.U.weight[2 * self.D :]) if waits else None

    def __call__(self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: Hidden) -> Hidden:
        """Return the next state."""
        if self.cell.op == "lstm":
            return self.cell.gates(x, u, state)
        (x_g, x_n), (u_g, u_n) = (part.tensor_split([2 * self.D], dim=1) for part in (x, u))
        r, z = torch.sigmoid_(x_g + u_g).chunk(2, dim=1)
        n = torch.addcmul(x_n, r, u_n) if self.U_n is None else self.U_n(r * state.h, x_n)
        return Hidden(torch.lerp(state.h, n.tanh_(), z))
