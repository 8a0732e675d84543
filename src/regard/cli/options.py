"""Shared by the commands: arguments and options, checks of their values, and the closing hint."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from shutil import which
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.choices import unknown_choice
from regard.cli import messages
from regard.config.checks import choices, named_part, number_of, types_of
from regard.config.documentation import document
from regard.config.files import FileConfig
from regard.config.settings import SearchConfig, TrainConfig
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.pipeline.pairs_source import PairsSource


Command = Callable[..., None]


def hint(*command: object, label: str = "Next") -> None:
    """Print the command to try next, on stderr to keep the output clean."""
    program, *rest = map(str, command)
    # repeat the typed path of the program if it is not on the PATH
    invoked = sys.argv[0] if os.path.basename(sys.argv[0]) == program else program
    on_path = which(program)
    same = on_path is not None and os.path.realpath(on_path) == os.path.realpath(invoked)
    print(f"{label}: {shlex.join([program if same else invoked, *rest])}", file=sys.stderr)


def color_depth() -> int:
    """Return the color depth of stdout in bits: 24, 8, or 0 for no colors."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return 0
    return 24 if os.environ.get("COLORTERM") in ("truecolor", "24bit") else 8


def flag(name: str, help_: str) -> Any:
    """Return a flag."""
    return typer.Option(f"--{name}", help=help_)


def file_argument(metavar: str, help_: str) -> Any:
    """Return an argument that is a file; its reader reports what is wrong with it."""
    return typer.Argument(metavar=metavar, help=help_, readable=False, show_default=False)


def file_option(name: str, help_: str, metavar: str) -> Any:
    """Return an option that is a file; its reader reports what is wrong with it."""
    return typer.Option(f"--{name}", metavar=metavar, help=help_, readable=False)


def setting(
    section: type[Any], name: str, metavar: str | None = None, option: str | None = None
) -> Any:
    """Return the option of a setting, with the setting's documentation as help.

    It accepts any text: all settings are checked together later. A Boolean setting is a flag.
    """
    option = option or f"--{name.replace('_', '-')}"
    text = next(entry.text for entry in document(section) if entry.name == name)
    type_ = types_of(section)[name]
    if type_ is bool:
        return typer.Option(option, help=text, show_default=False)
    shape = metavar or _metavar(type_)
    return typer.Option(option, metavar=shape, help=text, show_default=False)


def _metavar(hint: Any) -> str:
    if number := number_of(hint):
        return "N" if number[0] is int else "X"
    return "NAME" if named_part(hint) else "|".join(choices(hint))


def search_settings(*names: str) -> Callable[[Command], Command]:
    """Give a command an option for each search setting, or for the named ones.

    They replace its parameter `search` in `--help`; the parameter receives the typed ones.
    """

    def convert(**texts: Any) -> dict[str, Any]:
        flags = {name: True for name, text in texts.items() if text is True}
        typed = {name: text for name, text in texts.items() if not isinstance(text, bool)}
        # a module is imported if it is typed here, not if a file or a request names it
        import_modules([module for module in [_module_of(typed.get("constraint"))] if module])
        return parse_settings(**typed) | flags

    parameters = list(_parameters(SearchConfig, names or types_of(SearchConfig)))
    return lambda command: _with_options(command, "search", parameters, convert)


FILE_SETTINGS = ("format", "delimiter", "encoding", "header", "joiner", "comment", "sheet")
"""Settings of [data.file] that have an option."""


def file_settings(*names: str) -> Callable[[Command], Command]:
    """Give a command an option for each setting of a file, or for the named ones.

    They replace its parameter `file` in `--help`; the parameter receives the typed ones.
    """

    def convert(**texts: Any) -> dict[str, Any]:
        return {name: text for name, text in texts.items() if text is not None}

    parameters = list(_parameters(FileConfig, names or FILE_SETTINGS))
    return lambda command: _with_options(command, "file", parameters, convert)


def file_option_name(name: str) -> str:
    """Return the option of a setting of [data.file]: --format is that of the output."""
    return "--input-format" if name == "format" else f"--{name.replace('_', '-')}"


