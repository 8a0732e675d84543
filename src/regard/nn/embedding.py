"""Words become vectors: a row of a matrix, perhaps scaled, with the position added."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import InputError
from regard.nn.dropout import Dropout
from regard.nn.initialization import normal_parameter
from regard.nn.positions import LearnedPositions, SinusoidalPositions
from regard.special_tokens import BOS


@final
class Embedding(nn.Module):
    """e = E[word] · scale + P[position], with dropout on the sum.

    With `zero_bos` the word before the first is the zero vector (Cho et al. 2014), otherwise
    the learned row of BOS. Without a size, E is the identity: a one at the word's id and zeros
    elsewhere, as wide as the vocabulary, nothing learned.
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
            # no numbers, but whose dtype and device the ones and zeros take
            self.register_buffer("weight", torch.empty(vocabulary_size, 0), persistent=False)
        else:
            self.weight = normal_parameter(vocabulary_size, size)
        self.one_hot = size is None
        self.scale = scale
        self.positions = positions
        self.zero_bos = zero_bos
        self.dropout = Dropout(dropout)

    def forward(
        self, words: Int[Tensor, "B T"], position: Int[Tensor, "B"] | None = None
    ) -> Float[Tensor, "B T E"]:
        """Embed words, the first of which stands at `position`, or at 0."""
        embedded = self._rows(words) * self.scale
        if self.zero_bos:
            embedded = embedded * (words != BOS)[..., None]
        if self.positions is not None:
            places = self.positions(_places(words, position, self.positions.max_length))
            embedded = embedded + places.to(embedded.dtype)
        return self.dropout(embedded)

    def _rows(self, words: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        if self.one_hot:
            hot = nn.functional.one_hot(words.long(), self.weight.shape[0])
            return hot.to(self.weight.dtype)
        return nn.functional.embedding(words, self.weight)


def _places(
    words: Int[Tensor, "B T"], position: Int[Tensor, "B"] | None, max_length: int
) -> Int[Tensor, "#B T"]:
    length = words.shape[1]
    if position is not None and position.device.type == "cpu":
        # elsewhere this would wait for the device; there the caller stops at max_length
        length += int(position.max())
    if length > max_length:
        raise InputError(
            f"the line has {length} symbols, but the model has positions for {max_length}; "
            f"max_length = {length} would do"
        )
    steps = torch.arange(words.shape[1], device=words.device)[None]
    return steps if position is None else position[:, None] + steps
