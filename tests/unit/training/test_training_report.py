"""Reports: what is said, where it is said, and a bar that fits and is closed."""

import io
import re
import sys
import types
from contextlib import suppress
from importlib.util import find_spec
from typing import ClassVar

import pytest
from rich.cells import cell_len

from regard.config.settings import TrainConfig
from regard.training.log_lines import LogLines
from regard.training.loop import train
from regard.training.progress_bar import ProgressBar, make_report
from regard.training.progress_report import (
    CompositeReport,
    SilentReport,
    ValidationResult,
    ValidationSample,
)
from regard.training.tensorboard import TensorBoardReport
from training_job import job

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
APPLES = ValidationSample("我爱吃苹果", "i love apples", "i love apple")
ARABIC = ValidationSample("أنا أحب التفاح", "我喜欢苹果", "我喜欢苹果")


class Clock:
    """A clock that is turned by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def config(**options):
    return TrainConfig(**{"max_steps": 100, "validate_every": 20, "report_every": 10, **options})


def told(report, clock):
    """Tell of 20 updates and a validation of a run of 100."""
    with report:
        report.start(0)
        for step in range(1, 21):
            clock.now += 0.5
            report.update(step, 1.2344, 0.001, 2700)
        report.begin_validation(20)
        clock.now += 4
        report.end_validation(20, ValidationResult(93.44, APPLES), 95.0)


def test_log_lines_are_printed_periodically_and_for_each_validation():
    file, clock = io.StringIO(), Clock()
    told(LogLines(config(), "exact", file, clock), clock)
    assert file.getvalue().splitlines() == [
        "step 10/100 · loss 1.234 · 5,400 tokens/s · 0:45 left",
        "step 20/100 · loss 1.234 · 5,400 tokens/s · 0:40 left",
        "step 20/100 · exact 93.4 (best 95.0) · 我爱吃苹果 → i love apple (right: i love apples)",
    ]


def test_a_validation_without_a_sample_and_the_loss_of_the_dev_lines():
    file = io.StringIO()
    report = LogLines(config(), "loss", file)
    report.start(19)
    report.update(20, 1.0, 0.001, 10)
    report.begin_validation(20)
    report.end_validation(20, ValidationResult(1.23456), 1.2)
    assert file.getvalue().splitlines()[-1] == "step 20/100 · dev loss 1.235 (best 1.200)"


def test_log_lines_go_to_stderr_and_a_closed_pipe_stops_nothing(capsys):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    for file in (None, Gone()):
        clock = Clock()
        told(LogLines(config(), "exact", file, clock), clock)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 3


def test_quiet_progress_prints_nothing(capsys):
    told(SilentReport(), Clock())
    assert capsys.readouterr() == ("", "")


def last_frame(terminal):
    """Return the lines that stay on the screen."""
    text = terminal.getvalue().rpartition("\x1b[2K")[2]
    return [line.rstrip() for line in ESCAPE.sub("", text).splitlines()]


def test_the_bar_ends_with_its_last_figures():
    terminal, clock = Terminal(), Clock()
    told(ProgressBar(config(), "exact", terminal, clock), clock)
    assert last_frame(terminal) == [
        f"step 20/100  {'━' * 8}╺{'━' * 31} took 0:14",
        "loss 1.234 · 5,400 tokens/s · exact 93.4 (best 95.0)",
        "我爱吃苹果 → i love apple (right: i love apples)",
    ]


def seen(bar):
    """Return the lines that the bar would draw now."""
    with bar.console.capture() as capture:
        bar.console.print(bar.render())
    return [line.rstrip() for line in ESCAPE.sub("", capture.get()).splitlines()]


def test_the_bar_says_while_a_validation_runs():
    clock = Clock()
    bar = ProgressBar(config(), "exact", Terminal(), clock)
    assert seen(bar) == [f"step 0/100   {'━' * 40}"]
    bar.throughput.start(0)
    clock.now += 5
    bar.update(10, 1.0, 0.001, 100)
    assert seen(bar)[0].endswith("━ 0:45 left")
    bar.begin_validation(10)
    assert seen(bar)[0].endswith("━ validating · 0:45 left")
    bar.end_validation(10, ValidationResult(50.0), 50.0)
    assert seen(bar)[0].endswith("━ 0:45 left")
    assert seen(bar)[1:] == ["loss 1.000 · 20 tokens/s · exact 50.0 (best 50.0)"]


@pytest.mark.parametrize("width", [12, 60, 80, 120])
@pytest.mark.parametrize(
    "sample", [APPLES, ARABIC, ValidationSample("啊" * 999, "ب" * 999, "x\n" * 999)]
)
def test_no_line_of_the_bar_is_wider_than_the_terminal(monkeypatch, width, sample):
    monkeypatch.setenv("COLUMNS", str(width))
    terminal = Terminal()
    bar = ProgressBar(config(max_steps=10**6), "exact", terminal)
    bar.throughput.start(999_000)
    tell_a_validation(bar, sample)
    bar.begin_validation(999_001)
    drawn = seen(bar)
    with bar:
        bar.start(999_000)
        tell_a_validation(bar, sample)
    for lines in (drawn, last_frame(terminal)):
        assert len(lines) == 3
        assert all(cell_len(line) <= width for line in lines)


def tell_a_validation(report, sample):
    report.update(999_001, 1.0, 0.1, 10)
    report.begin_validation(999_001)
    report.end_validation(999_001, ValidationResult(100.0, sample), 100.0)


def broken_off(report):
    """Let a run fail while its report is open; return where one would have printed meanwhile."""
    with suppress(ZeroDivisionError), report:
        report.start(0)
        streams = sys.stdout, sys.stderr
        raise ZeroDivisionError
    return streams


def test_the_bar_is_closed_after_an_error_too(capsys):
    terminal = Terminal()
    bar = ProgressBar(config(), "exact", terminal)
    stdout, stderr = sys.stdout, sys.stderr
    assert broken_off(bar) == (stdout, stderr)
    # the cursor is back, and nobody draws any more
    assert terminal.getvalue().rstrip("\n").endswith("\x1b[?25h")
    assert not bar.live.is_started
    assert capsys.readouterr() == ("", "")


def test_other_stderr_output_appears_above_the_bar(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressBar(config(), "exact") as bar:
        bar.start(0)
        print("a warning", file=sys.stderr)
        print("an output")
    assert sys.stderr is terminal
    assert "a warning\n" in ESCAPE.sub("", terminal.getvalue())
    assert capsys.readouterr().out == "an output\n"


def test_a_terminal_gets_a_bar_and_other_outputs_get_lines(monkeypatch):
    def chosen(file, quiet=False):
        return type(make_report(config(), "exact", quiet=quiet, file=file))

    assert chosen(Terminal()) is ProgressBar
    assert chosen(io.StringIO()) is LogLines
    assert chosen(Terminal(), quiet=True) is SilentReport
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert chosen(None) is ProgressBar
    monkeypatch.setattr(sys, "stderr", None)
    assert chosen(None) is SilentReport
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert chosen(io.StringIO()) is LogLines
    monkeypatch.setenv("TERM", "dumb")
    assert chosen(Terminal()) is LogLines


def test_several_listeners_are_notified_in_order_and_all_are_closed():
    files, clock = [io.StringIO(), io.StringIO()], Clock()
    lines = [LogLines(config(), "exact", file, clock) for file in files]
    told(CompositeReport(lines), clock)
    assert files[0].getvalue() == files[1].getvalue()
    assert files[0].getvalue().count("\n") == 3
    bars = [ProgressBar(config(), "exact", Terminal()) for _ in range(2)]
    broken_off(CompositeReport(bars))
    assert not any(bar.live.is_started for bar in bars)


class SummaryWriter:
    """Stands in for TensorBoard's where the package is not installed."""

    made: ClassVar = []

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.points = folder, purge_step, []
        self.closed = False
        self.made.append(self)

    def add_scalar(self, name, value, step):
        self.points.append((name, step, value))

    def close(self):
        self.closed = True


