"""From a decoder's output to a logit for each token of the vocabulary, and to the loss.

The softmax is part of the loss and of the pointer-generator, whose logits are log p. Otherwise
search applies it.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from regard import kernels
from regard.nn import messages
from regard.nn.cross_entropy import label_smoothed_loss
from regard.nn.dropout import Dropout
from regard.nn.pointer_generator import PointerGenerator, PointerQuery


class ReadoutLayer(nn.Module, ABC):
    """The layer before the vocabulary: from the joined inputs to `output_size` numbers."""

    output_size: int

    @abstractmethod
    def forward(self, x: Float[Tensor, "*B X"]) -> Float[Tensor, "*B O"]:
        """Map the joined inputs."""


@final
class LinearLayer(ReadoutLayer):
    """The identity: logits are a linear map of the inputs."""

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    @override
    def forward(self, x: Float[Tensor, "*B X"]) -> Float[Tensor, "*B O"]:
        return x


@final
class TanhLayer(ReadoutLayer):
    """tanh(W [inputs])"""

    def __init__(self, input_size: int, output_size: int, bias: bool = True) -> None:
        super().__init__()
        self.output_size = output_size
        self.W = nn.Linear(input_size, output_size, bias=bias)

    @override
    def forward(self, x: Float[Tensor, "*B X"]) -> Float[Tensor, "*B O"]:
        return self.activate(kernels.linear(x, self.W.weight, bias=self.W.bias))

    def activate(self, x: Float[Tensor, "*B O"]) -> Float[Tensor, "*B O"]:
        """Apply the non-linearity to W [inputs]."""
        return torch.tanh(x)


@final
class MaxoutLayer(ReadoutLayer):
    """t_j = max(t̃_{2j−1}, t̃_{2j}), t̃ = W [inputs] twice as wide (Bahdanau et al. 2015, A.2.2)."""

    def __init__(self, input_size: int, output_size: int, bias: bool = True) -> None:
        super().__init__()
        self.output_size = output_size
        self.W = nn.Linear(input_size, 2 * output_size, bias=bias)

    @override
    def forward(self, x: Float[Tensor, "*B X"]) -> Float[Tensor, "*B O"]:
        return self.activate(kernels.linear(x, self.W.weight, bias=self.W.bias))

    def activate(self, x: Float[Tensor, "*B P"]) -> Float[Tensor, "*B O"]:
        """Apply the non-linearity to W [inputs]."""
        return x.reshape(*x.shape[:-1], -1, 2).amax(dim=-1)


@final
class Readout(nn.Module):
    """logits = G layer([inputs]), with dropout before G.

    G may be tied to an embedding matrix. With a pointer, tokens may also be copied, and log p takes
    the place of the logits.
    """

    def __init__(
        self,
        layer: ReadoutLayer,
        weight: nn.Parameter,
        *,
        bias: bool = False,
        dropout: float = 0.0,
        pointer: PointerGenerator | None = None,
    ) -> None:
        super().__init__()
        self.layer = layer
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(weight.shape[0])) if bias else None
        self.dropout = Dropout(dropout)
        self.pointer = pointer

    def forward(
        self, x: Float[Tensor, "*B X"], pointer_query: PointerQuery | None = None
    ) -> Float[Tensor, "*B V"]:
        """Score every token of the vocabulary."""
        logits = nn.functional.linear(self.dropout(self.layer(x)), self.weight, self.bias)
        if self.pointer is None:
            return logits
        if pointer_query is None:
            raise ValueError(messages.NO_POINTER_QUERY)
        return self.pointer(logits, x, pointer_query)

    def explain(self, call: kernels.Call, *, why_all_logits: str | None = None) -> kernels.Decision:
        """Return which implementation computes the loss, and why."""
        if self.pointer is not None:
            why_all_logits = messages.COPIES
        op = kernels.OPS["linear_loss"]
        if why_all_logits is None:
            return op.explain(call)
        reason = f"linear_loss: {why_all_logits}; {messages.ALL_LOGITS}"
        return kernels.Decision("all logits", reason)

    def loss(
        self,
        x: Float[Tensor, "*B X"],
        target: Int[Tensor, "*B"],
        visible: Bool[Tensor, "*B"],
        smoothing: float = 0.0,
        pointer_query: PointerQuery | None = None,
    ) -> Float[Tensor, ""]:
        """Σ (1−ε)·(−log p(y)) + ε·mean_v(−log p(v)) over visible rows.

        Does not hold all logits at once, unless tokens may be copied.
        """
        if pointer_query is not None:
            return label_smoothed_loss(self(x, pointer_query), target, visible, smoothing)
        rows = self.dropout(self.layer(x)).flatten(0, -2)
        return kernels.linear_loss(
            rows,
            self.weight,
            bias=self.bias,
            target=target.flatten(),
            visible=visible.flatten(),
            smoothing=smoothing,
        )
