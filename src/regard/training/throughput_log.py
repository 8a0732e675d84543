"""The throughput log: `throughput.jsonl` in the run folder, measured tokens per second.

It is separate from `log.jsonl`, which does not depend on the time or the machine.
"""

from collections.abc import Callable
from time import monotonic
from typing import final

from typing_extensions import override

from regard.config.settings import TrainConfig
from regard.training.run_folder import RunFolder
from regard.training.throughput import TimedReport

OLD_NAME = "pace.jsonl"
"""Name of the log in run folders of regard 0.1."""


@final
class ThroughputLog(TimedReport):
    """Writes a line every `report_every` updates; `seconds` include earlier parts of the run."""

    NAME = "throughput.jsonl"

    def __init__(
        self, folder: RunFolder, config: TrainConfig, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(config, clock)
        self.folder = folder
        self.earlier_seconds = 0.0

    @override
    def start(self, step: int) -> None:
        """Delete the lines after this step, and continue to count."""
        log, old_log = self.folder.path / self.NAME, self.folder.path / OLD_NAME
        if old_log.exists() and not log.exists():
            old_log.rename(log)
        self.folder.shorten_log(step, self.NAME)
        seconds = self.folder.last_logged(self.NAME).get("seconds", 0.0)
        # the log of an earlier version has no digest, so it may hold anything
        is_duration = type(seconds) in (int, float) and 0 <= seconds < float("inf")
        self.earlier_seconds = seconds if is_duration else 0.0
        super().start(step)

    @override
    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Write a line, if this update is to be reported."""
        super().update(step, loss, learning_rate, tokens)
        meter = self.throughput
        if step % meter.config.report_every == 0:
            seconds = self.earlier_seconds + meter.elapsed()
            entry = {
                "tokens_per_second": round(meter.tokens_per_second, 1),
                "seconds": round(seconds, 3),
            }
            self.folder.log({"step": step, **entry}, self.NAME)
