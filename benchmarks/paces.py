"""How fast something went: from marks along its way to a figure, and to a ratio beside another."""

import json
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.programs import Ran


class Mark(NamedTuple):
    """After so many updates, at this second, so many tokens had been learned from."""

    step: int
    seconds: float
    tokens: float


def every_mark(marks: Iterable[tuple[int, float, float]]) -> list[Mark]:
    """Return the marks in the order of their updates."""
    return sorted(Mark(*mark) for mark in marks)


def pace(marks: Sequence[Mark], warm: int) -> float:
    """Return tokens a second after the first updates, which are not counted."""
    counted = [mark for mark in marks if mark.step >= warm]
    if len(counted) < 2:
        raise SystemExit(
            f"{len(marks)} marks are too few, but there must be two after update {warm}; "
            "more --updates would do"
        )
    first, last = counted[0], counted[-1]
    return (last.tokens - first.tokens) / (last.seconds - first.seconds)


def json_marks(ran: Ran) -> list[Mark]:
    """Read the marks of a program that prints its steps and tokens as JSON."""
    said = ((when, json.loads(line)) for when, line in ran.lines if line.startswith('{"step"'))
    return every_mark((one["step"], when, one["tokens"]) for when, one in said)


def json_figures(ran: Ran) -> dict[str, float]:
    """Read what a program that decodes says of each width of its beam."""
    said = [json.loads(line) for _, line in ran.lines if line.startswith('{"beam"')]
    return {name(one["beam"]): one["words_per_second"] for one in said} | {
        f"symbols, {name(one['beam'])}": one["symbols"] for one in said
    }


def name(beam: int) -> str:
    """Name a search by the width of its beam."""
    return "greedy" if beam == 1 else f"beam {beam}"


def beside(value: float, before: float, after: float, *, higher_is_better: bool) -> float:
    """Return how many times better a figure is than the mean of the reference around it."""
    reference = (before + after) / 2
    return value / reference if higher_is_better else reference / value


class Spread(NamedTuple):
    """The median of some figures, and the least and the greatest of them."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        """Put figures together."""
        return cls(median(figures), min(figures), max(figures))
