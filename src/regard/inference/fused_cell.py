"""A recurrent cell's update in few passes, once its two products are known."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.inference.fixed_row_matmul import FixedRowMatmul
from regard.nn.cells import Cell, HiddenState


@final
class FusedCell:
    """The next state of a cell, given x = W x + b and u = recurrent_weight h."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.D = cell, cell.hidden_size
        reset_before = cell.op == "gru_before"
        self.U_n = FixedRowMatmul(cell.U.weight[2 * self.D :]) if reset_before else None

    def __call__(
        self, x: Float[Tensor, "B G"], u: Float[Tensor, "B P"], state: HiddenState
    ) -> HiddenState:
        """Return the next state."""
        if self.cell.op == "lstm":
            return self.cell.gates(x, u, state)
        (x_g, x_n), (u_g, u_n) = (part.tensor_split([2 * self.D], dim=1) for part in (x, u))
        r, z = torch.sigmoid_(x_g + u_g).chunk(2, dim=1)
        n = torch.addcmul(x_n, r, u_n) if self.U_n is None else self.U_n(r * state.h, x_n)
        return HiddenState(torch.lerp(state.h, n.tanh_(), z))
