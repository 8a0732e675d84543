"""`regard show`: where a model looked, in the terminal."""

import sys
from typing import Annotated

import typer

from regard.cli import options
from regard.cli.options import BeamSize, Device, Model, whole
from regard.errors import ConfigError


def show(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The line to translate.", show_default=False)
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Show where it would look if it wrote this instead."),
    ] = None,
    beam_size: BeamSize = None,
    width: Annotated[
        str | None, whole("width", "Columns to draw in; else the terminal's.", 1)
    ] = None,
    device: Device = "auto",
) -> None:
    """Translate a line, and draw where the model looked."""
    from regard.translator import load
    from regard.viz.terminal import render

    if not options.line("TEXT", text).strip():
        raise ConfigError("TEXT", ["it is blank, but it must hold text; a line would do"])
    translator = load(model, device=device)
    if target is None:
        answer = translator.translate(text, **options.values(beam_size=beam_size))
    else:
        answer = translator.rescore([(text, options.line("--target", target))])[0]
    for note in answer.notes:
        print(note, file=sys.stderr)
    print(f"{text} → {answer.text}   (log-probability {answer.score:.3f})\n")
    if answer.alignment is None:
        print("This model has no attention: it reads the whole source into one vector.")
    else:
        columns = None if width is None else int(width)
        print(render(answer.alignment, color=options.colored(), width=columns))
    options.hint("regard", "translate", model, "--format", "jsonl", f"--text={text}")
