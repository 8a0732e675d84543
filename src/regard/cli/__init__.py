"""The command line: one file a command, and the only room that writes to stdout."""

from typing import Annotated

import typer

from regard import __version__
from regard.cli.doctor import doctor

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


app.command()(doctor)


def main() -> None:
    """Run the command line."""
    app()
