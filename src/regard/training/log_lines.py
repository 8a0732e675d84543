"""Plain log lines: one every so many updates, and one per validation, for a file or a pipe."""

import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Self, TextIO, final

from regard.config.settings import TrainConfig
from regard.training.progress_report import ValidationResult
from regard.training.throughput import ThroughputMeter
from regard.training.validation_sample import sample_line

LINE_WIDTH = 160
"""Cells of a line; a file has no width of its own."""


@final
class LogLines:
    """Writes lines to stderr, or to the file that is given."""

    def __init__(
        self,
        config: TrainConfig,
        metric: str,
        file: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.metric = metric
        self.file = file
        self.throughput = ThroughputMeter(config, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Start the clock."""
        self.throughput.start(step)

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Write a line, if this update is to be reported."""
        meter = self.throughput
        meter.update(step, loss, tokens)
        if step % meter.config.report_every == 0:
            self._write(meter.steps_text(), meter.speed_text(), meter.remaining_text())

    def begin_validation(self, step: int) -> None:
        """Write nothing yet: the line comes with the score."""
        self.throughput.begin_validation()

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Write the score, and the sample on the rest of the line."""
        self.throughput.end_validation()
        parts = [self.throughput.steps_text(), score_text(self.metric, validation.score, best)]
        if validation.sample is not None:
            width = LINE_WIDTH - len(joined(*parts, " "))
            parts.append(sample_line(validation.sample, width))
        self._write(*parts)

    def _write(self, *parts: str) -> None:
        file = sys.stderr if self.file is None else self.file
        # a closed pipe must not end hours of training
        with suppress(OSError):
            file.write(joined(*parts) + "\n")
            file.flush()


def score_text(metric: str, score: float, best: float) -> str:
    """Name a score and the best so far; `dev loss` sets it apart from the training loss."""
    name, digits = ("dev loss", 3) if metric == "loss" else (metric, 1)
    return f"{name} {score:.{digits}f} (best {best:.{digits}f})"


def joined(*parts: str) -> str:
    """Join the parts of a line that say something."""
    return " · ".join(filter(None, parts))
