"""An alignment as a small SVG within a page: no numbers, letters in the page's color."""

from html import escape

from rich.cells import cell_len

from regard.terminal_text import fit, token_label, visible_token
from regard.viz.alignment import Alignment
from regard.viz.colors import css, ramp
from regard.viz.svg_heatmap import describe

CELL_SIZE, FONT_SIZE, LETTER_WIDTH, MAX_LABEL_CELLS = 18, 12, 7.4, 12
MIN_DRAWN_WEIGHT = 0.02
"""Weights below this look the same as zero and are not drawn."""


def thumbnail(alignment: Alignment) -> str:
    """Draw the weights as colored cells; the title of each visible cell has its weight."""
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens]
        for tokens in (alignment.source, alignment.target)
    )
    left = round(LETTER_WIDTH * max(map(cell_len, target), default=0) + 6)
    widest = max(map(cell_len, source), default=0)
    # longer labels than one Chinese character are rotated
    turned = widest > 2
    top = round(LETTER_WIDTH * widest + 6) if turned else FONT_SIZE + 6
    columns, rows = CELL_SIZE * len(source), CELL_SIZE * len(target)
    parts = [
        f'<svg role="img" viewBox="0 0 {left + columns} {top + rows}" width="{left + columns}" '
        f'height="{top + rows}" font-size="{FONT_SIZE}" fill="currentColor">',
        f"<title>{escape(describe(alignment, '').strip())}</title>",
        f'<rect x="{left}" y="{top}" width="{columns}" height="{rows}" fill="{css(ramp(0))}"/>',
    ]
    for n, label in enumerate(source):
        x, y = left + n * CELL_SIZE + CELL_SIZE // 2, top - 4
        attributes = f'transform="rotate(-90 {x + 4} {y})"' if turned else 'text-anchor="middle"'
        x += 4 * turned
        parts.append(f'<text x="{x}" y="{y}" {attributes}>{escape(token_label(label))}</text>')
    for row, label in enumerate(target):
        y = top + row * CELL_SIZE
        attributes = f'x="{left - 4}" y="{y + 13}" text-anchor="end"'
        parts.append(f"<text {attributes}>{escape(token_label(label))}</text>")
        parts += [
            f'<rect x="{left + n * CELL_SIZE}" y="{y}" width="{CELL_SIZE}" height="{CELL_SIZE}" '
            f'fill="{css(ramp(weight))}"><title>'
            f"{escape(token_label(alignment.source[n]))} → "
            f"{escape(token_label(alignment.target[row]))}: {weight:.0%}</title></rect>"
            for n, weight in enumerate(alignment.weights[row].tolist())
            if weight >= MIN_DRAWN_WEIGHT
        ]
    return "".join(parts) + "</svg>"
