"""Other programs: started, followed line by line until enough is known, ended and weighed.

Whatever a program starts itself ends with it. Nothing here knows what the lines mean.
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

QUIET = 0.1
"""Cores that others may be using while something is timed; above, the time is doubtful."""


@dataclass(frozen=True)
class Ran:
    """What a program printed, each line with the second it came, and what it took."""

    lines: tuple[tuple[float, str], ...]
    seconds: float
    peak: int
    """Resident bytes, at most."""

    others: float
    """Cores that other programs kept busy meanwhile."""

    code: int
    stopped: bool
    """Whether it was ended because enough was known."""

    @property
    def text(self) -> str:
        """All that it printed."""
        return "".join(line for _, line in self.lines)

    def expected(self, what: str) -> "Ran":
        """Return this where it did what it should; else end with its last words."""
        if self.code == 0 or self.stopped:
            return self
        last = "".join(line for _, line in self.lines[-12:])
        raise SystemExit(
            f"{what} ended with {self.code}, but it must be 0; its last lines:\n{last}"
        )


def follow(
    command: Sequence[object],
    *,
    threads: int,
    enough: Callable[[str], bool] = lambda line: False,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    limit: float = 600.0,
) -> Ran:
    """Run a program until it ends, has printed enough, or is over the limit of seconds."""
    counts = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **counts, **(variables or {})}
    busy, own, start = _busy(), _own(), time.perf_counter()
    program = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # a group of its own, so that what it starts can be ended with it
        start_new_session=True,
    )
    timer = threading.Timer(limit, _end, [program.pid])
    timer.daemon = True
    timer.start()
    lines, stopped, whole = [], False, False
    try:
        for line in program.stdout or ():
            lines.append((time.perf_counter() - start, line))
            if stopped := enough(line):
                break
        whole = not stopped
    finally:
        # also where we are interrupted ourselves
        if not whole:
            _end(program.pid)
        timer.cancel()
        if program.stdout is not None:
            program.stdout.close()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    others = max(0.0, (_busy() - busy) - (_own() - own)) / seconds
    peak = usage.ru_maxrss * 1024
    return Ran(tuple(lines), seconds, peak, others, program.returncode, stopped)


def end_with_us() -> None:
    """Let a signal that ends us be an exception, so that what we started ends too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _end(group: int) -> None:
    """End a program and all that it has started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _busy() -> float:
    """Return the seconds that all cores together have been busy; 0 where nobody counts."""
    try:
        line = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return 0.0
    ticks = [int(word) for word in line.split()[1:9]]
    # all but idle and waiting for a disk
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Return the seconds that this program and what it has run have used."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)
