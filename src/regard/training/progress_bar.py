"""A progress bar at the bottom of a terminal or in a notebook, or log lines if there is neither."""

import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, TextIO, final

from typing_extensions import override

from regard.config.settings import TrainConfig
from regard.training.log_lines import LogLines, format_score, join_nonempty
from regard.training.notebook_report import NotebookReport
from regard.training.progress_report import (
    ClosableReport,
    SilentReport,
    ValidationResult,
    ValidationSample,
)
from regard.training.throughput import TimedReport, format_clock_time
from regard.training.validation_sample import fit_cells, sample_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

BAR_WIDTH = 40
WIDEST_RIGHT_TEXT = " validating · 00:00 left "


def make_report(
    config: TrainConfig, metric: str, *, quiet: bool, file: TextIO | None = None
) -> ClosableReport:
    """Return a progress bar if one can be drawn, otherwise log lines; a silent report if quiet."""
    if not quiet and file is None and in_notebook():
        return NotebookReport(config, metric)
    stream = sys.stderr if file is None else file
    # a process without a terminal may have no stderr either
    if quiet or stream is None:
        return SilentReport()
    if _can_draw(_console(file), stream):
        return ProgressBar(config, metric, file)
    return LogLines(config, metric, file)


@final
class ProgressBar(TimedReport):
    """Three lines at the bottom of a terminal, redrawn as it goes."""

    def __init__(
        self,
        config: TrainConfig,
        metric: str,
        file: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        from rich.live import Live

        super().__init__(config, clock)
        self.metric = metric
        self.score = ""
        self.sample: ValidationSample | None = None
        self.ended = False
        self.console = _console(file)
        # other output to stderr appears above the bar; stdout is not redirected. Between start
        # and end only a thread draws, so a signal handler may write at any time
        self.live = Live(
            get_renderable=self.render,
            console=self.console,
            redirect_stdout=False,
            redirect_stderr=file is None or file is sys.stderr,
        )

    @override
    def __exit__(self, *error: object) -> None:
        self.ended = True
        # a closed terminal needs no cleanup
        with suppress(OSError):
            self.live.stop()

    @override
    def start(self, step: int) -> None:
        """Start the clock and the drawing."""
        super().start(step)
        self.live.start(refresh=True)

    @override
    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Show the score and the sample until the next validation."""
        super().end_validation(step, validation, best)
        self.score = format_score(self.metric, validation.score, best)
        self.sample = validation.sample

    def render(self) -> "RenderableType":
        """Return the lines as they are now."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar as RichBar
        from rich.table import Table
        from rich.text import Text

        throughput, width = self.throughput, self.console.width
        max_steps = throughput.config.max_steps
        if self.ended:
            right = f"took {format_clock_time(throughput.elapsed())}"
        else:
            right = join_nonempty(
                "validating" if throughput.is_validating else "", throughput.remaining_text()
            )
        # a constant width: only the bar moves
        left = throughput.steps_text().ljust(len(f"step {max_steps}/{max_steps}"))
        bar_width = min(BAR_WIDTH, width - len(left) - len(WIDEST_RIGHT_TEXT))
        bar = RichBar(max_steps, throughput.step, width=bar_width) if bar_width > 1 else ""
        top = Table.grid(padding=(0, 1, 0, 0))
        top.add_row(Text(left, no_wrap=True), bar, Text(right, no_wrap=True))
        lines = [join_nonempty(throughput.speed_text(), self.score)]
        if self.sample is not None:
            lines.append(sample_line(self.sample, width))
        texts = [
            Text(fit_cells(line, width), no_wrap=True, overflow="crop") for line in lines if line
        ]
        return Group(top, *texts)


def in_notebook() -> bool:
    """Whether the process is the kernel of a notebook, which shows HTML."""
    from rich.console import Console

    return Console().is_jupyter


def _console(file: TextIO | None) -> "Console":
    """Return a console on stderr, or on another file."""
    from rich.console import Console

    return Console(
        file=file,
        stderr=file is None,
        force_jupyter=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _can_draw(console: "Console", file: TextIO) -> bool:
    """Whether a bar can be redrawn in place."""
    # environment variables can make rich color a file
    return file.isatty() and console.is_interactive
