"""The picture of `regard show`, in the terminal or in a file: attention or influence."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli import messages, options
from regard.cli.output import refuse_output, write_output

if TYPE_CHECKING:
    from regard.translator import Translation, Translator
    from regard.viz.alignment import Alignment

KINDS = ("svg", "png", "pdf", "html")


class Picture:
    """A picture and its output file, which is checked before a model is loaded."""

    def __init__(self, out: Path | None, overwrite: bool, width: str | None) -> None:
        self.out = out
        self.kind = None if out is None else refuse_output("show", out, KINDS, overwrite)
        self.width = None if width is None else int(width)

    def draw(self, translator: "Translator", answer: "Translation", *, influence: bool) -> str:
        """Draw, and return the text to print."""
        from regard.translator import END
        from regard.viz.alignment import ATTENTION, INFLUENCE, Alignment
        from regard.viz.terminal_heatmap import render

        attention = answer.alignment
        if influence or attention is None:
            weights = translator.influence(answer)
            alignment = Alignment(answer.source_tokens, (*answer.tokens, END), weights)
            caption = INFLUENCE
        else:
            alignment, caption = attention, ATTENTION
        paragraphs = [] if attention is not None else [messages.INFLUENCE_INSTEAD]
        if self.out is not None:
            lines = answer.source, answer.text
            write_output(self.out, self._content(alignment, lines, caption))
            what = "influence by gradient" if caption == INFLUENCE else "attention"
            rows, columns = alignment.weights.shape
            paragraphs.append(
                f"{self.out}: {what}, target tokens {rows:,} × source tokens {columns:,}"
            )
        else:
            paragraphs += [INFLUENCE] if caption == INFLUENCE and attention is not None else []
            paragraphs.append(render(alignment, color=options.color_depth(), width=self.width))
        return "\n\n".join(paragraphs)

    def _content(self, alignment: "Alignment", lines: tuple[str, str], caption: str) -> bytes:
        if self.kind == "svg":
            from regard.viz.svg_heatmap import to_svg

            return to_svg(alignment, lines, caption).encode()
        if self.kind == "html":
            from regard.viz.html_page import to_page

            return to_page(alignment, lines, caption).encode()
        from regard.viz.matplotlib_image import to_image

        return to_image(alignment, "png" if self.kind == "png" else "pdf", lines, caption)
