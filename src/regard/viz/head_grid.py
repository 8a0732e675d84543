"""Every layer and head as a grid of small heatmaps, a row for each layer, as a self-contained SVG.

The tokens stand at the edges of the grid; the title of each visible cell has its tokens and weight.
"""

from collections.abc import Iterator, Sequence
from html import escape

from rich.cells import cell_len

from regard.terminal_text import arrow_heading, fit, token_label, visible_token
from regard.viz.attention_heads import AttentionHeads
from regard.viz.colors import css, ramp
from regard.viz.html_page import document
from regard.viz.svg_heatmap import FONTS, GRAY, INK

CELL, GAP, MARGIN = 14, 16, 12
FONT_SIZE, LETTER_WIDTH, MAX_LABEL_CELLS = 11, 6.6, 16
HEADING_HEIGHT = 18
MIN_DRAWN_WEIGHT = 0.02
"""Weights below this look the same as zero and are not drawn."""


def to_grid_svg(heads: AttentionHeads, lines: Sequence[str] = ()) -> str:
    """Draw all heads below the lines and above the caption."""
    source, target = (
        [fit(visible_token(token), MAX_LABEL_CELLS) for token in tokens]
        for tokens in (heads.source, heads.target)
    )
    left = MARGIN + LETTER_WIDTH * max(map(cell_len, target), default=0) + 8
    longest = max(map(cell_len, source), default=0)
    # a label no longer than one Chinese character needs no turn
    turned = longest > 2
    label_height = (LETTER_WIDTH * longest if turned else FONT_SIZE) + 8
    caption = heads.caption.replace(", in percent", "")
    top = MARGIN + HEADING_HEIGHT + label_height
    across = CELL * len(source) + GAP
    down = CELL * len(target) + GAP + HEADING_HEIGHT
    width = round(max(420, left + across * heads.num_heads + MARGIN))
    height = round(top + down * heads.num_layers + 2 * FONT_SIZE + MARGIN)
    title = arrow_heading(*lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="{FONTS}" '
        f'font-size="{FONT_SIZE}" style="max-width:100%;height:auto">',
        f"<title>{escape(title or caption)}</title>",
        f"<desc>{escape(caption)}</desc>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
        _text(fit(title, 120), MARGIN, MARGIN + FONT_SIZE, ""),
    ]
    for head in range(heads.num_heads):
        for n, label in enumerate(source):
            x, y = left + head * across + (n + 0.5) * CELL + 4 * turned, top - 6
            attributes = (
                f'transform="rotate(-90 {x:g} {y:g})"' if turned else 'text-anchor="middle"'
            )
            parts.append(_text(token_label(label), x, y, attributes))
    for layer in range(heads.num_layers):
        for n, label in enumerate(target):
            y = top + layer * down + HEADING_HEIGHT + n * CELL + 11
            parts.append(_text(token_label(label), left - 6, y, 'text-anchor="end"'))
        for head in range(heads.num_heads):
            x, y = left + head * across, top + layer * down
            parts += _one_head(heads, (layer, head), x, y)
    parts.append(_text(caption, MARGIN, height - MARGIN, f'fill="{GRAY}"'))
    return "\n".join((*parts, "</svg>\n"))


def to_grid_page(heads: AttentionHeads, lines: Sequence[str] = ()) -> str:
    """Draw all heads on a page; it scrolls where the screen is narrow."""
    picture = to_grid_svg(heads, lines).replace("max-width:100%;", "")
    region = f'<div class="wide" role="region" aria-label="heads" tabindex="0">{picture}</div>'
    heading = f'<h1 dir="auto">{escape(arrow_heading(*lines))}</h1>' if lines else ""
    return document(" → ".join(lines) or heads.caption, f"{heading}\n{region}")


def _one_head(heads: AttentionHeads, number: tuple[int, int], x: float, y: float) -> Iterator[str]:
    """Draw one heatmap with its name."""
    layer, head = number
    yield f'<g data-layer="{layer + 1}" data-head="{head + 1}">'
    yield _text(f"layer {layer + 1}, head {head + 1}", x, y + 13, f'fill="{GRAY}"')
    weights = heads.weights[:, layer, head]
    y += HEADING_HEIGHT
    rows, columns = weights.shape
    size = f'width="{columns * CELL}" height="{rows * CELL}"'
    yield f'<rect x="{x:g}" y="{y:g}" {size} fill="{css(ramp(0))}"/>'
    for row, row_weights in enumerate(weights.tolist()):
        for column, weight in enumerate(row_weights):
            if weight >= MIN_DRAWN_WEIGHT:
                pair = token_label(heads.source[column]), token_label(heads.target[row])
                yield (
                    f'<rect x="{x + column * CELL:g}" y="{y + row * CELL:g}" width="{CELL}" '
                    f'height="{CELL}" fill="{css(ramp(weight))}"><title>'
                    f"{escape(' → '.join(reversed(pair)))}: {weight:.0%}</title></rect>"
                )
    yield "</g>"


def _text(text: str, x: float, y: float, attributes: str) -> str:
    fill = "" if "fill=" in attributes else f' fill="{INK}"'
    return f'<text x="{x:g}" y="{y:g}" {attributes}{fill}>{escape(text)}</text>'
