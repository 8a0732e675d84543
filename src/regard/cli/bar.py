"""How far a long reading of lines has come, where somebody looks at stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(
    total: int, *, wanted: bool = True, of: str = "lines"
) -> Iterator[Callable[[int], None] | None]:
    """Draw how many lines are done, and how long it will take; yield who is told, or nobody."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), of, TimeRemainingColumn())
    # stdout is not the bar's: what is written there may go to a file
    console = Console(stderr=True)
    # drawn when something is told, by no thread of its own: beside one there would be no forks
    with Progress(*columns, console=console, redirect_stdout=False, auto_refresh=False) as shown:
        task = shown.add_task("", total=total)
        yield lambda count: shown.update(task, advance=count, refresh=True)
