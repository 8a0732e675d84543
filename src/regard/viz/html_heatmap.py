"""An alignment as an HTML fragment for a notebook: one table, inline styles, no script.

Labels inherit color and direction from the page; only cells set their own.
"""

from collections.abc import Iterator
from html import escape

from regard.terminal_text import token_label, visible_token
from regard.viz.alignment import Alignment
from regard.viz.colors import css, ink, percent, ramp

PLAIN_STYLE = "background:transparent;color:inherit;border:0;font-weight:normal;white-space:nowrap"


def to_html(alignment: Alignment) -> str:
    """Draw the weights as a table; each cell's title has its two tokens and its weight.

    `data-weight` is the weight with all digits.
    """
    heads = "".join(
        f'<th scope="col" dir="auto" style="{PLAIN_STYLE};padding:2px 6px;text-align:center">'
        f"{escape(visible_token(token))}</th>"
        for token in alignment.source
    )
    rows = "".join(
        f'<tr style="background:transparent">{"".join(_row(alignment, row))}</tr>'
        for row in range(len(alignment.target))
    )
    return (
        # tabindex: it can be scrolled by keyboard
        '<div style="overflow-x:auto" dir="ltr" role="group" aria-label="heatmap" tabindex="0">'
        '<table style="border-collapse:collapse;border:0;width:auto;margin:0">'
        '<thead><tr style="background:transparent">'
        f'<td style="{PLAIN_STYLE}"></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(alignment: Alignment, row: int) -> Iterator[str]:
    yield (
        f'<th scope="row" dir="auto" style="{PLAIN_STYLE};padding:2px 6px;text-align:right">'
        f"{escape(visible_token(alignment.target[row]))}</th>"
    )
    for token, weight in zip(alignment.source, alignment.weights[row].tolist(), strict=True):
        background = ramp(weight)
        colors = f"background:{css(background)};color:{css(ink(background))}"
        title = escape(f"{token_label(token)} → {token_label(alignment.target[row])}: {weight:.6f}")
        yield (
            f'<td title="{title}" data-weight="{weight!r}" style="{colors};border:0;'
            f'padding:2px 6px;min-width:1.8em;text-align:center">{percent(weight)}</td>'
        )
