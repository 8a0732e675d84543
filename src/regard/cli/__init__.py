"""The command line: one file per command, and the only package that writes to stdout."""

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, cast

import typer
from typer.main import get_command

from regard import __version__
from regard.cli.check import check
from regard.cli.demo import demo
from regard.cli.doctor import doctor
from regard.cli.embed import embed
from regard.cli.errors import errors
from regard.cli.evaluate import evaluate
from regard.cli.info import info
from regard.cli.options import hint, split_columns
from regard.cli.report import report
from regard.cli.serve import serve
from regard.cli.show import show
from regard.cli.train import train
from regard.cli.translate import translate
from regard.errors import RegardError

UsageError = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])
"""The base class of typer's errors in a command line, which typer does not export."""

COMMANDS: dict[str, Callable[..., None]] = {
    command.__name__: command
    for command in (
        train,
        translate,
        evaluate,
        errors,
        show,
        serve,
        report,
        check,
        info,
        embed,
        demo,
        doctor,
    )
}

app = typer.Typer(
    name="regard",
    help="Train sequence-to-sequence models on pairs of lines, and see where they look.",
    add_completion=False,
    # typer's own --help imports a type checker first, which is slow
    add_help_option=False,
    # plain text is readable in every terminal and prints twice as fast
    rich_markup_mode=None,
)


def _version(requested: bool) -> None:
    if requested:
        print(f"regard {__version__}")
        raise typer.Exit


def _help(context: typer.Context, requested: bool) -> None:
    if requested:
        print(context.get_help())
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    help_: Annotated[
        bool,
        typer.Option(
            "--help",
            callback=_help,
            is_eager=True,
            help="Show this help, or after a command the help of the command.",
        ),
    ] = False,
) -> None:
    """Define the options that stand before a command."""


for command in COMMANDS.values():
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; refusals are printed and return 2."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    # the two values of --columns may come as one quoted argument
    args = [
        part
        for previous, arg in zip(["", *argv], argv, strict=False)
        for part in (split_columns(arg) if previous == "--columns" else [arg])
    ]
    code = 0
    try:
        _run(args)
    except typer.Exit as exit_request:
        code = exit_request.exit_code
    except UsageError as error:
        code = _print_problems(error.format_message())
        hint("regard", *(arg for arg in args[:1] if arg in COMMANDS), "--help")
    except RegardError as error:
        code = _print_problems(str(error))
    except BrokenPipeError:
        # the reader closed the pipe; without this, Python would report it when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except OSError as error:
        code = _print_problems(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        code = 130
    return code


def _run(args: list[str]) -> None:
    """Parse the arguments and run their command."""
    _use_utf_8()
    group = get_command(app)
    try:
        with group.make_context("regard", args.copy() or ["--help"], obj=args) as context:
            group.invoke(context)
    finally:
        # a failed write should raise here, not when Python exits
        if sys.stdout is not None:
            sys.stdout.flush()


def _use_utf_8() -> None:
    """Write UTF-8 in every locale; a file name that is not UTF-8 is written unchanged."""
    for stream, policy in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=policy)


def _print_problems(problems: str) -> int:
    for problem in problems.split("\n"):
        print(f"regard: {problem}", file=sys.stderr)
    return 2
