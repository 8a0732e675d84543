"""How it goes, told while it goes: a bar at a terminal, lines elsewhere, or curves in TensorBoard.

Everything is written to stderr, or to the file that is given; nothing here decides how a run goes.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO, final

from regard.config.settings import TrainConfig
from regard.training.loop import Report, Sample, Validation
from regard.training.pace import Pace, clock_time
from regard.training.sample import fit, sample_line
from regard.training.state import RunFolder

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LINE_WIDTH = 160
"""Cells of a line where no terminal says how wide it is."""

BAR_WIDTH = 40
BESIDE_THE_BAR = " validating · 00:00 left "


class OpenReport(Report, Protocol):
    """A report that is closed whatever happens: `with report: train(job, report)`."""

    def __enter__(self) -> Self:
        """Be ready."""

    def __exit__(self, *problem: object) -> None:
        """Leave nothing half drawn behind."""


def make_report(
    config: TrainConfig, metric: str, *, quiet: bool, file: TextIO | None = None
) -> OpenReport:
    """Choose who tells how it goes: nobody, a bar where one can be drawn, or else lines."""
    shown = sys.stderr if file is None else file
    # a process without a terminal of its own may have no stderr either
    if quiet or shown is None:
        return Silent()
    if _drawable(_console(file), shown):
        return ProgressBar(config, metric, file)
    return PlainLines(config, metric, file)


@final
class Silent:
    """Tells nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Say nothing."""

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Say nothing."""

    def validating(self, step: int) -> None:
        """Say nothing."""

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Say nothing."""


@final
class PlainLines:
    """A line every so many updates, and one for each validation with its sample."""

    def __init__(
        self,
        config: TrainConfig,
        metric: str,
        file: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.metric = metric
        self.file = file
        self.pace = Pace(config, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Begin to count."""
        self.pace.start(step)

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Tell of it, if it is one that is reported."""
        self.pace.update(step, loss, tokens)
        if step % self.pace.config.report_every == 0:
            self._write(self.pace.steps_text(), self.pace.speed_text(), self.pace.left_text())

    def validating(self, step: int) -> None:
        """Wait: the line comes when the score is known."""
        self.pace.begin_validation()

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Tell the score, and show the sample on what is left of the line."""
        self.pace.end_validation()
        parts = [self.pace.steps_text(), score_text(self.metric, found.score, best)]
        if found.sample is not None:
            parts.append(sample_line(found.sample, LINE_WIDTH - len(_joined(*parts, " "))))
        self._write(*parts)

    def _write(self, *parts: str) -> None:
        file = sys.stderr if self.file is None else self.file
        # hours of work are not lost because nobody listens any more
        with suppress(OSError):
            file.write(_joined(*parts) + "\n")
            file.flush()


