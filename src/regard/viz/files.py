"""The content of a picture file, by the ending of its name: svg, html, png or pdf."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import Literal, cast

from regard.atomic_files import replace_file
from regard.choices import either
from regard.errors import DataError, InputError, unwritable
from regard.viz import messages
from regard.viz.alignment import ATTENTION, Alignment
from regard.viz.attention_heads import AttentionHeads

KINDS = ("svg", "html", "png", "pdf")


def save_picture(path: str | PathLike[str], draw: Callable[[str], bytes]) -> None:
    """Write what a function draws in the format of the file's ending, or say why it cannot be."""
    ending = PurePath(path).suffix.lower().removeprefix(".")
    if ending not in KINDS:
        endings = either(f".{kind}" for kind in KINDS)
        raise InputError(messages.unknown_picture(fspath(path), endings))
    content = draw(ending)
    try:
        replace_file(Path(path), content)
    except OSError as error:
        raise DataError(fspath(path), None, unwritable(error, messages.OTHER_FOLDER)) from None


def alignment_file(
    alignment: Alignment, kind: str, lines: Sequence[str] = (), caption: str = ATTENTION
) -> bytes:
    """Draw an alignment in a format."""
    if kind == "svg":
        from regard.viz.svg_heatmap import to_svg

        return to_svg(alignment, lines, caption).encode()
    if kind == "html":
        from regard.viz.html_page import to_page

        return to_page(alignment, lines, caption).encode()
    from regard.viz.matplotlib_image import to_image

    return to_image(alignment, cast(Literal["png", "pdf"], kind), lines, caption)


def grid_file(heads: AttentionHeads, kind: str, lines: Sequence[str] = ()) -> bytes:
    """Draw every layer and head in a format."""
    if kind in ("svg", "html"):
        from regard.viz.head_grid import to_grid_page, to_grid_svg

        return (to_grid_svg if kind == "svg" else to_grid_page)(heads, lines).encode()
    from regard.viz.matplotlib_image import to_grid_image

    return to_grid_image(heads, cast(Literal["png", "pdf"], kind), lines)
