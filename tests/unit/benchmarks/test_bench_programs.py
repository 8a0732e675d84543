"""Following a program: its output and its costs, and that no process of it is left."""

import os
import subprocess
import sys
import time

import pytest

from benchmarks.machine import ROOT
from benchmarks.programs import follow

CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_program_is_followed_to_its_end():
    code = "import os; print('one'); print(os.environ['OMP_NUM_THREADS'], os.environ['OTHER'])"
    program = follow([sys.executable, "-c", code], threads=3, variables={"OTHER": "here"})
    assert [line for _, line in program.lines] == ["one\n", "3 here\n"]
    assert program.exit_code == 0
    assert not program.stopped
    assert program.check("it") is program
    assert 0 < program.lines[0][0] <= program.seconds
    assert program.peak_bytes > 1_000_000


def test_a_stop_condition_ends_a_program_and_its_children():
    program = follow([sys.executable, "-c", CHILD], threads=1, stop_condition=lambda line: True)
    assert program.stopped
    assert program.seconds < 30
    child = int(program.text)
    assert program.check("it") is program
    _wait_until_gone(child)


OUTER = """
import sys
from benchmarks.programs import exit_on_sigterm, follow
exit_on_sigterm()
inner = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
def print_line(line):
    print(line, end="", flush=True)
    return False
follow([sys.executable, "-c", inner], threads=1, stop_condition=print_line)
"""


def test_a_terminated_program_leaves_nothing_running():
    outer = subprocess.Popen(
        [sys.executable, "-c", OUTER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    inner = int(outer.stdout.readline())
    outer.terminate()
    outer.communicate()
    assert outer.returncode == 143
    _wait_until_gone(inner)


def _wait_until_gone(process):
    # a process that nobody waits for disappears a moment later
    for _ in range(100):
        if not _runs(process):
            return
        time.sleep(0.05)
    raise AssertionError(process)


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def test_a_program_over_its_timeout_is_killed():
    program = follow([sys.executable, "-c", "import time; time.sleep(60)"], threads=1, timeout=0.5)
    assert program.exit_code == -9
    assert not program.stopped


def test_a_failed_program_is_reported_with_its_last_lines():
    program = follow([sys.executable, "-c", "print('a'); raise SystemExit('no')"], threads=1)
    with pytest.raises(SystemExit) as refused:
        program.check("the program")
    assert str(refused.value) == ("the program ended with exit code 1; its last lines:\na\nno\n")
