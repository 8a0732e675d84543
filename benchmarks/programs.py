"""Run other programs: follow their output line by line, stop them, and measure time and memory.

Child processes of a program end with it. Nothing here knows what the lines mean.
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

MAX_OTHER_CORES = 0.1
"""If other programs use more cores than this, a measurement is doubtful."""


@dataclass(frozen=True)
class CompletedProgram:
    """A program's timestamped output, and what it cost."""

    lines: tuple[tuple[float, str], ...]
    seconds: float
    peak_bytes: int
    """Peak of the resident memory."""

    other_cores: float
    """Cores that other programs kept busy meanwhile."""

    exit_code: int
    stopped: bool
    """Whether the stop condition ended the program."""

    @property
    def text(self) -> str:
        """Its whole output."""
        return "".join(line for _, line in self.lines)

    def check(self, name: str) -> "CompletedProgram":
        """Return this if the program succeeded or was stopped; else exit with its last lines."""
        if self.exit_code == 0 or self.stopped:
            return self
        last = "".join(line for _, line in self.lines[-12:])
        raise SystemExit(f"{name} ended with exit code {self.exit_code}; its last lines:\n{last}")


def follow(
    command: Sequence[object],
    *,
    threads: int,
    stop_condition: Callable[[str], bool] = lambda line: False,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    timeout: float = 600.0,
) -> CompletedProgram:
    """Run a program until it ends, a line meets the stop condition, or the timeout expires."""
    counts = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **counts, **(variables or {})}
    busy, own, start = _busy_seconds(), _own_seconds(), time.perf_counter()
    program = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # a process group of its own, so that its children can be killed with it
        start_new_session=True,
    )
    timer = threading.Timer(timeout, _kill_group, [program.pid])
    timer.daemon = True
    timer.start()
    lines, stopped, complete = [], False, False
    try:
        for line in program.stdout or ():
            lines.append((time.perf_counter() - start, line))
            if stopped := stop_condition(line):
                break
        complete = not stopped
    finally:
        # also if this process is interrupted
        if not complete:
            _kill_group(program.pid)
        timer.cancel()
        if program.stdout is not None:
            program.stdout.close()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    other_cores = max(0.0, (_busy_seconds() - busy) - (_own_seconds() - own)) / seconds
    peak = usage.ru_maxrss * 1024
    code = program.returncode
    return CompletedProgram(tuple(lines), seconds, peak, other_cores, code, stopped)


def exit_on_sigterm() -> None:
    """Turn SIGTERM into an exception, so that child processes are ended too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _kill_group(group: int) -> None:
    """Kill a program and its child processes."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _busy_seconds() -> float:
    """Return the busy seconds of all cores together; 0 if the system does not count them."""
    try:
        line = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return 0.0
    ticks = [int(word) for word in line.split()[1:9]]
    # all but idle time and waiting for a disk
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Return the CPU seconds of this process and its children."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
