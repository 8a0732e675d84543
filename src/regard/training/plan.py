"""The training plan: how many updates, validations and scored sources fit into a time.

It is made once, from the measured pace, and kept in the run folder. A resumed run follows the kept
plan: no number of it depends on the clock any more.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, isfinite
from typing import Any, TypeVar, final

from regard.config.settings import TrainConfig

T = TypeVar("T")

USED_SHARE = 0.96
"""Share of the time that is planned for; the rest is for an uneven pace."""

VALIDATION_SHARE, SCORING_SHARE = 0.15, 0.1
"""Largest shares of the time for all validations, and for the final scoring."""

MAX_VALIDATIONS, MIN_VALIDATIONS = 20, 5
"""Validations of a run that its time cuts short; for five of them, sources are left out."""

TINY = 1e-9

MIN_SOURCES = 20
"""Validation sources that are always scored, however little time there is."""


@final
@dataclass(frozen=True)
class Pace:
    """Measured seconds of an update, of a validation, and of the final beam search."""

    update: float
    validation: float
    scoring: float


@final
@dataclass(frozen=True)
class TrainingPlan:
    """The numbers of a run with a time limit, which replace those of its settings."""

    minutes: float
    max_steps: int
    warmup_steps: int
    validate_every: int
    save_every: int
    report_every: int
    validation_sources: int
    """Number of sources that each validation decodes."""

    scoring_sources: int
    """Number of sources that the finished model is scored on."""

    scoring_seconds: float
    """Estimated time of all that comes after the last update."""

    def apply(self, config: TrainConfig) -> TrainConfig:
        """Return the settings with the planned numbers."""
        return replace(
            config,
            max_steps=self.max_steps,
            warmup_steps=self.warmup_steps,
            validate_every=self.validate_every,
            save_every=self.save_every,
            report_every=self.report_every,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Any) -> "TrainingPlan":
        """Read what `to_json` wrote; raise ValueError for anything else."""
        expected = cls.__annotations__
        if not isinstance(fields, dict) or fields.keys() != expected.keys():
            raise ValueError("not a plan")
        for name, number in fields.items():
            is_int = type(number) is int
            if not (is_int if expected[name] is int else is_int or type(number) is float):
                raise ValueError(f"{name} is not a number")
            if not isfinite(number) or number < 0:
                raise ValueError(f"{name} is out of range")
        if min(fields["max_steps"], fields["validate_every"], fields["save_every"]) < 1:
            raise ValueError("a plan without updates")
        return cls(**fields)


def make_plan(
    config: TrainConfig,
    pace: Pace,
    *,
    seconds: float,
    sources: int,
    steps_before: int = 0,
    automatic: Collection[str] = (),
) -> TrainingPlan:
    """Fit a run into the seconds that are left of `config.max_minutes`.

    Only the number of updates and the `automatic` settings change; the learning rate reaches its
    end at the last update. If the whole run fits, nothing changes.
    """
    usable = max(0.0, USED_SHARE * seconds)
    validation_sources = _fitting(
        sources, pace.validation, VALIDATION_SHARE * usable / MIN_VALIDATIONS
    )
    scoring_sources = _fitting(sources, pace.scoring, SCORING_SHARE * usable)
    validation = pace.validation * validation_sources / sources
    scoring = pace.scoring * scoring_sources / sources
    if config.average_checkpoints > 1 and config.average_checkpoints_from == "best":
        # the average is validated once more
        scoring += validation
    left, steps, every = usable - scoring, config.max_steps - steps_before, config.validate_every
    if steps_before or "validate_every" not in automatic:
        # the first interval, or the last, is shorter than the others
        left -= validation
    fits = steps * pace.update + ceil(steps / every) * validation <= left
    if not fits and "validate_every" in automatic:
        most = min(MAX_VALIDATIONS, ceil(config.max_steps / every))
        count = int(VALIDATION_SHARE * usable / max(validation, TINY))
        count = max(1, min(most, count))
        steps = min(steps, int((left - count * validation) / max(pace.update, TINY)))
        every = ceil(max(1, steps) / count)
    elif not fits:
        steps = min(steps, int(left / max(pace.update + validation / every, TINY)))
    max_steps = steps_before + max(1, steps)
    numbers = {
        "warmup_steps": min(config.warmup_steps, max_steps // 20),
        "validate_every": every,
        "save_every": every,
        "report_every": max(1, min(config.report_every, every // 5)),
    }
    intervals = {
        name: getattr(config, name) if fits or name not in automatic else number
        for name, number in numbers.items()
    }
    return TrainingPlan(
        minutes=config.max_minutes,
        max_steps=max_steps,
        validation_sources=validation_sources,
        scoring_sources=scoring_sources,
        scoring_seconds=round(scoring, 3),
        **intervals,
    )


def _fitting(sources: int, seconds: float, available: float) -> int:
    """Return how many sources can be decoded in the time; all of them would take `seconds`."""
    share = available / max(seconds, TINY)
    return min(sources, max(MIN_SOURCES, int(min(1.0, share) * sources)))


def select_evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """Return so many items, evenly spaced: files are often sorted."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]
