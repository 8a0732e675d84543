"""Stacked recurrent cells: several layers, in one direction or two.

A stack steps (one direction only) or scans. The caller gives its initial states.
"""

from collections.abc import Callable
from typing import cast, final

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.kernels import OPS, Call, Decision
from regard.nn.cells import Cell, HiddenState, bidirectional_op, scan_both
from regard.nn.dropout import Dropout

MakeCell = Callable[[int], Cell]
"""input_size → a cell."""


@final
class RecurrentStack(nn.Module):
    """L layers: the input of layer l is the output of layer l−1, with dropout between them.

    With residuals, the output of a layer above the first is h + its input. With two directions the
    output of a layer is [→h; ←h], and its last state joins both directions' last states.
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
        first_layer = make_cell(input_size)
        self.hidden_size = first_layer.hidden_size
        self.output_size = self.hidden_size * (2 if bidirectional else 1)
        above = [self.output_size] * (num_layers - 1)
        self.cells = nn.ModuleList([first_layer, *map(make_cell, above)])
        self.backward_cells = nn.ModuleList(
            map(make_cell, [input_size, *above] if bidirectional else [])
        )
        self.residual = residual
        self.dropout = Dropout(dropout)

    @property
    def layers(self) -> list[Cell]:
        """The cells that scan from left to right, the lowest first."""
        return _cells(self.cells)

    @property
    def backward_layers(self) -> list[Cell]:
        """The cells that scan from right to left, if any."""
        return _cells(self.backward_cells)

    def step(
        self, x: Float[Tensor, "B I"], states: tuple[HiddenState, ...]
    ) -> tuple[Float[Tensor, "B D"], tuple[HiddenState, ...]]:
        """Step every layer by one input; return the top layer's output, and the states."""
        next_states = []
        for layer, (cell, state) in enumerate(zip(self.layers, states, strict=True)):
            x = self.dropout(x) if layer else x
            next_states.append(cell(x, state))
            x = self._add_residual(next_states[-1].h, x, layer)
        return x, tuple(next_states)

    def scan(
        self, x: Float[Tensor, "B T I"], states: tuple[HiddenState, ...], mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T O"], tuple[HiddenState, ...]]:
        """Scan a sequence; return the top layer's output at each input, and the last states."""
        last_states = []
        for layer, state in enumerate(states):
            x = self.dropout(x) if layer else x
            if self.backward_cells:
                backward = self.backward_layers[layer]
                h, last_state = scan_both(self.layers[layer], backward, x, state, mask)
            else:
                h, last_state = self.layers[layer].scan(x, state, mask)
            last_states.append(last_state)
            x = self._add_residual(h, x, layer)
        return x, tuple(last_states)

    def explain(self, call: Call) -> Decision:
        """Return which implementation scans a sequence, and why."""
        forward = self.layers[0]
        bidirectional_op_name = (
            bidirectional_op(forward, self.backward_layers[0]) if self.backward_cells else None
        )
        return OPS[bidirectional_op_name or forward.scan_op].explain(call)

    def _add_residual(
        self, h: Float[Tensor, "B *T O"], x: Float[Tensor, "B *T I"], layer: int
    ) -> Float[Tensor, "B *T O"]:
        return h + x if self.residual and layer else h


def _cells(modules: nn.ModuleList) -> list[Cell]:
    return cast(list[Cell], list(modules))
