"""An alignment as a self-contained SVG; the same weights give the same bytes.

Each cell has its weight as `data-weight`, with all digits, and its two tokens in its title. The
background is always white: a picture can be put anywhere.
"""

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from math import cos, pi, sin
from typing import NamedTuple

from rich.cells import cell_len

from regard.terminal_text import arrow_heading, fit, token_label, visible_token
from regard.viz.alignment import ATTENTION, Alignment
from regard.viz.colors import css, ink, percent, ramp

CELL_WIDTH, CELL_HEIGHT = 36, 26
"""Size of a cell in SVG units."""

FONT_SIZE, LETTER_WIDTH = 14, 8.4
"""Font size, and the assumed width of one terminal cell of text."""

MARGIN, MIN_WIDTH, MAX_LABEL_CELLS = 12, 420, 24
MAX_HORIZONTAL_LABEL_CELLS, LABEL_ANGLE = 4, -45
"""Source labels up to this many cells are horizontal; longer ones are rotated."""

FONTS = "'Noto Sans','Noto Sans CJK SC','Noto Naskh Arabic',system-ui,sans-serif"
INK, GRAY = "#1a1a1a", "#555555"


class _Layout(NamedTuple):
    """Positions and sizes of the parts of a picture."""

    left: float
    top: float
    width: float
    height: float
    title: list[str]
    caption: list[str]
    angle: int


def to_svg(alignment: Alignment, lines: Sequence[str] = (), caption: str = ATTENTION) -> str:
    """Draw the weights as colored cells with percentages, below the lines and above a caption."""
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens]
        for tokens in (alignment.source, alignment.target)
    )
    title = arrow_heading(*lines)
    layout = _lay_out(source, target, [arrow_heading(line) for line in lines], caption)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:g} {layout.height:g}" '
        f'width="{layout.width:g}" height="{layout.height:g}" role="img" font-family="{FONTS}" '
        f'font-size="{FONT_SIZE}" style="max-width:100%;height:auto">',
        f"<title>{escape(title or caption)}</title>",
        f"<desc>{escape(describe(alignment, caption))}</desc>",
        f'<rect width="{layout.width:g}" height="{layout.height:g}" rx="6" fill="#ffffff"/>',
        *_title(layout),
        *_columns(source, layout),
        *_rows(alignment, target, layout),
        *_key_and_caption(layout),
        "</svg>\n",
    ]
    return "\n".join(parts)


def describe(alignment: Alignment, caption: str = ATTENTION) -> str:
    """Describe the picture in words: the largest weight of each row."""
    sentences = [caption]
    for row, token in enumerate(alignment.target):
        column = alignment.largest(row)
        if column is None:
            sentences.append(f"{token_label(token)}: nothing.")
        else:
            weight = alignment.weights[row, column]
            sentences.append(
                f"{token_label(token)}: most {token_label(alignment.source[column])}, {weight:.0%}."
            )
    return " ".join(sentences)


def _lay_out(
    source: Sequence[str], target: Sequence[str], title: Sequence[str], caption: str
) -> _Layout:
    left = MARGIN + LETTER_WIDTH * max(map(cell_len, target), default=0) + 8
    longest = max(map(cell_len, source), default=0)
    angle = 0 if longest <= MAX_HORIZONTAL_LABEL_CELLS else LABEL_ANGLE
    turned = angle * pi / 180
    risen = FONT_SIZE + 8 + LETTER_WIDTH * longest * -sin(turned)
    # rotated labels may extend beyond the last column
    overhangs = [LETTER_WIDTH * cell_len(label) * cos(turned) for label in source]
    ends = [(n + 0.5) * CELL_WIDTH + long for n, long in enumerate(overhangs if angle else [])]
    inside = max([CELL_WIDTH * len(source), *ends])
    width = round(max(MIN_WIDTH, left + inside + MARGIN))
    lines = textwrap.wrap(caption, int((width - 2 * MARGIN) / (0.5 * FONT_SIZE)))
    top = MARGIN + (FONT_SIZE + 6) * len(title) + 4 + risen
    height = round(
        top + CELL_HEIGHT * len(target) + 2 * FONT_SIZE + 12 + (FONT_SIZE + 3) * len(lines) + MARGIN
    )
    max_title = int((width - 2 * MARGIN) / LETTER_WIDTH)
    title_lines = [fit("→ " * (n > 0) + line, max_title) for n, line in enumerate(title)]
    return _Layout(round(left, 1), round(top, 1), width, height, title_lines, lines, angle)


def _title(layout: _Layout) -> Iterator[str]:
    for number, line in enumerate(layout.title):
        attributes = 'font-weight="bold"' if number else ""
        yield _text(line, MARGIN, MARGIN + FONT_SIZE + number * (FONT_SIZE + 6), attributes)


def _columns(source: Sequence[str], layout: _Layout) -> Iterator[str]:
    for column, label in enumerate(source):
        x, y = layout.left + (column + 0.5) * CELL_WIDTH, layout.top - 8
        if layout.angle:
            attributes = f'transform="rotate({layout.angle} {x:g} {y:g})"'
            yield _text(token_label(label), x - 2, y, attributes)
        else:
            yield _text(token_label(label), x, y, 'text-anchor="middle"')


def _rows(alignment: Alignment, target: Sequence[str], layout: _Layout) -> Iterator[str]:
    for row, label in enumerate(target):
        y = layout.top + row * CELL_HEIGHT
        yield _text(
            token_label(label), layout.left - 8, y + CELL_HEIGHT / 2 + 5, 'text-anchor="end"'
        )
        for column, weight in enumerate(alignment.weights[row].tolist()):
            x, color = layout.left + column * CELL_WIDTH, ramp(weight)
            title = (
                f"{token_label(alignment.source[column])} → {token_label(alignment.target[row])}"
            )
            yield (
                f'<g data-target="{row}" data-source="{column}" data-weight="{weight!r}">'
                f"<title>{escape(title)}: {weight:.6f}</title>"
                f'<rect x="{x:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" '
                f'fill="{css(color)}"/>'
                f"{_number(weight, x, y)}</g>"
            )


def _number(weight: float, x: float, y: float) -> str:
    text = percent(weight)
    attributes = f'text-anchor="middle" font-size="12" fill="{css(ink(ramp(weight)))}"'
    return _text(text, x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, attributes) if text else ""


def _key_and_caption(layout: _Layout) -> Iterator[str]:
    """Draw the color key and the caption."""
    y = layout.height - MARGIN - (FONT_SIZE + 3) * len(layout.caption) - FONT_SIZE - 10
    for step in range(5):
        color, x = ramp(step / 4), MARGIN + step * CELL_WIDTH
        yield f'<rect x="{x}" y="{y:g}" width="{CELL_WIDTH}" height="16" fill="{css(color)}"/>'
        attributes = f'text-anchor="middle" font-size="11" fill="{css(ink(color))}"'
        yield _text(f"{25 * step}", x + CELL_WIDTH / 2, y + 12, attributes)
    yield _text("%", MARGIN + 5 * CELL_WIDTH + 6, y + 12, f'font-size="12" fill="{GRAY}"')
    for number, line in enumerate(layout.caption, 1):
        y_line = y + 18 + number * (FONT_SIZE + 3)
        yield _text(line, MARGIN, y_line, f'font-size="12" fill="{GRAY}"')


def _text(text: str, x: float, y: float, attributes: str) -> str:
    fill = "" if "fill=" in attributes else f' fill="{INK}"'
    return f'<text x="{x:g}" y="{y:g}" {attributes}{fill}>{escape(text)}</text>'
