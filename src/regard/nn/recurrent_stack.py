"""Cells laid over each other: several layers, in one direction or two.

A stack steps (one direction only) or scans; where its first states come from is not its business.
"""

from collections.abc import Callable
from typing import cast, final

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.kernels import OPS, Call, Decision
from regard.nn.cells import Cell, CellState, bidirectional_op, scan_both
from regard.nn.dropout import Dropout

MakeCell = Callable[[int], Cell]
"""input_size → a cell."""


@final
class RecurrentStack(nn.Module):
    """L layers: layer l reads what layer l−1 shows, with dropout between them.

    With residuals, a layer above the first shows h + its input. With two directions a layer
    shows [→h; ←h], and its last state holds both directions' last states side by side.
    """

    def __init__(
        self,
        make_cell: MakeCell,
        input_size: int,
        num_layers: int,
        *,
        bidirectional: bool = False,
        residual: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        first = make_cell(input_size)
        self.hidden_size = first.hidden_size
        self.output_size = self.hidden_size * (2 if bidirectional else 1)
        above = [self.output_size] * (num_layers - 1)
        self.cells = nn.ModuleList([first, *map(make_cell, above)])
        self.backward_cells = nn.ModuleList(
            map(make_cell, [input_size, *above] if bidirectional else [])
        )
        self.residual = residual
        self.dropout = Dropout(dropout)

    @property
    def layers(self) -> list[Cell]:
        """The cells that read from left to right, the lowest first."""
        return _cells(self.cells)

    @property
    def backward_layers(self) -> list[Cell]:
        """The cells that read from right to left, if any."""
        return _cells(self.backward_cells)

    def step(
        self, x: Float[Tensor, "B I"], states: tuple[CellState, ...]
    ) -> tuple[Float[Tensor, "B D"], tuple[CellState, ...]]:
        """Move every layer by one input; return what the top layer shows, and the states."""
        moved = []
        for layer, (cell, state) in enumerate(zip(self.layers, states, strict=True)):
            x = self.dropout(x) if layer else x
            moved.append(cell(x, state))
            x = self._show(moved[-1].h, x, layer)
        return x, tuple(moved)

    def scan(
        self, x: Float[Tensor, "B T I"], states: tuple[CellState, ...], mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T O"], tuple[CellState, ...]]:
        """Move along a line; return what the top layer shows at each input, and the last states."""
        last = []
        for layer, state in enumerate(states):
            x = self.dropout(x) if layer else x
            if self.backward_cells:
                left = self.backward_layers[layer]
                h, end = scan_both(self.layers[layer], left, x, state, mask)
            else:
                h, end = self.layers[layer].scan(x, state, mask)
            last.append(end)
            x = self._show(h, x, layer)
        return x, tuple(last)

    def explain(self, call: Call) -> Decision:
        """Return which implementation scans a line, and why."""
        forward = self.layers[0]
        joined = bidirectional_op(forward, self.backward_layers[0]) if self.backward_cells else None
        return OPS[joined or forward.scan_op].explain(call)

    def _show(
        self, h: Float[Tensor, "B *T O"], x: Float[Tensor, "B *T I"], layer: int
    ) -> Float[Tensor, "B *T O"]:
        return h + x if self.residual and layer else h


def _cells(modules: nn.ModuleList) -> list[Cell]:
    return cast(list[Cell], list(modules))
