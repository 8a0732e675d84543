"""`python -m benchmarks.help`: startup time of the command line, the median of ten runs."""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

RUNS = 10
LIMITS = {"--help": 0.3, "train --help": 0.6}
"""Limits in seconds of wall-clock time, on an idle machine."""


def time_command(arguments: list[str]) -> tuple[float, float]:
    """Run the installed command once; return its wall-clock and its CPU seconds."""
    command = Path(sys.executable).with_name("regard")
    before, start = os.times(), time.perf_counter()
    subprocess.run([command, *arguments], stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def main() -> None:
    """Print a row for each command; fail if one exceeds its limit."""
    slow = []
    sys.stdout.write(f"{'regard':<14}{'wall':>8}{'limit':>8}{'CPU':>11}\n")
    for arguments, limit in LIMITS.items():
        walls, used = zip(*(time_command(arguments.split()) for _ in range(RUNS)), strict=True)
        slow += [arguments] if median(walls) > limit else []
        sys.stdout.write(
            f"{arguments:<14}{median(walls):>6.2f} s{limit:>6.1f} s{median(used):>9.2f} s\n"
        )
    if slow:
        raise SystemExit(f"over the limit: {', '.join(slow)}")


if __name__ == "__main__":
    main()
