"""An alignment as PNG or PDF, through matplotlib (`regard[plots]`), which is imported only here.

matplotlib shapes and orders letters as their script needs from 3.11 on.
"""

import io
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.cells import cell_len

from regard.errors import InputError
from regard.terminal_text import arrow_heading, fit, visible_token
from regard.viz import messages
from regard.viz.alignment import ATTENTION, Alignment
from regard.viz.attention_heads import AttentionHeads
from regard.viz.colors import ANCHORS, css, ink, percent, ramp
from regard.viz.fonts import code_point_labels, font_families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL_INCHES = 0.4
"""Inches of a cell's side; less if the picture would exceed MAX_INCHES."""

GRID_CELL_INCHES = 0.12
MAX_INCHES = 60
MAX_LABEL_CELLS, MAX_HORIZONTAL_LABEL_CELLS = 24, 3
DPI = 160
"""Dots per inch of a PNG."""


def to_image(
    alignment: Alignment,
    kind: Literal["png", "pdf"],
    lines: Sequence[str] = (),
    caption: str = ATTENTION,
) -> bytes:
    """Draw the weights as colored cells with percentages; the same weights are the same bytes."""
    sides = alignment.source, alignment.target
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens] for tokens in sides
    )
    title = [arrow_heading(line) for line in lines]

    def draw(figure: "Figure", write: Callable[[str], str]) -> None:
        figure.set_size_inches(*_figure_inches(alignment))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        _draw_cells(axes, alignment)
        _draw_labels(axes, list(map(write, source)), list(map(write, target)))
        _draw_title_and_caption(axes, list(map(write, title)), caption)

    return _to_bytes(draw, kind, "".join((*source, *target, *title, caption)))


def to_grid_image(
    heads: AttentionHeads, kind: Literal["png", "pdf"], lines: Sequence[str] = ()
) -> bytes:
    """Draw every layer and head as a small heatmap, a row for each layer."""
    sides = heads.source, heads.target
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens] for tokens in sides
    )
    title, caption = arrow_heading(*lines), heads.caption.replace(", in percent", "")

    def draw(figure: "Figure", write: Callable[[str], str]) -> None:
        side = min(GRID_CELL_INCHES, MAX_INCHES / max(1, len(target) * heads.num_layers))
        width, height = (side * len(tokens) + 0.5 for tokens in (source, target))
        figure.set_size_inches(width * heads.num_heads, height * heads.num_layers)
        plots = figure.subplots(heads.num_layers, heads.num_heads, squeeze=False)
        for layer, head in np.ndindex(heads.num_layers, heads.num_heads):
            axes: Axes = plots[layer, head]  # type: ignore[assignment]
            axes.pcolormesh(heads.weights[:, layer, head], cmap=_color_map(), vmin=0, vmax=1)
            axes.invert_yaxis()
            _draw_small_labels(axes, list(map(write, source)), list(map(write, target)))
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=7)
        figure.suptitle(f"{write(fit(title, 80))}\n{caption}", fontsize=8, parse_math=False)
        figure.tight_layout()

    return _to_bytes(draw, kind, "".join((*source, *target, title, caption)))


def plot(
    alignment: Alignment, axes: "Axes | None", lines: Sequence[str] = (), caption: str = ATTENTION
) -> "Axes":
    """Draw the weights into axes, or into a new figure of pyplot; return the axes."""
    try:
        from matplotlib import pyplot
        from matplotlib.text import Text
    except ImportError as error:
        raise InputError(messages.matplotlib_missing("plot")) from error
    sides = alignment.source, alignment.target
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens] for tokens in sides
    )
    title = [arrow_heading(line) for line in lines]
    everything = "".join((*source, *target, *title, caption))
    labels = code_point_labels(everything)
    families = font_families(everything.translate(labels))
    if axes is None:
        _, axes = pyplot.subplots(figsize=_figure_inches(alignment))
    _draw_cells(axes, alignment)
    source, target, title = ([x.translate(labels) for x in y] for y in (source, target, title))
    _draw_labels(axes, source, target)
    _draw_title_and_caption(axes, title, caption)
    for label in axes.findobj(Text):
        label.set_fontfamily(families)
    return axes


def _to_bytes(
    draw: "Callable[[Figure, Callable[[str], str]], None]",
    kind: Literal["png", "pdf"],
    everything: str,
) -> bytes:
    """Draw a figure whose fonts have every character, and return the file."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(messages.matplotlib_missing(kind)) from error
    replacements = code_point_labels(everything)
    # neither a user's style nor the clock may change the bytes
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams["font.family"] = font_families(everything.translate(replacements))
        figure = Figure(dpi=DPI)
        draw(figure, lambda text: text.translate(replacements))
        file = io.BytesIO()
        metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        figure.savefig(file, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.15)
    return file.getvalue()


def _figure_inches(alignment: Alignment) -> tuple[float, float]:
    rows, columns = alignment.weights.shape
    side = min(CELL_INCHES, MAX_INCHES / max(1, rows, columns))
    return max(1, columns) * side, max(1, rows) * side


def _color_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", list(map(css, ANCHORS)), N=1024)


def _draw_cells(axes: "Axes", alignment: Alignment) -> None:
    rows, columns = alignment.weights.shape
    if rows and columns:
        axes.pcolormesh(alignment.weights, cmap=_color_map(), vmin=0, vmax=1)
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
    is_rotated = max(map(cell_len, source), default=0) > MAX_HORIZONTAL_LABEL_CELLS
    style: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks([n + 0.5 for n in range(len(source))])
    axes.set_xticklabels(source, parse_math=False, **(style if is_rotated else {}))
    axes.set_yticks([n + 0.5 for n in range(len(target))])
    axes.set_yticklabels(target, parse_math=False)
    axes.tick_params(length=0, pad=4, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_small_labels(axes: "Axes", source: Sequence[str], target: Sequence[str]) -> None:
    """Write the tokens of one head of a grid."""
    axes.set_xticks([n + 0.5 for n in range(len(source))])
    axes.set_xticklabels(source, parse_math=False, fontsize=5, rotation=90)
    axes.set_yticks([n + 0.5 for n in range(len(target))])
    axes.set_yticklabels(target, parse_math=False, fontsize=5)
    axes.tick_params(length=0, pad=1)


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
