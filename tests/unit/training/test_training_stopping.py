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

from regard.training.stopping import asked_to_stop
from training_job import run

TESTS = Path(__file__).parents[2]
LINE = "stopping after this update and saving; once more stops at once\n"
BOTH = (signal.SIGINT, signal.SIGTERM)
OPTIONS = {
    "max_steps": 12,
    "validate_every": 6,
    "save_every": 5,
    "report_every": 1,
    "batch_tokens": 200,
    "average": 2,
}

# says when it begins to learn; the validation after step `slow` does not end
CHILD = """
import signal, sys, time
from dataclasses import replace
from pathlib import Path
import torch
from regard.training.loop import train
from regard.training.stopping import asked_to_stop
from training_job import Silent, job

torch.set_num_threads(1)
folder, slow, options = Path(sys.argv[1]), int(sys.argv[2]), eval(sys.argv[3])


class Telling(Silent):
    def update(self, step, *_):
        self.step = step
        print(step, flush=True)
        time.sleep(0.05)


made, _, _ = job(folder, **options)
report, validate = Telling(), made.validate


def slowly(model):
    if report.step == slow:
        print("validating", flush=True)
        time.sleep(60)
    return validate(model)


with asked_to_stop() as stop:
    train(replace(made, validate=slowly), report, stop)
sys.exit(128 + stop.signal if stop.signal else 0)
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
def test_the_first_signal_is_a_question(number, handlers):
    file = io.StringIO()
    with asked_to_stop(file) as stop:
        assert not stop()
        assert stop.signal is None
        signal.raise_signal(number)
        assert stop()
        assert stop.signal == number
        assert file.getvalue() == LINE
    assert stop()
    assert installed() == handlers


def test_the_line_goes_to_stderr(capsys):
    with asked_to_stop():
        signal.raise_signal(signal.SIGTERM)
    assert capsys.readouterr() == ("", LINE)


def insisted(first, second):
    """Send two signals; return what was raised, and the handlers of that moment."""
    file = io.StringIO()
    with asked_to_stop(file) as stop:
        signal.raise_signal(first)
        try:
            signal.raise_signal(second)
        except BaseException as error:
            assert (stop.signal, file.getvalue()) == (first, LINE)
            return error, installed()
    return None, installed()


@pytest.mark.parametrize("first", BOTH)
def test_the_second_signal_is_an_order(first, handlers):
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

    with asked_to_stop(Gone()) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop()


def test_handlers_come_back_after_a_failure(handlers):
    with pytest.raises(ZeroDivisionError), asked_to_stop():
        raise ZeroDivisionError
    assert installed() == handlers


def test_in_another_thread_nobody_asks(handlers):
    found = []

    def work():
        with asked_to_stop() as stop:
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
        if told == f"{line}\n":
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


def test_a_run_that_is_asked_to_stop_saves_and_ends_in_the_same_bytes(tmp_path, whole):
    # neither 3 nor 7 is a step at which it would save anyway
    for number, step, code in ((signal.SIGINT, 3, 130), (signal.SIGTERM, 7, 143)):
        with started(tmp_path) as process:
            wait_for(process, step)
            process.send_signal(number)
            told, complaint = process.communicate(timeout=60)
        assert complaint == LINE
        assert process.returncode == code
        # it goes on after the save, not after the last regular one
        last = int(told.splitlines()[-1]) if told else step
        assert (tmp_path / "log.jsonl").read_text().count('"loss"') == last
    run(tmp_path, **OPTIONS)
    assert digest(tmp_path / "model.regard") == whole


def test_a_second_signal_in_a_long_validation_stops_at_once_and_hurts_nothing(tmp_path, whole):
    with started(tmp_path, slow=6) as process:
        wait_for(process, "validating")
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
