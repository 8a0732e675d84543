"""Plain log lines for a file or a pipe: one every `report_every` updates, one per validation."""

import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TextIO, final

from typing_extensions import override

from regard.config.settings import TrainConfig
from regard.metrics.tasks import label
from regard.training.progress_report import ValidationResult
from regard.training.throughput import TimedReport
from regard.training.validation_sample import sample_line

LINE_WIDTH = 160
"""Cells of a line; a file has no width of its own."""


@final
class LogLines(TimedReport):
    """Writes lines to stderr, or to another file."""

    def __init__(
        self,
        config: TrainConfig,
        metric: str,
        file: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(config, clock)
        self.metric = metric
        self.file = file

    @override
    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Write a line, if this update is to be reported."""
        super().update(step, loss, learning_rate, tokens)
        meter = self.throughput
        if step % meter.config.report_every == 0:
            self._write(meter.steps_text(), meter.speed_text(), meter.remaining_text())

    @override
    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Write the score, and the sample on the rest of the line."""
        super().end_validation(step, validation, best)
        parts = [self.throughput.steps_text(), format_score(self.metric, validation.score, best)]
        if validation.sample is not None:
            width = LINE_WIDTH - len(join_nonempty(*parts, " "))
            parts.append(sample_line(validation.sample, width))
        self._write(*parts)

    def _write(self, *parts: str) -> None:
        file = sys.stderr if self.file is None else self.file
        # a closed pipe must not end hours of training
        with suppress(OSError):
            file.write(join_nonempty(*parts) + "\n")
            file.flush()


def format_score(metric: str, score: float, best: float) -> str:
    """Name a score and the best so far; `dev loss` sets it apart from the training loss."""
    digits = 3 if metric == "loss" else 1
    return f"{label(metric)} {score:.{digits}f} (best {best:.{digits}f})"


def join_nonempty(*parts: str) -> str:
    """Join the parts of a line that are not empty."""
    return " · ".join(filter(None, parts))
