"""A list of translations, which a notebook shows as a table."""

from collections.abc import Iterable
from html import escape
from typing import Any, SupportsIndex, final, overload

from typing_extensions import override

from regard.terminal_text import escape_invisible
from regard.translator.translation import Translation
from regard.viz.html_heatmap import PLAIN_STYLE, to_html

MAX_SHOWN = 50
"""Translations in a table; more would make a notebook slow."""


@final
class TranslationList(list[Translation]):
    """A list; only its appearance is its own."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> Translation: ...

    @overload
    def __getitem__(self, index: slice) -> "TranslationList": ...

    @override
    def __getitem__(self, index: Any) -> Any:
        selection = super().__getitem__(index)
        return TranslationList(selection) if isinstance(index, slice) else selection

    def _repr_html_(self) -> str:
        """Show a row for each line; its heatmap unfolds."""
        rows = "".join(_row(number, one) for number, one in enumerate(self[:MAX_SHOWN]))
        more = len(self) - MAX_SHOWN
        tail = f"<p>… {more:,} more</p>" if more > 0 else ""
        heads = _cells("th", ("", "source", "output", "log-probability", "attention"))
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{tail}"


def _row(number: int, translation: Translation) -> str:
    source, text = (
        f'<span dir="auto">{escape(escape_invisible(line))}</span>' if line else ""
        for line in (translation.source, translation.text)
    )
    alignment = translation.alignment
    picture = (
        ""
        if alignment is None
        else f"<details><summary>{len(alignment.target)} × {len(alignment.source)}</summary>"
        f"{to_html(alignment)}</details>"
    )
    score = f"{translation.score:.3f}" if translation.token_scores else ""
    return f"<tr>{_cells('td', (str(number), source, f'<b>{text}</b>', score, picture))}</tr>"


def _cells(name: str, cells: Iterable[str]) -> str:
    style = f"{PLAIN_STYLE};padding:2px 8px;text-align:left;vertical-align:top".replace(
        "white-space:nowrap", "white-space:normal"
    )
    return "".join(f'<{name} style="{style}">{cell}</{name}>' for cell in cells)
