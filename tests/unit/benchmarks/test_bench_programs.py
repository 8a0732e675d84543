"""Following a program: what it printed and took, and that nothing of it is left."""

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
    ran = follow([sys.executable, "-c", code], threads=3, variables={"OTHER": "here"})
    assert [line for _, line in ran.lines] == ["one\n", "3 here\n"]
    assert ran.code == 0
    assert not ran.stopped
    assert ran.expected("it") is ran
    assert 0 < ran.lines[0][0] <= ran.seconds
    assert ran.peak > 1_000_000


def test_enough_ends_a_program_and_what_it_started():
    ran = follow([sys.executable, "-c", CHILD], threads=1, enough=lambda line: True)
    assert ran.stopped
    assert ran.seconds < 30
    child = int(ran.text)
    assert ran.expected("it") is ran
    _gone(child)


OUTER = """
import sys
from benchmarks.programs import end_with_us, follow
end_with_us()
inner = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
def tell(line):
    print(line, end="", flush=True)
    return False
follow([sys.executable, "-c", inner], threads=1, enough=tell)
"""


def test_whoever_is_ended_leaves_nothing_running():
    outer = subprocess.Popen(
        [sys.executable, "-c", OUTER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    inner = int(outer.stdout.readline())
    outer.terminate()
    outer.communicate()
    assert outer.returncode == 143
    _gone(inner)


def _gone(process):
    # a process that nobody waits for is gone a moment later
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


def test_a_program_over_its_limit_is_ended():
    ran = follow([sys.executable, "-c", "import time; time.sleep(60)"], threads=1, limit=0.5)
    assert ran.code == -9
    assert not ran.stopped


def test_a_program_that_fails_ends_with_its_last_lines():
    ran = follow([sys.executable, "-c", "print('a'); raise SystemExit('no')"], threads=1)
    with pytest.raises(SystemExit) as refused:
        ran.expected("the program")
    assert str(refused.value) == (
        "the program ended with 1, but it must be 0; its last lines:\na\nno\n"
    )
