"""`regard translate`: translates lines, one output line for each."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from regard.cli import messages, options
from regard.cli.options import Device, Import, choice, file_argument
from regard.cli.progress import progress_bar
from regard.cli.unknown_warning import UnknownWarning
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.translator import Translation

CHUNK = 1024
"""Number of lines whose outputs are written together."""


Models = Annotated[list[Path], file_argument("MODEL", "A model file, or several as an ensemble.")]
Text = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="One line to translate, instead of standard input."),
]
Prefix = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Text that every output begins with.", show_default=False),
]
Ban = Annotated[
    list[str] | None,
    typer.Option(metavar="TOKEN", help="A token never to generate; repeatable."),
]
Unknown = Annotated[
    str,
    choice(
        "unknown",
        "For an unknown token: copy the source token it attends to most, or print �.",
        "copy",
        "mark",
    ),
]
SamePattern = Annotated[bool, typer.Option("--same-pattern", hidden=True)]
Format = Annotated[
    str,
    choice(
        "format",
        "text: outputs only. jsonl: all details. pharaoh: alignments by the strongest attention.",
        *("text", "jsonl", "pharaoh"),
    ),
]


@options.search_settings()
def translate(
    models: Models,
    search: dict[str, Any],
    text: Text = None,
    prefix: Prefix = "",
    ban: Ban = None,
    unknown: Unknown = "copy",
    format_: Format = "text",
    device: Device = "auto",
    same_pattern: SamePattern = False,
    import_: Import = None,
) -> None:
    """Translate each line of standard input.

    A blank line is translated as a blank line. In a terminal, it prompts for lines. With --nbest,
    a row holds the line number, the ranking score (score / length^length_penalty) and the text;
    duplicate texts are dropped.
    """
    line = None if text is None else options.check_line("--text", text)
    if same_pattern:
        print("--same-pattern is now --constraint repetition_pattern", file=sys.stderr)
        search = {"constraint": "repetition_pattern"} | search
    call_options = search | {"prefix": prefix, "banned": ban or []}
    writer = _RowWriter(models, call_options, unknown, format_, device)
    if line is not None:
        writer.write([line], 1, "--text")
        writer.warning.print()
    elif sys.stdin is not None and sys.stdin.isatty():
        _prompt(writer)
    else:
        _stream(writer)
    if sys.stdout.isatty():
        options.hint("regard", "show", models[0], *options.positional(line or "TEXT"))


@final
class _RowWriter:
    """Translates lines and prints a row for each output."""

    def __init__(
        self,
        models: list[Path],
        call_options: dict[str, Any],
        unknown: str,
        format_: str,
        device: str,
    ) -> None:
        from regard.translator import load

        self.translator = load(*models, device=device)
        self.call_options = call_options | {"unknown": unknown}
        self.format = format_
        self.warning = UnknownWarning()
        # refuse wrong options before the first line is typed
        nbest = self.translator.search_options(**call_options).config.nbest
        self.is_nbest = nbest != 1
        if format_ == "pharaoh":
            self._refuse_pharaoh(models[0], nbest)

    def _refuse_pharaoh(self, model: Path, nbest: int) -> None:
        problems = []
        if self.translator.models[0].decoder.attention_shape is None:
            problems.append(messages.no_attention(model))
        if self.is_nbest:
            problems.append(messages.one_row_only(nbest))
        if problems:
            raise ConfigError("translate", problems)

    def write(self, lines: list[str], first: int, where: str, progress: Any = None) -> None:
        """Print the outputs at once, and their notes with line numbers on stderr."""
        answers = self.translator.translate(lines, progress=progress, **self.call_options)
        rows = []
        for number, answer in enumerate(answers, first):
            rows.append(self._row(answer, number))
            self.warning.add(number, answer)
            for note in answer.notes:
                print(f"{where}, line {number}: {note}", file=sys.stderr)
        sys.stdout.write("".join(f"{row}\n" for row in rows))
        sys.stdout.flush()

    def _row(self, answer: "Translation", number: int) -> str:
        if self.format == "jsonl":
            return json.dumps({"line": number} | answer.to_json(), ensure_ascii=False)
        if self.format == "pharaoh":
            return "" if answer.alignment is None else answer.alignment.pharaoh(len(answer.tokens))
        if self.is_nbest:
            outputs = answer.alternatives or (answer,)
            return "\n".join(f"{number}\t{one.rank_score:.4f}\t{one.text}" for one in outputs)
        return answer.text


def _stream(writer: _RowWriter) -> None:
    """Translate a pipe; read it to its end first, to refuse a bad line before any work."""
    from regard.data.pairs import read_lines

    lines = [line for _, line in read_lines("-")]
    with progress_bar(len(lines), enabled=not sys.stdout.isatty()) as progress:
        for first in range(0, len(lines), CHUNK):
            chunk = lines[first : first + CHUNK]
            writer.write(chunk, first + 1, "standard input", progress)
    writer.warning.print()


def _prompt(writer: _RowWriter) -> None:
    """Prompt for lines and translate each, until the input ends."""
    print("Type a line and press Enter to translate it; Ctrl-D quits.", file=sys.stderr)
    # the prompt must not go to an output file
    prompt = "> " if sys.stdout.isatty() else ""
    number = 0
    while True:
        print("" if prompt else "> ", end="", file=sys.stderr, flush=True)
        try:
            line = input(prompt)
        except EOFError:
            print(file=sys.stderr)
            return
        except UnicodeDecodeError:
            print(messages.INPUT_NOT_UTF8, file=sys.stderr)
            continue
        number += 1
        writer.write([line], number, "standard input")
        writer.warning.print()
        writer.warning = UnknownWarning()
