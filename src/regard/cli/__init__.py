"""The command line: one file a command, and the only room that writes to stdout."""

import os
import sys
from typing import Annotated

import typer

from regard import __version__
from regard.cli.check import check
from regard.cli.demo import demo
from regard.cli.doctor import doctor
from regard.cli.evaluate import evaluate
from regard.cli.info import info
from regard.cli.show import show
from regard.cli.train import train
from regard.cli.translate import translate
from regard.errors import RegardError

app = typer.Typer(
    name="regard",
    help="Learn to turn one sequence into another from pairs of lines, and see where it looked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options of every command."""


for command in (train, translate, evaluate, show, check, info, demo, doctor):
    app.command()(command)


def main() -> None:
    """Run the command line; what regard refuses is a sentence and exit code 2."""
    try:
        app()
    except RegardError as error:
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # whoever read us has read enough; Python would complain of it when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
