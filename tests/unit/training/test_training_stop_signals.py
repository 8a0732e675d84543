"""Ctrl-C and SIGTERM, really sent: the run is saved and goes on, or stops at once."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from regard.training.run_folder import RunFolder
from regard.training.stop_signals import catch_stop_signals
from training_job import run

TESTS = Path(__file__).parents[2]
LINE = "Stopping after this update and saving. Once more stops at once.\n"
BOTH = (signal.SIGINT, signal.SIGTERM)
OPTIONS = {
    "max_steps": 12,
    "validate_every": 6,
    "save_every": 5,
    "report_every": 1,
    "batch_tokens": 200,
    "average_checkpoints": 2,
}

# waits for a signal in updates 2 and 7, or in the validation after step `slow`, which does not end
# by the first; stopped by SIGINT it begins again from what it saved
CHILD = """
import signal, sys, time
from pathlib import Path
import torch
from regard.training.loop import train
from regard.training.stop_signals import catch_stop_signals
from training_job import SilentReport, job

torch.set_num_threads(1)
folder, slow, options = Path(sys.argv[1]), int(sys.argv[2]), eval(sys.argv[3])


def wait(what, enough):
    print(what, flush=True)
    deadline = time.monotonic() + 60
    while not enough() and time.monotonic() < deadline:
        time.sleep(0.01)


class Waiting(SilentReport):
    def update(self, step, *_):
        if step in (2, 7) and not slow:
            wait(f"updating {step}", stop)

    def begin_validation(self, step):
        if step == slow:
            wait("validating", lambda: False)


while True:
    with catch_stop_signals() as stop:
        progress = train(job(folder, **options)[0], Waiting(), stop)
    print(f"{stop.signal.name} after {progress.step}", flush=True)
    if stop.signal == signal.SIGTERM:
        sys.exit(128 + stop.signal)
"""


@pytest.fixture(autouse=True)
def handlers():
    """Whatever happens in a test, the next begins as this one did."""
    before = {number: signal.getsignal(number) for number in BOTH}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


def installed():
    return {number: signal.getsignal(number) for number in BOTH}


@pytest.mark.parametrize("number", BOTH)
def test_the_first_signal_requests_a_stop(number, handlers):
    file = io.StringIO()
    with catch_stop_signals(file) as stop:
        assert not stop()
        assert stop.signal is None
        signal.raise_signal(number)
        assert stop()
        assert stop.signal == number
        assert file.getvalue() == LINE
    assert stop()
    assert installed() == handlers


def test_the_line_goes_to_stderr(capsys):
    with catch_stop_signals():
        signal.raise_signal(signal.SIGTERM)
    assert capsys.readouterr() == ("", LINE)


def insisted(first, second):
    """Send two signals; return what was raised, and the handlers of that moment."""
    file = io.StringIO()
    with catch_stop_signals(file) as stop:
        signal.raise_signal(first)
        try:
            signal.raise_signal(second)
        except BaseException as error:
            assert (stop.signal, file.getvalue()) == (first, LINE)
            return error, installed()
    return None, installed()


@pytest.mark.parametrize("first", BOTH)
def test_the_second_signal_stops_at_once(first, handlers):
    error, then = insisted(first, signal.SIGINT)
    assert isinstance(error, KeyboardInterrupt)
    assert then == handlers
    error, then = insisted(first, signal.SIGTERM)
    assert isinstance(error, SystemExit)
    assert error.code == 143
    assert then == handlers


def test_a_line_that_cannot_be_written_stops_nothing():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    with catch_stop_signals(Gone()) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop()


def test_signal_handlers_are_restored_after_a_failure(handlers):
    with pytest.raises(ZeroDivisionError), catch_stop_signals():
        raise ZeroDivisionError
    assert installed() == handlers


def test_signals_are_not_handled_in_another_thread(handlers):
    found = []

    def work():
        with catch_stop_signals() as stop:
            found.extend([stop(), stop.signal, installed()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False, None, handlers]


def started(folder, slow=0):
    command = [sys.executable, "-c", CHILD, str(folder), str(slow), repr(OPTIONS)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'src'}:{TESTS}"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def wait_for(process, line):
    for told in process.stdout:
        if told == line:
            return
    raise AssertionError(process.stderr.read())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the digest of a model that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    run(folder, **OPTIONS)
    return digest(folder / "model.regard")


def test_a_stopped_and_resumed_run_ends_in_the_same_bytes(tmp_path, whole):
    with started(tmp_path) as process:
        # at neither step would it save anyway
        for number, step in ((signal.SIGINT, 2), (signal.SIGTERM, 7)):
            wait_for(process, f"updating {step}\n")
            process.send_signal(number)
            wait_for(process, f"{number.name} after {step}\n")
            assert RunFolder(tmp_path).progress().step == step
        assert process.stderr.read() == 2 * LINE
        assert process.wait(timeout=20) == 143
    run(tmp_path, **OPTIONS)
    assert digest(tmp_path / "model.regard") == whole


def test_a_second_signal_in_a_long_validation_stops_at_once_without_loss(tmp_path, whole):
    with started(tmp_path, slow=6) as process:
        wait_for(process, "validating\n")
        before = digest(tmp_path / "state.safetensors")
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == LINE
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        told, complaint = process.communicate(timeout=20)
    assert (told, complaint, process.returncode) == ("", "", 143)
    assert digest(tmp_path / "state.safetensors") == before
    run(tmp_path, **OPTIONS)
    assert digest(tmp_path / "model.regard") == whole
