"""What `regard show` draws, here or into a file: where a model looked, or what moved it."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli import options
from regard.cli.output import refuse_output, write_output

if TYPE_CHECKING:
    from regard.translator import Translation, Translator
    from regard.viz.alignment import Alignment

KINDS = ("svg", "png", "pdf", "html")
NO_ATTENTION = (
    "This model has no attention: it reads the whole source into one vector. What is drawn is its "
    "influence by gradient."
)


class Picture:
    """Where a picture goes: refused before a model is loaded, drawn after it has answered."""

    def __init__(self, out: Path | None, overwrite: bool, width: str | None) -> None:
        self.out = out
        self.kind = None if out is None else refuse_output("show", out, KINDS, overwrite)
        self.width = None if width is None else int(width)

    def draw(self, translator: "Translator", answer: "Translation", *, influence: bool) -> str:
        """Return what is to be printed of it."""
        from regard.translator import END
        from regard.viz.alignment import ATTENTION, INFLUENCE, Alignment
        from regard.viz.terminal_heatmap import render

        looked = answer.alignment
        if influence or looked is None:
            moved = translator.influence(answer)
            alignment = Alignment(answer.source_tokens, (*answer.tokens, END), moved)
            caption = INFLUENCE
        else:
            alignment, caption = looked, ATTENTION
        said = [] if looked is not None else [NO_ATTENTION]
        if self.out is not None:
            lines = answer.source, answer.text
            write_output(self.out, self._content(alignment, lines, caption))
            what = "influence by gradient" if caption == INFLUENCE else "attention"
            rows, columns = alignment.weights.shape
            said.append(f"{self.out}: {what}, target tokens {rows:,} × source tokens {columns:,}")
        else:
            said += [INFLUENCE] if caption == INFLUENCE and looked is not None else []
            said.append(render(alignment, color=options.colored(), width=self.width))
        return "\n\n".join(said)

    def _content(self, alignment: "Alignment", lines: tuple[str, str], caption: str) -> bytes:
        if self.kind == "svg":
            from regard.viz.svg_heatmap import to_svg

            return to_svg(alignment, lines, caption).encode()
        if self.kind == "html":
            from regard.viz.html_page import to_page

            return to_page(alignment, lines, caption).encode()
        from regard.viz.matplotlib_image import to_image

        return to_image(alignment, "png" if self.kind == "png" else "pdf", lines, caption)
