"""Words at their positions in a plane, as SVG."""

from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from regard.viz.svg_heatmap import FONTS, GRAY, INK

SIDE, MARGIN, SIZE = 900, 60, 12


def to_word_map(words: Sequence[str], positions: Float[np.ndarray, "N 2"], caption: str) -> str:
    """Draw each word at its rank along either axis.

    Ranks spread the words evenly: outliers do not push the others together.
    """
    order = positions.argsort(axis=0, kind="stable").argsort(axis=0)
    xy = MARGIN + order / max(1, len(positions) - 1) * (SIDE - 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE + 30}" '
        f'width="{SIDE}" height="{SIDE + 30}" role="img" font-family="{FONTS}" '
        f'font-size="{SIZE}" style="max-width:100%;height:auto">',
        f"<title>{escape(caption)}</title>",
        f'<rect width="{SIDE}" height="{SIDE + 30}" rx="6" fill="#ffffff"/>',
    ]
    for word, (x, y) in zip(words, xy, strict=True):
        # the second axis points up
        y = SIDE - y
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{GRAY}"/>')
        parts.append(f'<text x="{x + 4:.1f}" y="{y + 4:.1f}" fill="{INK}">{escape(word)}</text>')
    parts += [f'<text x="{MARGIN}" y="{SIDE + 15}" fill="{GRAY}">{escape(caption)}</text>']
    return "\n".join([*parts, "</svg>\n"])
