"""An attention matrix with its tokens, from which every picture is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from regard.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ATTENTION = (
    "Attention: how much each target token (row) looked at each source token (column), in percent."
)
INFLUENCE = (
    "Influence by gradient, not attention: how much each source token (column) moved each "
    "target token (row), in percent."
)
ENCODER_SELF_ATTENTION = (
    "Self-attention of the encoder: how much each source token (row) looked at each source token "
    "(column), in percent."
)
DECODER_SELF_ATTENTION = (
    "Self-attention of the decoder: how much the step that writes each token (row) looked at the "
    "start ▷ and the tokens before (column), in percent."
)
"""Captions: what the weights mean."""

ROUNDING = 1e-2
"""Tolerance outside [0, 1]: half precision and means over heads round."""


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Weights of target tokens (rows) over source tokens (columns), both in reading order.

    The last target token may be an end mark of the caller's choice: EOS attends too.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Float[np.ndarray, "T S"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", tuple(self.source))
        object.__setattr__(self, "target", tuple(self.target))
        object.__setattr__(self, "weights", _read_only_copy(self.weights))
        self._check()

    def _check(self) -> None:
        shape = (len(self.target), len(self.source))
        if self.weights.shape != shape:
            raise InputError(
                f"weights = an array of {_format_shape(self.weights.shape)}, "
                f"but it must be {_format_shape(shape)}: "
                "a row for each target token, a column for each source token"
            )
        # this also excludes NaN
        inside = (self.weights >= -ROUNDING) & (self.weights <= 1 + ROUNDING)
        if not inside.all():
            row, column = np.argwhere(~inside)[0]
            raise InputError(
                f"weights = {self.weights[row, column]} for target {row + 1} "
                f"({self.target[row]!r}) and source {column + 1} ({self.source[column]!r}), "
                "but it must be a number from 0 to 1"
            )

    def largest(self, row: int) -> int | None:
        """Return the source position with the largest weight in a row, the first of equals.

        None if all its weights are zero, or there is no source.
        """
        weights = self.weights[row]
        return int(weights.argmax()) if weights.any() else None

    def pharaoh(self, rows: int | None = None) -> str:
        """Return `source-target` pairs from 0, one for each target token with a weight above zero.

        `rows` is the number of target tokens to include, to leave out an end mark.
        """
        links = ((self.largest(row), row) for row in range(len(self.target))[:rows])
        return " ".join(f"{column}-{row}" for column, row in links if column is not None)

    def save(
        self, path: str | PathLike[str], lines: Sequence[str] = (), caption: str = ATTENTION
    ) -> None:
        """Draw into a file; its ending is the format: svg, html, png or pdf."""
        from regard.viz.files import alignment_file, save_picture

        save_picture(path, lambda kind: alignment_file(self, kind, lines, caption))

    def plot(
        self, axes: "Axes | None" = None, lines: Sequence[str] = (), caption: str = ATTENTION
    ) -> "Axes":
        """Draw with matplotlib, into axes or a new figure; return the axes."""
        from regard.viz.matplotlib_image import plot

        return plot(self, axes, lines, caption)

    def __repr__(self) -> str:
        rows, columns = self.weights.shape
        return f"Alignment({rows} target tokens × {columns} source tokens)"

    def _repr_html_(self) -> str:
        """Show the heatmap in a notebook."""
        from regard.viz.html_heatmap import to_html

        return to_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return what `json.dumps` takes; weights are not rounded."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": self.weights.tolist(),
        }


def _read_only_copy(weights: object) -> Float[np.ndarray, "..."]:
    """Copy the weights in their own precision; nobody can change the copy."""
    try:
        copied = np.array(weights)
        copied = copied if copied.dtype.kind == "f" else copied.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"weights = {shortened(weights)}, but it must be an array of numbers"
        ) from None
    copied.setflags(write=False)
    return copied


def _format_shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "no axis"
