"""How fast a run goes and how long it will take, as the clock has it; nothing is decided here."""

from collections import deque
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import final

from regard.config.settings import TrainConfig

RECENT = 50
"""Updates over which loss and speed are taken together."""


@final
class Pace:
    """What the clock says: the loss and the speed of recent updates, and how long it will take.

    Threads may read what it holds: each number is put there whole.
    """

    def __init__(self, config: TrainConfig, clock: Callable[[], float] = monotonic) -> None:
        self.config = config
        self.clock = clock
        self.start(0)

    def start(self, step: int) -> None:
        """Begin to count, after so many updates of an earlier run."""
        self.step = self.first = step
        self.loss = self.tokens_per_second = 0.0
        self._recent: deque[tuple[float, int, float]] = deque(maxlen=RECENT)
        self._started = self._mark = self.clock()
        self._updates_took = self._validations_took = 0.0
        self._validations, self._validated = 0, step
        self.validating = False

    def update(self, step: int, loss: float, tokens: int) -> None:
        """Take note of an update: of its words, the mean loss; of its time, all since the last."""
        seconds = self._lap()
        self.step = step
        self._updates_took += seconds
        self._recent.append((loss, tokens, seconds))
        words = sum(tokens for _, tokens, _ in self._recent)
        self.loss = sum(loss * tokens for loss, tokens, _ in self._recent) / max(1, words)
        took = sum(seconds for _, _, seconds in self._recent)
        self.tokens_per_second = words / took if took > 0 else 0.0

    def begin_validation(self) -> None:
        """Take note that the time from here on is a validation's."""
        self._updates_took += self._lap()
        self._validated, self.validating = self.step, True

    def end_validation(self) -> None:
        """Take note that it is over."""
        self._validations_took += self._lap()
        self._validations += 1
        self.validating = False

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self._started

    def seconds_left(self) -> float | None:
        """Return how long it will take to the last update, if it goes on as it went so far.

        What updates took, times those to come, and the same for validations; at most what
        max_minutes leaves. That it may stop early, for want of a better score, is not foreseen.
        """
        if self.step == self.first:
            return None
        config, step = self.config, self.step
        left = (config.max_steps - step) * self._updates_took / (step - self.first)
        validation = self._validations_took / max(1, self._validations)
        if self._validated < config.max_steps:
            # the last update is followed by one, wherever it falls
            every = config.validate_every
            left += validation * (ceil(config.max_steps / every) - self._validated // every)
        if self.validating:
            left += max(0.0, validation - (self.clock() - self._mark))
        if config.max_minutes:
            left = min(left, max(0.0, 60 * config.max_minutes - self.elapsed()))
        return left

    def steps_text(self) -> str:
        """Say how far it has come."""
        return f"step {self.step}/{self.config.max_steps}"

    def speed_text(self) -> str:
        """Say how recent updates went; nothing before the first."""
        if self.step == self.first:
            return ""
        return f"loss {self.loss:.3f} · {self.tokens_per_second:,.0f} tokens/s"

    def left_text(self) -> str:
        """Say how long it will take; nothing while nobody knows."""
        left = self.seconds_left()
        return "" if left is None else f"{clock_time(left)} left"

    def _lap(self) -> float:
        """Return the seconds since this was last asked."""
        last, self._mark = self._mark, self.clock()
        return self._mark - last


def clock_time(seconds: float) -> str:
    """Write 130 seconds as 2:10, and hours before them where there are any."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
