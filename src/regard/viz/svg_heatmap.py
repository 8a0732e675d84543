"""An alignment as SVG: text that scales, the same bytes for the same weights, nothing else needed.

Each cell has its weight as `data-weight`, with every digit, and its two tokens in its title. The
paper is white whatever is behind it, so that a picture can be put anywhere.
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

WIDE, HIGH = 36, 26
"""Units of a cell of the picture."""

SIZE, LETTER = 14, 8.4
"""Height of the letters, and the width that one column of a terminal is taken to have."""

MARGIN, NARROWEST, LONGEST = 12, 420, 24
LEVEL, SLOPE = 4, -45
"""Source labels up to so many letters lie level; longer ones rise at an angle."""

FONTS = "'Noto Sans','Noto Sans CJK SC','Noto Naskh Arabic',system-ui,sans-serif"
INK, GRAY = "#1a1a1a", "#555555"


class _Layout(NamedTuple):
    """Where things stand."""

    left: float
    top: float
    width: float
    height: float
    title: list[str]
    caption: list[str]
    angle: int


def to_svg(alignment: Alignment, lines: Sequence[str] = (), caption: str = ATTENTION) -> str:
    """Draw the weights as colored cells with percentages, under their two lines, over a caption."""
    source, target = (
        [fit(visible_token(token), LONGEST) for token in tokens]
        for tokens in (alignment.source, alignment.target)
    )
    title = arrow_heading(*lines)
    at = _lay_out(source, target, [arrow_heading(line) for line in lines], caption)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {at.width:g} {at.height:g}" '
        f'width="{at.width:g}" height="{at.height:g}" role="img" font-family="{FONTS}" '
        f'font-size="{SIZE}" style="max-width:100%;height:auto">',
        f"<title>{escape(title or caption)}</title>",
        f"<desc>{escape(describe(alignment, caption))}</desc>",
        f'<rect width="{at.width:g}" height="{at.height:g}" rx="6" fill="#ffffff"/>',
        *_head(at),
        *_columns(source, at),
        *_rows(alignment, target, at),
        *_foot(at),
        "</svg>\n",
    ]
    return "\n".join(parts)


def describe(alignment: Alignment, caption: str = ATTENTION) -> str:
    """Say in words what the picture shows: the largest weight of each row."""
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
    left = MARGIN + LETTER * max(map(cell_len, target), default=0) + 8
    longest = max(map(cell_len, source), default=0)
    angle = 0 if longest <= LEVEL else SLOPE
    turned = angle * pi / 180
    risen = SIZE + 8 + LETTER * longest * -sin(turned)
    # what leans over the last column needs room to its right
    lean = [LETTER * cell_len(label) * cos(turned) for label in source]
    ends = [(n + 0.5) * WIDE + long for n, long in enumerate(lean if angle else [])]
    inside = max([WIDE * len(source), *ends])
    width = round(max(NARROWEST, left + inside + MARGIN))
    lines = textwrap.wrap(caption, int((width - 2 * MARGIN) / (0.5 * SIZE)))
    top = MARGIN + (SIZE + 6) * len(title) + 4 + risen
    height = round(top + HIGH * len(target) + 2 * SIZE + 12 + (SIZE + 3) * len(lines) + MARGIN)
    room = int((width - 2 * MARGIN) / LETTER)
    title_lines = [fit("→ " * (n > 0) + line, room) for n, line in enumerate(title)]
    return _Layout(round(left, 1), round(top, 1), width, height, title_lines, lines, angle)


def _head(at: _Layout) -> Iterator[str]:
    for number, line in enumerate(at.title):
        look = 'font-weight="bold"' if number else ""
        yield _text(line, MARGIN, MARGIN + SIZE + number * (SIZE + 6), look)


def _columns(source: Sequence[str], at: _Layout) -> Iterator[str]:
    for column, label in enumerate(source):
        x, y = at.left + (column + 0.5) * WIDE, at.top - 8
        if at.angle:
            turn = f'transform="rotate({at.angle} {x:g} {y:g})"'
            yield _text(token_label(label), x - 2, y, turn)
        else:
            yield _text(token_label(label), x, y, 'text-anchor="middle"')


def _rows(alignment: Alignment, target: Sequence[str], at: _Layout) -> Iterator[str]:
    for row, label in enumerate(target):
        y = at.top + row * HIGH
        yield _text(token_label(label), at.left - 8, y + HIGH / 2 + 5, 'text-anchor="end"')
        for column, weight in enumerate(alignment.weights[row].tolist()):
            x, color = at.left + column * WIDE, ramp(weight)
            named = (
                f"{token_label(alignment.source[column])} → {token_label(alignment.target[row])}"
            )
            yield (
                f'<g data-target="{row}" data-source="{column}" data-weight="{weight!r}">'
                f"<title>{escape(named)}: {weight:.6f}</title>"
                f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" fill="{css(color)}"/>'
                f"{_number(weight, x, y)}</g>"
            )


def _number(weight: float, x: float, y: float) -> str:
    text = percent(weight)
    look = f'text-anchor="middle" font-size="12" fill="{css(ink(ramp(weight)))}"'
    return _text(text, x + WIDE / 2, y + HIGH / 2 + 4, look) if text else ""


def _foot(at: _Layout) -> Iterator[str]:
    """Draw the key and the caption."""
    y = at.height - MARGIN - (SIZE + 3) * len(at.caption) - SIZE - 10
    for step in range(5):
        weight, x = step / 4, MARGIN + step * WIDE
        yield f'<rect x="{x}" y="{y:g}" width="{WIDE}" height="16" fill="{css(ramp(weight))}"/>'
        look = f'text-anchor="middle" font-size="11" fill="{css(ink(ramp(weight)))}"'
        yield _text(f"{25 * step}", x + WIDE / 2, y + 12, look)
    yield _text("%", MARGIN + 5 * WIDE + 6, y + 12, f'font-size="12" fill="{GRAY}"')
    for number, line in enumerate(at.caption, 1):
        y_line = y + 18 + number * (SIZE + 3)
        yield _text(line, MARGIN, y_line, f'font-size="12" fill="{GRAY}"')


def _text(text: str, x: float, y: float, look: str) -> str:
    fill = "" if "fill=" in look else f' fill="{INK}"'
    return f'<text x="{x:g}" y="{y:g}" {look}{fill}>{escape(text)}</text>'
