"""`regard show`: where a model looked, in the terminal."""

import os
import sys
from typing import Annotated

import typer

from regard.cli import options
from regard.cli.options import Device, Model, said
from regard.config.settings import SearchConfig


def show(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The line to translate.", show_default=False)
    ],
    target: Annotated[
        str | None, typer.Option(help="Show how it would have looked writing this instead.")
    ] = None,
    beam_size: Annotated[int | None, typer.Option(help=said(SearchConfig, "beam_size"))] = None,
    width: Annotated[
        int | None, typer.Option(help="Columns to draw in; else the terminal's.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Translate one line and draw where each symbol of the output looked."""
    from regard import load
    from regard.viz.terminal import render

    translator = load(model, device=device)
    if target is None:
        answer = translator.translate(text, beam_size=beam_size)
    else:
        answer = translator.rescore([(text, target)])[0]
    for note in answer.notes:
        print(note, file=sys.stderr)
    print(f"{text} → {answer.text}   (log-probability {answer.score:.3f})\n")
    if answer.alignment is not None:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(render(answer.alignment, color=color, width=width))
    elif translator.models[0].decoder.looks is None:
        print("This model has no attention: it reads the whole source into one vector.")
    options.hint("regard", "translate", model, "--format", "jsonl", "--text", text)
