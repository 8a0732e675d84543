"""A progress bar on stderr, if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, *, enabled: bool = True, unit: str = "lines"
) -> Iterator[Callable[[int], None] | None]:
    """Draw a progress bar with the remaining time; yield a function that advances it, or None."""
    if not enabled or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), unit, TimeRemainingColumn())
    # stdout may go to a file: the bar leaves it alone
    console = Console(stderr=True)
    # drawn on each call, not by a thread: a process with threads cannot fork safely
    with Progress(*columns, console=console, redirect_stdout=False, auto_refresh=False) as progress:
        task = progress.add_task("", total=total)
        yield lambda count: progress.update(task, advance=count, refresh=True)