@final
class ProgressBar:
    """Three lines at the bottom of a terminal or under a notebook's cell, drawn anew as it goes."""

    def __init__(
        self,
        config: TrainConfig,
        metric: str,
        file: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        from rich.live import Live

        self.metric = metric
        self.pace = Pace(config, clock)
        self.score = ""
        self.sample: Sample | None = None
        self.ended = False
        self.console = _console(file)
        # what others write to stderr appears above the bar; stdout is not ours to touch. Between
        # start and end a thread alone draws, so that a handler of signals may write at any time
        self.live = Live(
            get_renderable=self.drawn,
            console=self.console,
            redirect_stdout=False,
            redirect_stderr=file is None or file is sys.stderr,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.ended = True
        # a terminal that is gone need not be tidied
        with suppress(OSError):
            # in a notebook, stopping alone would not draw the end
            if self.live.is_started and self.console.is_jupyter:
                self.live.refresh()
            self.live.stop()

    def start(self, step: int) -> None:
        """Begin to count and to draw."""
        self.pace.start(step)
        self.live.start(refresh=True)

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Take note; it is seen when the bar is next drawn."""
        self.pace.update(step, loss, tokens)

    def validating(self, step: int) -> None:
        """Say so, as long as it takes."""
        self.pace.begin_validation()

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Show the score and the sample, until the next."""
        self.pace.end_validation()
        self.score = score_text(self.metric, found.score, best)
        self.sample = found.sample

    def drawn(self) -> "RenderableType":
        """Return what is to be seen now."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar as Bar
        from rich.table import Table
        from rich.text import Text

        pace, width, most = self.pace, self.console.width, self.pace.config.max_steps
        if self.ended:
            right = f"took {clock_time(pace.elapsed())}"
        else:
            right = _joined("validating" if pace.validating else "", pace.left_text())
        # as wide at the end as at the beginning: what moves is progress
        left = pace.steps_text().ljust(len(f"step {most}/{most}"))
        room = min(BAR_WIDTH, width - len(left) - len(BESIDE_THE_BAR))
        bar = Bar(most, pace.step, width=room) if room > 1 else ""
        top = Table.grid(padding=(0, 1, 0, 0))
        top.add_row(Text(left, no_wrap=True), bar, Text(right, no_wrap=True))
        lines = [_joined(pace.speed_text(), self.score)]
        if self.sample is not None:
            lines.append(sample_line(self.sample, width))
        cut = [Text(fit(line, width), no_wrap=True, overflow="crop") for line in lines if line]
        return Group(top, *cut)


@final
class TensorBoard:
    """Curves in a folder, where the package tensorboard is installed; else nothing.

    Of a run that goes on, what was drawn after its last save is drawn again, not twice.
    """

    def __init__(
        self, folder: Path, metric: str = "score", clock: Callable[[], float] = monotonic
    ) -> None:
        self.folder = folder
        self.metric = metric
        self.pace = Pace(TrainConfig(), clock)
        self.writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.writer is not None:
            self.writer.close()

    def start(self, step: int) -> None:
        """Open the folder, behind the last update."""
        self.pace.start(step)
        with suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=step + 1)

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Add a point to each curve of training; the loss is this update's own."""
        self.pace.update(step, loss, tokens)
        self._add("train/loss", loss, step)
        self._add("train/learning_rate", rate, step)
        self._add("train/tokens_per_second", self.pace.tokens_per_second, step)

    def validating(self, step: int) -> None:
        """Wait: what it takes is no update's time."""
        self.pace.begin_validation()

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Add a point to the curve of the score."""
        self.pace.end_validation()
        self._add(f"dev/{self.metric}", found.score, step)

    def _add(self, name: str, value: float, step: int) -> None:
        if self.writer is not None:
            self.writer.add_scalar(name, value, step)


@final
class PaceFile:
    """A line every so many updates in `pace.jsonl` of the run: how fast it went, by the clock.

    It is no part of the log, which is the same whenever and wherever a run goes. `seconds` are all
    that were spent on the updates that count, also before it was stopped.
    """

    NAME = "pace.jsonl"

    def __init__(
        self, folder: RunFolder, config: TrainConfig, clock: Callable[[], float] = monotonic
    ) -> None:
        self.folder = folder
        self.pace = Pace(config, clock)
        self.before = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Forget what is not part of the run any more, and go on counting."""
        self.folder.shorten_log(step, self.NAME)
        self.before = self.folder.last_logged(self.NAME).get("seconds", 0.0)
        self.pace.start(step)

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Write a line, if the update is one that is reported."""
        self.pace.update(step, loss, tokens)
        if step % self.pace.config.report_every == 0:
            speed, seconds = self.pace.tokens_per_second, self.before + self.pace.elapsed()
            entry = {"tokens_per_second": round(speed, 1), "seconds": round(seconds, 3)}
            self.folder.log({"step": step, **entry}, self.NAME)

    def validating(self, step: int) -> None:
        """Wait: what it takes is no update's time."""
        self.pace.begin_validation()

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Go on."""
        self.pace.end_validation()


@final
class Several:
    """Tells several reports the same, in their order."""

    def __init__(self, reports: Sequence[OpenReport]) -> None:
        self.reports = tuple(reports)
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        for report in self.reports:
            self.stack.enter_context(report)
        return self

    def __exit__(self, *problem: object) -> None:
        self.stack.close()

    def start(self, step: int) -> None:
        """Tell each."""
        for report in self.reports:
            report.start(step)

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """Tell each."""
        for report in self.reports:
            report.update(step, loss, rate, tokens)

    def validating(self, step: int) -> None:
        """Tell each."""
        for report in self.reports:
            report.validating(step)

    def validation(self, step: int, found: Validation, best: float) -> None:
        """Tell each."""
        for report in self.reports:
            report.validation(step, found, best)


def score_text(metric: str, score: float, best: float) -> str:
    """Name a score and the best so far; the dev loss is not to be taken for that of training."""
    name, digits = ("dev loss", 3) if metric == "loss" else (metric, 1)
    return f"{name} {score:.{digits}f} (best {best:.{digits}f})"


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _console(file: TextIO | None) -> "Console":
    """Return what draws: on a file that is given, also in a notebook."""
    from rich.console import Console

    return Console(
        file=file,
        stderr=file is None,
        force_jupyter=None if file is None else False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _drawable(console: "Console", file: TextIO) -> bool:
    """Whether a bar can be drawn over again."""
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    # rich may also be told by the environment to color a file
    return file.isatty() and console.is_interactive
