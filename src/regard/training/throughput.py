"""Throughput: tokens per second, recent loss, and the estimated remaining time."""

from collections import deque
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Self, final

from regard.config.settings import TrainConfig
from regard.training.progress_report import ValidationResult

RECENT = 50
"""Updates over which loss and throughput are averaged."""


@final
class ThroughputMeter:
    """Measures loss and speed of recent updates, and estimates the remaining time.

    Other threads may read its attributes: each write is atomic.
    """

    def __init__(self, config: TrainConfig, clock: Callable[[], float] = monotonic) -> None:
        self.config = config
        self.clock = clock
        self.start(0)

    def start(self, step: int) -> None:
        """Start the clock; `step` counts the updates of earlier parts of the run."""
        self.step = self.first_step = step
        self.loss = self.tokens_per_second = 0.0
        self._recent: deque[tuple[float, int, float]] = deque(maxlen=RECENT)
        self._start_time = self._lap_start_time = self.clock()
        self._update_seconds = self._validation_seconds = 0.0
        self._num_validations, self._last_validation_step = 0, step
        self.is_validating = False

    def update(self, step: int, loss: float, tokens: int) -> None:
        """Record an update: tokens, mean loss per token, and the time since the last one."""
        seconds = self._lap()
        self.step = step
        self._update_seconds += seconds
        self._recent.append((loss, tokens, seconds))
        total_tokens = sum(tokens for _, tokens, _ in self._recent)
        total_loss = sum(loss * tokens for loss, tokens, _ in self._recent)
        self.loss = total_loss / max(1, total_tokens)
        total_seconds = sum(seconds for _, _, seconds in self._recent)
        self.tokens_per_second = total_tokens / total_seconds if total_seconds > 0 else 0.0

    def begin_validation(self) -> None:
        """Count the time from now on as validation."""
        self._update_seconds += self._lap()
        self._last_validation_step, self.is_validating = self.step, True

    def end_validation(self) -> None:
        """Count the time from now on as updates."""
        self._validation_seconds += self._lap()
        self._num_validations += 1
        self.is_validating = False

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self._start_time

    def seconds_left(self) -> float | None:
        """Estimate the seconds to the last update and validation; None before the first update.

        `max_minutes` bounds the estimate. Early stopping is not considered.
        """
        if self.step == self.first_step:
            return None
        config, step = self.config, self.step
        left = (config.max_steps - step) * self._update_seconds / (step - self.first_step)
        seconds_per_validation = self._validation_seconds / max(1, self._num_validations)
        if self._last_validation_step < config.max_steps:
            # a validation always follows the last update
            every = config.validate_every
            num_validations = ceil(config.max_steps / every) - self._last_validation_step // every
            left += seconds_per_validation * num_validations
        if self.is_validating:
            left += max(0.0, seconds_per_validation - (self.clock() - self._lap_start_time))
        if config.max_minutes:
            left = min(left, max(0.0, 60 * config.max_minutes - self.elapsed()))
        return left

    def steps_text(self) -> str:
        """Return `step 20/100`."""
        return f"step {self.step}/{self.config.max_steps}"

    def speed_text(self) -> str:
        """Return loss and throughput of recent updates; nothing before the first."""
        if self.step == self.first_step:
            return ""
        return f"loss {self.loss:.3f} · {self.tokens_per_second:,.0f} tokens/s"

    def remaining_text(self) -> str:
        """Return the estimated remaining time; nothing before the first update."""
        left = self.seconds_left()
        return "" if left is None else f"{format_clock_time(left)} left"

    def _lap(self) -> float:
        """Return the seconds since the last call."""
        last, self._lap_start_time = self._lap_start_time, self.clock()
        return self._lap_start_time - last


class TimedReport:
    """A progress report with a throughput meter; subclasses write the output."""

    def __init__(self, config: TrainConfig, clock: Callable[[], float] = monotonic) -> None:
        self.throughput = ThroughputMeter(config, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def start(self, step: int) -> None:
        """Start the clock."""
        self.throughput.start(step)

    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Record an update."""
        self.throughput.update(step, loss, tokens)

    def begin_validation(self, step: int) -> None:
        """Stop the clock of updates."""
        self.throughput.begin_validation()

    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Start the clock of updates again."""
        self.throughput.end_validation()


def format_clock_time(seconds: float) -> str:
    """Write 130 seconds as 2:10, and 3,700 as 1:01:40."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
