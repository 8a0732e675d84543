"""Runs cases in a forked child: a hang, a crash or too much memory is a failure of the case."""

import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

MEGABYTE = 1 << 20


@dataclass
class Outcome:
    """How many cases ended with which verdict, and what is wrong with the others."""

    verdicts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[Any, str]] = field(default_factory=list)

    def add(self, case, verdict, problem=None):
        self.verdicts[verdict] += 1
        if problem is not None:
            self.failures.append((case, problem))


def run_cases(
    cases: Sequence[Any], attempt: Callable[[Any], str], *, seconds: float, megabytes: int
) -> Outcome:
    """Run `attempt` on each case; any exception, and more time or memory, is a failure."""
    outcome, first = Outcome(), 0
    while first < len(cases):
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _run_child(cases[first:], attempt, writer, seconds, megabytes)
        os.close(writer)
        done = _read_child(cases[first:], reader, child, seconds, outcome)
        os.close(reader)
        first += done
    return outcome


def _run_child(cases, attempt, writer, seconds, megabytes):
    """Run cases and write one line for each; never return to the tests."""
    # an allocation without bounds fails at once instead of filling the machine
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    limit = size + 8 * megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    base = _peak()
    try:
        for case in cases:
            start, cpu = time.monotonic(), time.process_time()
            try:
                verdict, problem = attempt(case), ""
            except BaseException:
                verdict, problem = "traceback", traceback.format_exc(limit=-4)
            took = min(time.monotonic() - start, time.process_time() - cpu)
            if not problem and took > seconds:
                verdict, problem = "slow", f"took {took:.1f} s"
            if not problem and _peak() - base > megabytes:
                verdict, problem = "large", f"took {_peak() - base} MB"
            os.write(writer, f"{verdict}\t{problem!r}\n".encode())
            if verdict == "large":
                # the peak of a process never falls
                os._exit(0)
    finally:
        os._exit(0)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _read_child(cases, reader, child, seconds, outcome) -> int:
    """Collect the lines of a child; return how many cases it has dealt with."""
    done, rest = 0, b""
    while True:
        # the machine may be busy, so a hang is several times the limit
        ready, _, _ = select.select([reader], [], [], 5 * seconds + 5)
        chunk = os.read(reader, 1 << 16) if ready else b""
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            verdict, _, problem = line.decode().partition("\t")
            problem = problem.strip("'\"").encode().decode("unicode_escape", "replace")
            outcome.add(cases[done], verdict, problem or None)
            done += 1
        if chunk:
            continue
        if not ready:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not ready:
            outcome.add(cases[done], "hang", f"no end after {5 * seconds + 5:.0f} s")
            return done + 1
        if status and done < len(cases):
            outcome.add(cases[done], "crash", f"ended with status {status}")
            return done + 1
        return done
