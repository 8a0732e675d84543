"""The throughput log: `throughput.jsonl` in the run folder, tokens per second by the clock.

It is apart from `log.jsonl`, which is the same whenever and wherever a run takes place.
"""

from collections.abc import Callable
from time import monotonic
from typing import Self, final

from regard.config.settings import TrainConfig
from regard.training.progress_report import ValidationResult
from regard.training.run_folder import RunFolder
from regard.training.throughput import ThroughputMeter

OLD_NAME = "pace.jsonl"
"""Name of the log in run folders of regard 0.1."""


@final
class ThroughputLog:
    """Writes a line every so many updates; `seconds` count all parts of a resumed run."""

    NAME = "throughput.jsonl"

    def __init__(
        self, folder: RunFolder, config: TrainConfig, clock: Callable[[], float] = monotonic
    ) -> None:
        self.folder = folder
        self.throughput = ThroughputMeter(config, clock)
        self.earlier_seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Delete the lines after this step, and continue to count."""
        log, old_log = self.folder.path / self.NAME, self.folder.path / OLD_NAME
        if old_log.exists() and not log.exists():
            old_log.rename(log)
        self.folder.shorten_log(step, self.NAME)
        self.earlier_seconds = self.folder.last_logged(self.NAME).get("seconds", 0.0)
        self.throughput.start(step)

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Write a line, if this update is to be reported."""
        meter = self.throughput
        meter.update(step, loss, tokens)
        if step % meter.config.report_every == 0:
            seconds = self.earlier_seconds + meter.elapsed()
            entry = {
                "tokens_per_second": round(meter.tokens_per_second, 1),
                "seconds": round(seconds, 3),
            }
            self.folder.log({"step": step, **entry}, self.NAME)

    def begin_validation(self, step: int) -> None:
        """Stop the clock of updates."""
        self.throughput.begin_validation()

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Start the clock of updates again."""
        self.throughput.end_validation()
