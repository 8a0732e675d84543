"""Matrix products with a fixed number of rows: no row depends on how many others there are.

The float32 result of a product changes with its number of rows. Element-wise operations and
operations within a row may therefore run over all rows at once; a product runs tile by tile.
"""

from collections.abc import Iterator
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

# a multiple of every vector width: no element-wise kernel has a remainder
TILE_ROWS = 32

# a GPU computes as many rows in the time of one
GPU_TILE_ROWS = 256


def tile_rows(device: torch.device) -> int:
    """Return the number of rows of every product on a device."""
    return TILE_ROWS if device.type == "cpu" else GPU_TILE_ROWS


def tiles(num_rows: int, size: int = TILE_ROWS) -> Iterator[slice]:
    """Return where each tile of so many rows begins and ends."""
    return (slice(first, first + size) for first in range(0, num_rows, size))


@final
class FixedRowMatmul:
    """x M, tile by tile; matrices that multiply the same input are joined side by side."""

    def __init__(self, *matrices: Float[Tensor, "_ I"]) -> None:
        parts = [matrix.detach() for matrix in matrices]
        # the layout that a product of few rows is fastest with; a single matrix may have it already
        joined = parts[0] if len(parts) == 1 else torch.cat(parts)
        self.matrix = joined.t().contiguous()
        self.output_size = self.matrix.shape[1]

    def __call__(
        self,
        x: Float[Tensor, "B I"],
        addend: Float[Tensor, "*#B O"] | None = None,
        size: int = TILE_ROWS,
    ) -> Float[Tensor, "B O"]:
        """Return x M, plus an addend if there is one; `size` is the number of rows of a tile."""
        if len(x) <= size:
            return x @ self.matrix if addend is None else torch.addmm(addend, x, self.matrix)
        out = x.new_empty(len(x), self.output_size)
        addends = None if addend is None else addend.expand_as(out)
        for tile in tiles(len(x), size):
            if addends is None:
                torch.mm(x[tile], self.matrix, out=out[tile])
            else:
                torch.addmm(addends[tile], x[tile], self.matrix, out=out[tile])
        return out
