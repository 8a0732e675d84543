"""`regard translate`: translates lines, one output line for each."""

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from regard.cli import messages, options
from regard.cli.options import Device, Import, choice, file_argument, file_option
from regard.cli.progress import progress_bar
from regard.cli.unknown_warning import UnknownWarning
from regard.config.files import FileConfig
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.translator import Translation

MAX_NOTES = 3
"""Notes of one kind that are printed; the others are counted."""

CHUNK = 1024
"""Number of lines whose outputs are written together."""


Models = Annotated[list[Path], file_argument("MODEL", "A model file, or several as an ensemble.")]
Text = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="One line to translate, instead of standard input."),
]
InputFile = Annotated[
    Path | None,
    file_option("input", "A table or a file of lines, instead of standard input.", "FILE"),
]
SourceColumns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="source=C…",
        help="Source columns of --input, by number or name. Default: as in training.",
    ),
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


@options.file_settings()
@options.search_settings()
def translate(
    models: Models,
    search: dict[str, Any],
    text: Text = None,
    input_: InputFile = None,
    columns: SourceColumns = None,
    file: Any = None,
    prefix: Prefix = "",
    ban: Ban = None,
    unknown: Unknown = "copy",
    format_: Format = "text",
    device: Device = "auto",
    same_pattern: SamePattern = False,
    import_: Import = None,
) -> None:
    """Translate each line of standard input, or each row of a table.

    A blank line is translated as a blank line. Columns of a source may have tabs between them; a
    table is read as the training pairs were. In a terminal, it prompts for lines. With --nbest, a
    row holds the line number, the ranking score (score / length^length_penalty) and the text;
    duplicate texts are dropped.
    """
    line = None if text is None else options.check_line("--text", text)
    if same_pattern:
        print("--same-pattern is now --constraint repetition_pattern", file=sys.stderr)
        search = {"constraint": "repetition_pattern"} | search
    call_options = search | {"prefix": prefix, "banned": ban or []}
    if line is not None and input_ is not None:
        raise ConfigError("translate", [messages.text_and_input()])
    typed = file | ({} if columns is None else {"columns": columns})
    if input_ is None and (table := sorted(typed.keys() - {"encoding"})):
        names = " and ".join(map(options.file_option_name, table))
        raise ConfigError("translate", [messages.table_without_input(names)])
    writer = _RowWriter(models, call_options, unknown, format_, device)
    if line is not None:
        writer.write([(0, line)], "--text")
        writer.warning.print()
    elif input_ is not None:
        _translate_table(writer, str(input_), typed)
    elif sys.stdin is not None and sys.stdin.isatty():
        _prompt(writer)
    else:
        _stream(writer, typed.get("encoding", "auto"))
    writer.notes.print_counts()
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
        self.notes = _NotePrinter()
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

    def write(
        self, numbered: Sequence[tuple[int, str]], name: str, first: int = 1, progress: Any = None
    ) -> None:
        """Print the outputs at once, and their notes on stderr with file and line.

        `first` is the number of the first output. A text that is no line of a file has number 0.
        """
        lines = [line for _, line in numbered]
        answers = self.translator.translate(lines, progress=progress, **self.call_options)
        rows = []
        for number, (answer, (line_number, _)) in enumerate(
            zip(answers, numbered, strict=True), first
        ):
            rows.append(self._row(answer, number))
            self.warning.add(line_number, answer)
            for note in answer.notes:
                self.notes.print(f"{name}, line {line_number}" if line_number else name, note)
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


@final
class _NotePrinter:
    """Prints the first notes of each kind, and counts the others."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.last: dict[str, str] = {}

    def print(self, place: str, note: str) -> None:
        # notes of one kind differ in numbers and in what they quote
        kind = re.sub(r"[0-9][0-9,.]*|[\"“'][^\"”']*[\"”']", "#", note)
        self.counts[kind] += 1
        self.last[kind] = note
        if self.counts[kind] <= MAX_NOTES:
            print(f"{place}: {note}", file=sys.stderr)

    def print_counts(self) -> None:
        for kind, count in self.counts.items():
            if count > MAX_NOTES:
                print(messages.more_notes(count - MAX_NOTES, self.last[kind]), file=sys.stderr)


def _stream(writer: _RowWriter, encoding: str) -> None:
    """Translate a pipe; read it to its end first, to refuse a bad line before any work."""
    from regard.data.pairs import read_lines

    # an unknown encoding is refused
    FileConfig(encoding=encoding)
    _write_all(writer, list(read_lines("-", encoding)), "standard input")


def _translate_table(writer: _RowWriter, path: str, typed: dict[str, Any]) -> None:
    """Translate the rows of a file, which is laid out like the training pairs."""
    from regard.data.lines import display_name
    from regard.data.pairs import scan_sources
    from regard.data.reading_notes import ReadingNotes
    from regard.pipeline.pairs_source import file_like_training

    data, notes = writer.translator.settings.data, ReadingNotes()
    layout = file_like_training(data.file, path, typed)
    numbered = list(scan_sources(path, layout, trim=data.trim, notes=notes))
    for sentence in notes.sentences():
        print(sentence, file=sys.stderr)
    _write_all(writer, numbered, display_name(path))


def _write_all(writer: _RowWriter, numbered: list[tuple[int, str]], name: str) -> None:
    with progress_bar(len(numbered), enabled=not sys.stdout.isatty()) as progress:
        for first in range(0, len(numbered), CHUNK):
            chunk = numbered[first : first + CHUNK]
            writer.write(chunk, name, first + 1, progress)
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
        writer.write([(number, line)], "standard input", number)
        writer.warning.print()
        writer.warning = UnknownWarning()