def _with_options(
    command: Command, name: str, options: list[Parameter], convert: Callable[..., dict[str, Any]]
) -> Command:
    """Replace a parameter of a command by several options."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        texts = {one.name.removeprefix("file_"): arguments.pop(one.name) for one in options}
        command(**arguments, **{name: convert(**texts)})

    parameters = [
        replacement
        for parameter in signature(command).parameters.values()
        for replacement in (options if parameter.name == name else [parameter])
    ]
    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return run


def _parameters(section: type[Any], names: Iterable[str]) -> Iterator[Parameter]:
    hints = types_of(section)
    for name in names:
        kind: Any = bool if hints[name] is bool else str | None
        default = False if hints[name] is bool else None
        option = file_option_name(name) if section is FileConfig else None
        metavar = "TEXT" if hints[name] is str else None
        annotation = Annotated[kind, setting(section, name, metavar, option)]
        # --format has its own parameter in some commands
        parameter = f"file_{name}" if section is FileConfig else name
        yield Parameter(
            parameter, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
        )


def parse_settings(**texts: str | None) -> dict[str, Any]:
    """Return the typed settings, with numbers parsed."""
    return {name: _parse_number(text) for name, text in texts.items() if text is not None}


def _module_of(name: str | None) -> str | None:
    """Return the module of a class written as `module:Class`."""
    module, colon, _ = (name or "").partition(":")
    return module if colon else None


def import_modules(names: list[str] | None) -> list[str] | None:
    """Import modules that register extensions, also from the working directory."""
    if names and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    for name in names or []:
        try:
            import_module(name)
        except ImportError as error:
            problem = messages.module_not_imported(name, error)
            raise ConfigError("--import", [problem]) from error
    return names


def choice(
    name: str, help_: str, *names: str, renamed: Mapping[str, str] = MappingProxyType({})
) -> Any:
    """Return an option that takes one of several names; `renamed` maps old names to new ones."""

    def check(context: typer.Context, value: str) -> str:
        if value in renamed:
            print(f"--{name} {value} is now --{name} {renamed[value]}.", file=sys.stderr)
            return renamed[value]
        if value not in names:
            raise ConfigError(str(context.info_name), [unknown_choice(name, value, names)])
        return value

    return typer.Option(f"--{name}", metavar="|".join(names), callback=check, help=help_)


def whole_number(name: str, help_: str, minimum: int) -> Any:
    """Return an option that takes a whole number and stays text."""

    def check(context: typer.Context, value: str | None) -> str | None:
        number = 0 if value is None else _parse_number(value)
        if value is not None and (not isinstance(number, int) or number < minimum):
            problem = messages.not_a_whole_number(name, value, minimum)
            raise ConfigError(str(context.info_name), [problem])
        return value

    return typer.Option(f"--{name}", metavar="N", callback=check, help=help_)


def check_line(name: str, text: str) -> str:
    """Return a typed text; refuse line breaks and bytes that are not UTF-8."""
    for pattern, content in (
        ("\n", "a line break"),
        ("[\ud800-\udfff]", "bytes that are not UTF-8"),
    ):
        if re.search(pattern, text):
            raise ConfigError(name, [messages.not_one_line(content)])
    return text


def positional(text: str) -> list[str]:
    """Return the arguments that pass a text, even one that looks like an option."""
    return ["--", text] if text.startswith("-") else [text]


def _parse_number(text: str) -> Any:
    kinds: tuple[Callable[[str], Any], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


Pairs = Annotated[
    Path | None,
    file_argument(
        "PAIRS",
        "Pairs of lines: TSV, CSV, JSON lines (.jsonl) with source and target, .xlsx or .ods; "
        "plain or gzip; - for stdin.",
    ),
]
SourceFile = Annotated[
    Path | None, file_option("source", "Source lines, parallel to --target.", "FILE")
]
TargetFile = Annotated[
    Path | None, file_option("target", "Target lines, parallel to --source.", "FILE")
]
ColumnNames = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--columns",
        metavar="source=C… target=C…",
        help="Columns of each side, by number or name, such as source=1,3 target=2.",
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="COLUMN",
        help="Hold out pairs with equal text in this column together, such as lemma or 1.",
    ),
]
SkipBadLines = Annotated[bool, flag("skip-bad-lines", "Skip bad lines and report them.")]
Model = Annotated[Path, file_argument("MODEL", "A model file.")]
Device = Annotated[str, setting(TrainConfig, "device", "NAME")]
Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        callback=import_modules,
        is_eager=True,
        help="A module that registers your own scores, decoders, tokenizers or constraints; "
        "repeatable.",
    ),
]


def pairs_source(
    pairs: Path | None,
    source: Path | None,
    target: Path | None,
    columns: tuple[str, str] | None,
    group_by: str | None = None,
) -> "PairsSource":
    """Return the source of the pairs; refuse if there is none."""
    from regard.pipeline.pairs_source import PairsSource

    if pairs is None and source is None and target is None:
        raise ConfigError("data", [messages.NO_PAIRS])
    # as text: a path that is "-" is not equal to "-"
    paths = (None if file is None else str(file) for file in (pairs, source, target))
    pairs_path, source_path, target_path = paths
    column_names = None if columns is None else " ".join(columns)
    return PairsSource(pairs_path, source_path, target_path, column_names, group_by=group_by)


def pairs_arguments(source: "PairsSource") -> list[object]:
    """Return the arguments that select the same pairs, for the next command."""
    arguments: list[object] = [] if source.pairs is None else [source.pairs]
    for name, path in (("--source", source.source), ("--target", source.target)):
        arguments += [] if path is None else [name, path]
    if source.columns is not None:
        arguments += ["--columns", *split_columns(source.columns)]
    arguments += [] if source.group_by is None else ["--group-by", source.group_by]
    for name in FILE_SETTINGS:
        text = getattr(source.file, name)
        if text != getattr(FileConfig(), name):
            arguments += [file_option_name(name), text]
    return arguments


def split_columns(text: str) -> list[str]:
    """Split the two values of --columns; a name may hold spaces."""
    return re.split(r"\s+(?=(?:source|target)=)", text.strip())


def shorten(text: str, cells: int = 60) -> str:
    """Return a text that is safe for a terminal, cut to its cells."""
    from regard.terminal_text import escape_invisible, fit

    return fit(escape_invisible(text), cells)


def table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    """Format a table: numbers are aligned right, text left."""
    from rich.cells import cell_len

    columns = []
    for column in zip(head, *rows, strict=True):
        width = max(map(cell_len, column))
        spaces = [" " * (width - cell_len(cell)) for cell in column]
        numbers = all(re.match(r"[+-]?\d", cell) for cell in column[1:])
        columns.append(
            [
                space + cell if numbers else cell + space
                for cell, space in zip(column, spaces, strict=True)
            ]
        )
    return "".join("  ".join(row).rstrip() + "\n" for row in zip(*columns, strict=True))
