"""Token embeddings: rows of a matrix, optionally scaled, plus positions."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import InputError
from regard.nn import messages
from regard.nn.dropout import Dropout
from regard.nn.initialization import normal_parameter
from regard.nn.positions import LearnedPositions, SinusoidalPositions
from regard.special_tokens import BOS


@final
class Embedding(nn.Module):
    """e = E[token] · scale + P[position], with dropout on the sum.

    With `zero_bos` the embedding of BOS is the zero vector (Cho et al. 2014), otherwise a learned
    row. Without a size, E is the identity: one-hot vectors as wide as the vocabulary, nothing
    learned.
    """

    def __init__(
        self,
        vocabulary_size: int,
        size: int | None,
        *,
        scale: float = 1.0,
        positions: SinusoidalPositions | LearnedPositions | None = None,
        zero_bos: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.weight: Tensor
        if size is None:
            # empty; it holds the dtype and device of the one-hot vectors
            self.register_buffer("weight", torch.empty(vocabulary_size, 0), persistent=False)
        else:
            self.weight = normal_parameter(vocabulary_size, size)
        self.one_hot = size is None
        self.scale = scale
        self.positions = positions
        self.zero_bos = zero_bos
        self.dropout = Dropout(dropout)

    def forward(
        self, tokens: Int[Tensor, "B T"], position: Int[Tensor, "B"] | None = None
    ) -> Float[Tensor, "B T E"]:
        """Embed tokens, the first of which is at `position`, or at 0."""
        embedded = self._rows(tokens) * self.scale
        if self.zero_bos:
            embedded = embedded * (tokens != BOS)[..., None]
        if self.positions is not None:
            positions = _positions(tokens, position, self.positions.max_length)
            embedded = embedded + self.positions(positions).to(embedded.dtype)
        return self.dropout(embedded)

    def _rows(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        if self.one_hot:
            one_hot = nn.functional.one_hot(tokens.long(), self.weight.shape[0])
            return one_hot.to(self.weight.dtype)
        return nn.functional.embedding(tokens, self.weight)


def _positions(
    tokens: Int[Tensor, "B T"], position: Int[Tensor, "B"] | None, max_length: int
) -> Int[Tensor, "#B T"]:
    length = tokens.shape[1]
    if position is not None and position.device.type == "cpu":
        # elsewhere this would wait for the device; there the caller stops at max_length
        length += int(position.max())
    if length > max_length:
        raise InputError(messages.sequence_beyond_positions(length, max_length))
    steps = torch.arange(tokens.shape[1], device=tokens.device)[None]
    return steps if position is None else position[:, None] + steps
