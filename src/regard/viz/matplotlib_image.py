"""An alignment as PNG or PDF, through matplotlib (`regard[plots]`), which is imported only here.

matplotlib shapes and orders letters as their script needs from 3.11 on.
"""

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len

from regard.errors import InputError
from regard.terminal_text import arrow_heading, fit, visible_token
from regard.viz import messages
from regard.viz.alignment import ATTENTION, Alignment
from regard.viz.colors import ANCHORS, css, ink, percent, ramp
from regard.viz.fonts import code_point_labels, font_families

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL_INCHES = 0.4
"""Inches of a cell's side; less if the picture would exceed MAX_INCHES."""

MAX_INCHES = 60
MAX_LABEL, MAX_HORIZONTAL = 24, 3
DPI = 160
"""Dots per inch of a PNG."""


def to_image(
    alignment: Alignment,
    kind: Literal["png", "pdf"],
    lines: Sequence[str] = (),
    caption: str = ATTENTION,
) -> bytes:
    """Draw the weights as colored cells with percentages; the same weights are the same bytes."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(messages.matplotlib_missing(kind)) from error
    sides = alignment.source, alignment.target
    source, target = (
        [fit(visible_token(token), MAX_LABEL) for token in tokens] for tokens in sides
    )
    title = [arrow_heading(line) for line in lines]
    everything = "".join((*source, *target, *title, caption))
    replacements = code_point_labels(everything)
    source, target, title = (
        [x.translate(replacements) for x in part] for part in (source, target, title)
    )
    # neither a user's style nor the clock may change the bytes
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["font.family"] = font_families(everything.translate(replacements))
        figure = Figure(figsize=_figure_inches(alignment), dpi=DPI)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        _draw_cells(axes, alignment)
        _draw_labels(axes, source, target)
        _draw_title_and_caption(axes, title, caption)
        file = io.BytesIO()
        metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(file, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.15)
    return file.getvalue()


def _figure_inches(alignment: Alignment) -> tuple[float, float]:
    rows, columns = alignment.weights.shape
    side = min(CELL_INCHES, MAX_INCHES / max(1, rows, columns))
    return max(1, columns) * side, max(1, rows) * side


def _draw_cells(axes: "Axes", alignment: Alignment) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = alignment.weights.shape
    if rows and columns:
        colors = LinearSegmentedColormap.from_list("regard", list(map(css, ANCHORS)), N=1024)
        axes.pcolormesh(alignment.weights, cmap=colors, vmin=0, vmax=1)
    axes.set_xlim(0, max(1, columns))
    axes.set_ylim(max(1, rows), 0)
    size = 8 * _figure_inches(alignment)[0] / (CELL_INCHES * max(1, columns))
    for row, weights in enumerate(alignment.weights.tolist()):
        for column, weight in enumerate(weights):
            if text := percent(weight):
                style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
                color = css(ink(ramp(weight)))
                axes.text(column + 0.5, row + 0.5, text, color=color, **style)


def _draw_labels(axes: "Axes", source: Sequence[str], target: Sequence[str]) -> None:
    """Write the tokens literally: a dollar sign starts no formula."""
    is_rotated = max(map(cell_len, source), default=0) > MAX_HORIZONTAL
    style: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks([n + 0.5 for n in range(len(source))])
    axes.set_xticklabels(source, parse_math=False, **(style if is_rotated else {}))
    axes.set_yticks([n + 0.5 for n in range(len(target))])
    axes.set_yticklabels(target, parse_math=False)
    axes.tick_params(length=0, pad=4, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_title_and_caption(axes: "Axes", title: Sequence[str], caption: str) -> None:
    title_lines = [fit("→ " * (n > 0) + line, 80) for n, line in enumerate(title)]
    axes.set_title("\n".join(title_lines), loc="left", fontsize=10, pad=8, parse_math=False)
    axes.annotate(
        "\n".join(textwrap.wrap(caption, 60)),
        (0, 0),
        (0, -10),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=8,
        color="#555555",
    )
