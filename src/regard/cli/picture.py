"""The picture of `regard show`, in the terminal or a file: attention, its heads, or influence."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regard.cli import messages, options
from regard.cli.output import refuse_output, write_output
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.translator import Translation, Translator
    from regard.viz.alignment import Alignment
    from regard.viz.attention_heads import AttentionHeads

KINDS = ("svg", "png", "pdf", "html")

Which = Literal["cross", "encoder", "decoder"]


@dataclass(frozen=True)
class Selection:
    """What to draw: the influence, or attention: of a side, of a layer, of a head, or a grid."""

    which: Which = "cross"
    influence: bool = False
    layer: int | None = None
    head: int | None = None
    grid: bool = False

    def check(self, *, to_file: bool) -> None:
        """Refuse what cannot be drawn, before a model is loaded."""
        of_heads = self.grid or self.layer is not None or self.head is not None
        if self.influence and (of_heads or self.which != "cross"):
            raise ConfigError("show", [messages.TWO_PICTURES])
        if self.grid and not to_file:
            raise ConfigError("show", [messages.GRID_NEEDS_OUT])

    @property
    def of_heads(self) -> bool:
        """Whether the weights of single heads are needed."""
        return self.grid or self.which != "cross" or (self.layer, self.head) != (None, None)


class Picture:
    """A picture and its output file, which is checked before a model is loaded."""

    def __init__(
        self, out: Path | None, overwrite: bool, width: str | None, selection: Selection
    ) -> None:
        self.out = out
        self.kind = None if out is None else refuse_output("show", out, KINDS, overwrite)
        self.width = None if width is None else int(width)
        self.selection = selection
        selection.check(to_file=out is not None)

    def draw(self, translator: "Translator", answer: "Translation") -> str:
        """Draw, and return the text to print."""
        paragraphs = self._draw_heads if self.selection.of_heads else self._draw_alignment
        return "\n\n".join(paragraphs(translator, answer))

    def _draw_alignment(self, translator: "Translator", answer: "Translation") -> Iterator[str]:
        """Draw the mean attention, or the influence."""
        from regard.translator import END
        from regard.viz.alignment import ATTENTION, INFLUENCE, Alignment

        attention, influence = answer.alignment, self.selection.influence
        if attention is None:
            yield messages.INFLUENCE_INSTEAD
        if influence or attention is None:
            weights = translator.influence(answer)
            alignment = Alignment(answer.source_tokens, (*answer.tokens, END), weights)
            if self.out is None and attention is not None:
                yield INFLUENCE
            yield self._finish(answer, alignment, INFLUENCE, "influence by gradient")
        else:
            yield self._finish(answer, attention, ATTENTION, "attention")

    def _draw_heads(self, translator: "Translator", answer: "Translation") -> Iterator[str]:
        """Draw single layers and heads, their mean, or a grid of all."""
        heads, selection = self._heads(translator, answer), self.selection
        if selection.grid and self.out is not None:
            write_output(self.out, self._grid(heads, (answer.source, answer.text)))
            yield f"{self.out}: {heads.num_layers} layers × {heads.num_heads} heads"
            return
        caption = heads.describe(selection.layer, selection.head)
        if self.out is None:
            yield caption
        alignment = heads.select(selection.layer, selection.head)
        yield self._finish(answer, alignment, caption, caption.partition(":")[0].lower())

    def _heads(self, translator: "Translator", answer: "Translation") -> "AttentionHeads":
        """Return the weights of every head, or refuse a model that has none."""
        from dataclasses import replace

        which = self.selection.which
        if which != "cross":
            encoder, decoder = translator.self_attention(answer)
            answer = replace(answer, encoder_self_attention=encoder, decoder_self_attention=decoder)
        heads = answer.heads(which)
        if heads is None and which == "cross":
            raise ConfigError("show", [messages.NO_HEADS])
        if heads is None:
            other: Which = "decoder" if which == "encoder" else "encoder"
            has_other = answer.heads(other) is not None
            problem = messages.no_self_attention(which, other if has_other else None)
            raise ConfigError("show", [problem])
        return heads

    def _finish(
        self, answer: "Translation", alignment: "Alignment", caption: str, name: str
    ) -> str:
        """Draw in the terminal, or into the file and say so."""
        from regard.viz.terminal_heatmap import render

        if self.out is None:
            return render(alignment, color=options.color_depth(), width=self.width)
        write_output(self.out, self._content(alignment, (answer.source, answer.text), caption))
        rows, columns = alignment.weights.shape
        sides = {"encoder": ("source", "source"), "decoder": ("target", "target")}
        down, across = sides.get(self.selection.which, ("target", "source"))
        return f"{self.out}: {name}, {down} tokens {rows:,} × {across} tokens {columns:,}"

    def _content(self, alignment: "Alignment", lines: tuple[str, str], caption: str) -> bytes:
        from regard.viz.files import alignment_file

        return alignment_file(alignment, str(self.kind), lines, caption)

    def _grid(self, heads: "AttentionHeads", lines: tuple[str, str]) -> bytes:
        from regard.viz.files import grid_file

        return grid_file(heads, str(self.kind), lines)
