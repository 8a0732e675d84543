"""`regard translate`: lines in, as many lines out."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import Device, said
from regard.config.settings import SearchConfig

if TYPE_CHECKING:
    from regard.translator import Translation, Translator

CHUNK = 1024
"""Lines whose outputs are written together."""


def translate(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL…", help="A model file, or several that vote.", show_default=False
        ),
    ],
    text: Annotated[
        str | None, typer.Option(help="One line to translate, instead of standard input.")
    ] = None,
    beam_size: Annotated[int | None, typer.Option(help=said(SearchConfig, "beam_size"))] = None,
    nbest: Annotated[int | None, typer.Option(help=said(SearchConfig, "nbest"))] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help=said(SearchConfig, "length_penalty"))
    ] = None,
    max_length: Annotated[int | None, typer.Option(help=said(SearchConfig, "max_length"))] = None,
    min_length: Annotated[int | None, typer.Option(help=said(SearchConfig, "min_length"))] = None,
    same_length: Annotated[
        bool | None, typer.Option("--same-length", help=said(SearchConfig, "same_length"))
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help=said(SearchConfig, "temperature"))
    ] = None,
    top_k: Annotated[int | None, typer.Option(help=said(SearchConfig, "top_k"))] = None,
    top_p: Annotated[float | None, typer.Option(help=said(SearchConfig, "top_p"))] = None,
    seed: Annotated[int | None, typer.Option(help=said(SearchConfig, "seed"))] = None,
    batch_size: Annotated[int | None, typer.Option(help=said(SearchConfig, "batch_size"))] = None,
    prefix: Annotated[str, typer.Option(help="What every output begins with.")] = "",
    ban: Annotated[
        list[str] | None, typer.Option(metavar="SYMBOL", help="A symbol never to write.")
    ] = None,
    unknown: Annotated[
        str, typer.Option(help="An unknown symbol: copy what was looked at, or mark it with �.")
    ] = "copy",
    format_: Annotated[
        str, typer.Option("--format", help="text, jsonl (all that is known) or pharaoh.")
    ] = "text",
    device: Device = "auto",
) -> None:
    """Translate each line of standard input; a blank line gives a blank one."""
    from regard import load
    from regard.data.pairs import read_lines

    _refuse_choice("format", format_, ("text", "jsonl", "pharaoh"))
    _refuse_choice("unknown", unknown, ("copy", "mark"))
    translator = load(*models, device=device)
    if format_ == "pharaoh" and translator.models[0].decoder.looks is None:
        _refuse(f"format = pharaoh, but {models[0]} has no attention; text or jsonl would do")
    settings: dict[str, Any] = {
        "beam_size": beam_size,
        "nbest": nbest,
        "length_penalty": length_penalty,
        "max_length": max_length,
        "min_length": min_length,
        "same_length": same_length,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "batch_size": batch_size,
        "prefix": prefix,
        "banned": ban or [],
        "unknown": unknown,
    }
    if text is not None:
        _write(_translated(translator, [text], settings), format_, 1)
    elif sys.stdin is not None and sys.stdin.isatty():
        _converse(translator, settings, format_)
        options.hint("regard", "show", models[0], "TEXT")
    else:
        lines = [line for _, line in read_lines("-")]
        with _bar(len(lines)) as advance:
            for first in range(0, len(lines), CHUNK):
                part = lines[first : first + CHUNK]
                answers = _translated(translator, part, settings | {"progress": advance})
                _write(answers, format_, first + 1)


def _translated(
    translator: "Translator", lines: list[str], settings: dict[str, Any]
) -> list["Translation"]:
    return translator.translate(lines, **settings)


def _converse(translator: "Translator", settings: dict[str, Any], format_: str) -> None:
    """Answer line by line, until there are no more."""
    print("Type a line, Enter translates it; Ctrl-D ends.", file=sys.stderr)
    number = 0
    while True:
        try:
            line = input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        number += 1
        _write(_translated(translator, [line], settings), format_, number)


def _write(answers: Iterable["Translation"], format_: str, first: int) -> None:
    """Print answers in one go, and what there is to say of them to stderr, by line."""
    rows = []
    for number, answer in enumerate(answers, first):
        rows.append(_row(answer, format_, number))
        for note in answer.notes:
            print(f"standard input, line {number}: {note}", file=sys.stderr)
    sys.stdout.write("".join(f"{row}\n" for row in rows))
    sys.stdout.flush()


def _row(answer: "Translation", format_: str, number: int) -> str:
    if format_ == "jsonl":
        return json.dumps({"line": number} | answer.to_json(), ensure_ascii=False)
    if format_ == "pharaoh":
        return "" if answer.alignment is None else answer.alignment.pharaoh(len(answer.tokens))
    if answer.alternatives:
        several = answer.alternatives
        return "\n".join(f"{number}\t{one.score:.4f}\t{one.text}" for one in several)
    return answer.text


class _bar:  # noqa: N801 (used as a function)
    """A progress bar with an ETA where somebody looks at stderr and not at stdout."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.shown: Any = None

    def __enter__(self) -> Any:
        if not sys.stderr.isatty() or sys.stdout.isatty():
            return None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), "lines", TimeRemainingColumn())
        self.shown = Progress(*columns, console=Console(stderr=True))
        self.shown.start()
        task = self.shown.add_task("", total=self.total)
        return lambda count: self.shown.advance(task, count)

    def __exit__(self, *problem: object) -> None:
        if self.shown is not None:
            self.shown.stop()


def _refuse_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        either = f"{', '.join(choices[:-1])} or {choices[-1]}"
        _refuse(f"{name} = {value}, but it must be {either}")


def _refuse(problem: str) -> None:
    from regard.errors import ConfigError

    raise ConfigError("translate", [problem])