def written(folder):
    """Return the points of each curve, from TensorBoard's own files where it is installed."""
    if find_spec("tensorboard") is None:
        (writer,) = SummaryWriter.made
        assert (writer.folder, writer.purge_step, writer.closed) == (str(folder), 7, True)
        names = {name for name, _, _ in writer.points}
        return {n: [(s, v) for name, s, v in writer.points if name == n] for n in names}
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {n: [(e.step, e.value) for e in events.Scalars(n)] for n in events.Tags()["scalars"]}


def test_curves_are_logged_if_tensorboard_is_installed(monkeypatch, tmp_path):
    if find_spec("tensorboard") is None:
        module = types.ModuleType("torch.utils.tensorboard")
        module.SummaryWriter = SummaryWriter
        monkeypatch.setattr(SummaryWriter, "made", [])
        monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    clock = Clock()
    with TensorBoardReport(tmp_path, "exact", clock) as report:
        report.start(6)
        clock.now += 2
        report.update(7, 1.5, 0.25, 50)
        report.begin_validation(7)
        clock.now += 5
        report.end_validation(7, ValidationResult(93.0), 95.0)
        report.update(8, 1.25, 0.5, 50)
    assert written(tmp_path) == {
        "train/loss": [(7, 1.5), (8, 1.25)],
        "train/learning_rate": [(7, 0.25), (8, 0.5)],
        "train/tokens_per_second": [(7, 25.0), (8, 50.0)],
        "dev/exact": [(7, 93.0)],
    }


def test_missing_tensorboard_logs_no_curves_and_fails_nothing(monkeypatch, tmp_path):
    # what is None there cannot be imported
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    told(TensorBoardReport(tmp_path / "curves"), Clock())
    assert not (tmp_path / "curves").exists()


def test_training_reports_its_progress(tmp_path):
    made, _, _ = job(tmp_path, max_steps=3, validate_every=2, report_every=2, batch_tokens=100)
    made = type(made)(**{**vars(made), "validate": lambda model: ValidationResult(50.0, APPLES)})
    file = io.StringIO()
    with make_report(made.config, "exact", quiet=False, file=file) as report:
        train(made, report)
    sample = "exact 50.0 (best 50.0) · 我爱吃苹果 → i love apple (right: i love apples)"
    update, *validations = file.getvalue().splitlines()
    number = r"\d[\d,.]*"
    assert re.fullmatch(rf"step 2/3 · loss {number} · {number} tokens/s · \d+:\d\d left", update)
    assert validations == [f"step 2/3 · {sample}", f"step 3/3 · {sample}"]
