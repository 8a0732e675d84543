"""The KV cache of a Transformer's own tokens, with capacity for tokens to come."""

from dataclasses import dataclass, replace

from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from regard.decoders.base import DecoderState

GROWTH = 16
"""Tokens by which the capacity of a full cache grows."""


@dataclass(frozen=True)
class KVCache(DecoderState):
    """Keys and values of all tokens so far, layer by layer; C is the capacity."""

    layers: tuple[tuple[Float[Tensor, "B C D"], Float[Tensor, "B C D"]], ...]

    @property
    def length(self) -> int:
        """The number of tokens so far."""
        return int(self.position[0])

    @override
    def gather(self, index: Int[Tensor, "R"]) -> "KVCache":
        """Return rows, with capacity for one token more."""
        t = self.length

        def gathered(part: Float[Tensor, "B C D"]) -> Float[Tensor, "R C1 D"]:
            copy = part.new_empty(len(index), t + 1, part.shape[2])
            copy[:, :t] = part[:, :t].index_select(0, index)
            return copy

        layers = tuple((gathered(keys), gathered(values)) for keys, values in self.layers)
        return KVCache(self.position.index_select(0, index), layers)

    def grow_if_full(self) -> "KVCache":
        """Return a cache with capacity for one token at least."""
        t, (keys, _) = self.length, self.layers[0]
        if keys.shape[1] > t:
            return self

        def grown(part: Float[Tensor, "B C D"]) -> Float[Tensor, "B C1 D"]:
            copy = part.new_empty(len(part), t + GROWTH, part.shape[2])
            copy[:, :t] = part
            return copy

        return replace(self, layers=tuple((grown(k), grown(v)) for k, v in self.layers))

    def write(
        self, layer: int, t: int, key: Float[Tensor, "B D"], value: Float[Tensor, "B D"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
        """Write the key and value of token t in place; return those of all tokens up to it."""
        keys, values = self.layers[layer]
        keys[:, t], values[:, t] = key, value
        return keys[:, : t + 1], values[:, : t + 1]

    def advance(self) -> "KVCache":
        """Return the cache after the step's token."""
        return replace(self, position=self.position + 1)
