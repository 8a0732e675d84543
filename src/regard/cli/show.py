"""`regard show`: the attention of a translation, in the terminal or in a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli import messages, options
from regard.cli.options import Device, Import, Model, choice, file_option, flag, whole_number
from regard.cli.picture import Picture, Selection
from regard.cli.unknown_warning import UnknownWarning
from regard.errors import ConfigError

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="The line to translate.", show_default=False)
]
Target = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Show the attention for this target instead of translating."),
]
Influence = Annotated[
    bool, flag("influence", "Draw the influence by gradient instead of the attention.")
]
Side = Annotated[
    str,
    choice(
        "self-attention",
        "Draw the self-attention of a side instead: encoder or decoder.",
        *("none", "encoder", "decoder"),
    ),
]
Layer = Annotated[
    str | None, whole_number("layer", "Draw one layer, from 1. Default: their mean.", 1)
]
Head = Annotated[str | None, whole_number("head", "Draw one head, from 1. Default: their mean.", 1)]
Grid = Annotated[bool, flag("grid", "Draw every layer and head into --out.")]
OutFile = Annotated[
    Path | None,
    file_option(
        "out", "Draw into a file; its ending is the format: svg, png, pdf or html.", "FILE"
    ),
]
Overwrite = Annotated[bool, flag("overwrite", "Overwrite an existing --out.")]
Width = Annotated[
    str | None, whole_number("width", "Width in columns. Default: the terminal's.", 1)
]


@options.search_settings("beam_size")
def show(
    model: Model,
    text: Text,
    search: dict[str, Any],
    target: Target = None,
    influence: Influence = False,
    self_attention: Side = "none",
    layer: Layer = None,
    head: Head = None,
    grid: Grid = False,
    out: OutFile = None,
    overwrite: Overwrite = False,
    width: Width = None,
    device: Device = "auto",
    import_: Import = None,
) -> None:
    """Translate a line and draw the attention of each token.

    A model without attention gets a drawing of the influence by gradient.
    """
    from regard.terminal_text import arrow_heading
    from regard.translator import load

    if not options.check_line("TEXT", text).strip():
        raise ConfigError("TEXT", [messages.BLANK_TEXT])
    layer_number, head_number = (None if x is None else int(x) for x in (layer, head))
    which: Any = "cross" if self_attention == "none" else self_attention
    selection = Selection(which, influence, layer_number, head_number, grid)
    picture = Picture(out, overwrite, width, selection)
    translator = load(model, device=device)
    if target is None:
        answer = translator.translate(text, **search)
    else:
        answer = translator.rescore([(text, options.check_line("--target", target))])[0]
    for note in answer.notes:
        print(note, file=sys.stderr)
    warning = UnknownWarning()
    warning.add(1, answer)
    warning.print()
    drawing = picture.draw(translator, answer)
    print(f"{arrow_heading(text, answer.text)}   (log-probability {answer.score:.3f})\n")
    print(drawing)
    options.hint("regard", "translate", model, "--format", "jsonl", f"--text={text}")
