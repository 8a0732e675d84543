"""Initial states of recurrent decoders."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import torch
from torch import nn
from typing_extensions import override

from regard.nn.cells import Cell, HiddenState
from regard.nn.encoder_output import EncoderOutput


class InitialState(nn.Module, ABC):
    """Computes the states before the first token."""

    @abstractmethod
    def forward(self, cells: Sequence[Cell], encoded: EncoderOutput) -> tuple[HiddenState, ...]:
        """Return one state per layer."""


@final
class ZeroInitialState(InitialState):
    """s_0 = 0"""

    @override
    def forward(self, cells: Sequence[Cell], encoded: EncoderOutput) -> tuple[HiddenState, ...]:
        rows = encoded.last.shape[0]
        zeros = (encoded.last.new_zeros(rows, cell.hidden_size) for cell in cells)
        return tuple(cell.state_with_output(h) for cell, h in zip(cells, zeros, strict=True))


@final
class CopiedInitialState(InitialState):
    """The encoder's last states, layer by layer (Sutskever et al. 2014, §2)."""

    @override
    def forward(self, cells: Sequence[Cell], encoded: EncoderOutput) -> tuple[HiddenState, ...]:
        return encoded.states


@final
class TanhInitialState(InitialState):
    """s_0 = tanh(W_s c), c the source's summary, each layer with its own W_s; an LSTM's c is 0."""

    def __init__(self, summary_size: int, hidden_size: int, num_layers: int) -> None:
        super().__init__()
        self.W_s = nn.ModuleList(
            nn.Linear(summary_size, hidden_size, bias=False) for _ in range(num_layers)
        )

    @override
    def forward(self, cells: Sequence[Cell], encoded: EncoderOutput) -> tuple[HiddenState, ...]:
        states = [torch.tanh(W_s(encoded.summary)) for W_s in self.W_s]
        return tuple(cell.state_with_output(s) for cell, s in zip(cells, states, strict=True))
