"""An alignment as a heatmap for the terminal: a row per target token, a column per source token.

Source labels are cut to their columns and spelled out below; no cell is split. Nothing here prints;
the caller decides about colors.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from shutil import get_terminal_size
from typing import NamedTuple

from rich.cells import cell_len

from regard.terminal_text import fit, is_right_to_left, isolate, visible_token
from regard.viz.alignment import Alignment
from regard.viz.colors import ink, nearest_of_256, percent, ramp

MIN_WIDTH = 24
SHADES = " ░▒▓█"
# minimum and maximum cells of a column, a space included, widest first; numbers need four
COLUMN_SIZES = ((4, 17), (4, 11), (4, 7), (2, 7))
MIN_NUMBER_CELLS = 4
INDEXED_COLOR = 8
"""Bits of a color of 256."""


class Label(NamedTuple):
    """A token with invisible characters shown, and the part of it that fits."""

    full_text: str
    display_text: str
    isolated: bool

    def padded(self, width: int, right: bool = False) -> str:
        """Pad with spaces, which stay outside of right-to-left text."""
        space = " " * (width - cell_len(self.display_text))
        return (
            space + self.text(self.display_text) if right else self.text(self.display_text) + space
        )

    def text(self, part: str) -> str:
        """Isolate the direction of a text, if any label of the picture is right-to-left."""
        return isolate(part) if self.isolated else part


def render(alignment: Alignment, *, color: int, width: int | None = None) -> str:
    """Draw the weights as colored blocks with percentages, or as shades of gray characters.

    A `color` of 8 bits means 256 colors, any other number true color, and 0 or False none. The
    default width is that of the terminal. Columns that do not fit are counted, not drawn.
    """
    width = max(MIN_WIDTH, get_terminal_size().columns if width is None else width)
    source, target = (
        [visible_token(token) for token in x] for x in (alignment.source, alignment.target)
    )
    isolated = any(map(is_right_to_left, (*source, *target)))

    margin = min(max(map(cell_len, target), default=0), width // 3)
    sizes, numbers = _column_widths(source, width - margin - 1)
    columns = [
        Label(full_text, fit(full_text, size - 1), isolated)
        for full_text, size in zip(source, sizes, strict=False)
    ]
    rows = [Label(full_text, fit(full_text, margin), isolated) for full_text in target]

    lines = [" " * (margin + 1) + "".join(map(Label.padded, columns, sizes))]
    for label, weights in zip(rows, alignment.weights.tolist(), strict=True):
        cells = zip(weights, sizes, strict=False)
        row_cells = "".join(_cell(weight, size, color, numbers) for weight, size in cells)
        lines.append(f"{label.padded(margin, right=True)} {row_cells}")
    if left_out := len(source) - len(columns):
        lines.append(f"… {left_out} more column{'s' if left_out > 1 else ''}")
    lines += [*_legend("columns", columns, width), *_legend("rows", rows, width)]
    lines += ["", _color_legend(color)] if rows and columns else []
    return "\n".join(line.rstrip() for line in lines)


def _column_widths(labels: Sequence[str], width: int) -> tuple[list[int], bool]:
    """Return the width of each column that fits, and whether they are wide enough for numbers."""
    for min_width, max_width in COLUMN_SIZES:
        sizes = [min(max(cell_len(label) + 1, min_width), max_width) for label in labels]
        if sum(sizes) <= width:
            return sizes, min_width >= MIN_NUMBER_CELLS
    return [size for size, end in zip(sizes, accumulate(sizes), strict=True) if end <= width], False


def _cell(weight: float, size: int, color: int, numbers: bool) -> str:
    if color:
        return _colored_cell(weight, percent(weight).rjust(3) if numbers else "", size, color)
    nearest = round(min(max(weight, 0.0), 1.0) * (len(SHADES) - 1))
    return f"{SHADES[nearest] * (size - 1)} "


def _colored_cell(weight: float, text: str, size: int, color: int) -> str:
    """Write a text on the weight's color, and reset the color after the cell."""
    background = ramp(weight)
    if color == INDEXED_COLOR:
        number, background = nearest_of_256(background)
        codes = f"48;5;{number};38;5;{nearest_of_256(ink(background))[0]}"
    else:
        on, letters = (";".join(map(str, part)) for part in (background, ink(background)))
        codes = f"48;2;{on};38;2;{letters}"
    return f"\x1b[{codes}m{text.ljust(size)}\x1b[0m"


def _legend(what: str, labels: Sequence[Label], width: int) -> Iterator[str]:
    """Spell out the labels that were cut, numbered from 1."""
    cut_labels = [
        (number, label)
        for number, label in enumerate(labels, 1)
        if label.display_text != label.full_text
    ]
    line = f"{what}:"
    for number, label in cut_labels:
        shortened = fit(label.full_text, width - len(f"  {number} "))
        entry = f" {number} {label.text(shortened)}"
        if cell_len(line) + cell_len(entry) > width:
            yield line
            line = " "
        line += entry
    if cut_labels:
        yield line


def _color_legend(color: int) -> str:
    """Return the key of the colors or shades."""
    weights = [index / (len(SHADES) - 1) for index in range(len(SHADES))]
    if color:
        return "".join(_colored_cell(w, f"{100 * w:3.0f}", 4, color) for w in weights) + " %"
    return " ".join(f"{SHADES[i]} {100 * w:.0f}" for i, w in enumerate(weights) if i) + " %"
