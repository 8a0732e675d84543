"""The weights of every layer and head, with their tokens: one of them, a mean, or a grid of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from jaxtyping import Float

from regard.errors import InputError
from regard.viz import messages
from regard.viz.alignment import Alignment


@dataclass(frozen=True, eq=False, repr=False)
class AttentionHeads:
    """Weights of target tokens (rows) over source tokens (columns), for each layer and head.

    `caption` says what they are. For self-attention, both sides are tokens of one sequence.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Float[np.ndarray, "T L H S"]
    caption: str

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return int(self.weights.shape[1])

    @property
    def num_heads(self) -> int:
        """The number of heads in each layer."""
        return int(self.weights.shape[2])

    def select(self, layer: int | None = None, head: int | None = None) -> Alignment:
        """Return a layer and head, counted from 1; without a number, the mean over all of them."""
        self._check("layer", layer, self.num_layers)
        self._check("head", head, self.num_heads)
        layers = slice(None) if layer is None else slice(layer - 1, layer)
        heads = slice(None) if head is None else slice(head - 1, head)
        weights = self.weights[:, layers, heads].mean(axis=(1, 2))
        return Alignment(self.source, self.target, weights)

    def describe(self, layer: int | None = None, head: int | None = None) -> str:
        """Return the caption of a selection."""
        if self.num_layers * self.num_heads == 1:
            return self.caption
        numbers = [f"layer {layer}"] * (layer is not None) + [f"head {head}"] * (head is not None)
        means = [f"{self.num_layers} layers"] * (layer is None)
        means += [f"{self.num_heads} heads"] * (head is None)
        mean = f"mean of {' × '.join(means)}" if means else ""
        return f"{self.caption} ({', '.join(filter(None, [*numbers, mean]))})"

    def save(self, path: str | PathLike[str], lines: Sequence[str] = ()) -> None:
        """Draw every layer and head into a file; its ending is svg, html, png or pdf."""
        from regard.viz.files import grid_file, save_picture

        save_picture(path, lambda kind: grid_file(self, kind, lines))

    def __repr__(self) -> str:
        T, L, H, S = self.weights.shape
        return f"AttentionHeads({L} layers × {H} heads, {T} × {S} tokens)"

    def _repr_html_(self) -> str:
        """Show every layer and head in a notebook."""
        from regard.viz.head_grid import to_grid_svg

        return to_grid_svg(self)

    @staticmethod
    def _check(name: str, number: int | None, limit: int) -> None:
        if number is not None and not 1 <= number <= limit:
            raise InputError(messages.no_such_layer_or_head(name, number, limit))
