"""A row of the table: contenders that take turns with the baseline, and a target.

The order of a round is baseline, one, baseline, another, …, baseline, so that other load on the
machine affects all contenders. A ratio compares a figure with the mean of the baseline around it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.throughput import MedianRange, speedup

REGARD = "regard"
BASELINE = "plain PyTorch"
FASTEST = "the fastest competitor"


class Measurement(NamedTuple):
    """Named figures of one run, the cores that other programs used, and the peak memory."""

    figures: Mapping[str, float]
    other_cores: float = 0.0
    peak_bytes: int = 0


@dataclass(frozen=True)
class Contender:
    """A program that is measured; an extra one only in the first round: no target refers to it."""

    name: str
    measure: Callable[[], Measurement]
    competitor: bool = False
    extra: bool = False
    version: str | None = None


@dataclass(frozen=True)
class Target:
    """A multiple of a competitor's ratio or, without a competitor, a limit of the figure itself."""

    threshold: float
    relative_to: str | None = None
    aim: float | None = None


@dataclass(frozen=True)
class BenchmarkRow:
    """A workload, measured by one or more figures."""

    name: str
    workload: str
    unit: str
    baseline: Contender
    contenders: tuple[Contender, ...]
    targets: Mapping[str, Target]
    """The reported figures, each with its target."""

    higher_is_better: bool = True
    missing: Mapping[str, str] = field(default_factory=dict)
    """Competitors that are not installed, each with how to install it."""

    rounds: int = 2
    kernels: bool = False
    """Whether it times kernels, whose tests must pass first."""


class Turn(NamedTuple):
    """One measurement of a contender."""

    round: int
    contender: str
    measurement: Measurement


def turns(row: BenchmarkRow) -> Iterator[tuple[int, Contender]]:
    """Yield the contenders in turn, the baseline before and after each."""
    for number in range(row.rounds):
        yield number, row.baseline
        for contender in row.contenders:
            if number == 0 or not contender.extra:
                yield number, contender
                yield number, row.baseline


def measure(row: BenchmarkRow, report: Callable[[Turn], None]) -> list[Turn]:
    """Measure every turn."""
    measured_turns = []
    for number, contender in turns(row):
        measured_turns.append(Turn(number, contender.name, contender.measure()))
        report(measured_turns[-1])
    return measured_turns


class ContenderFigures(NamedTuple):
    """A contender's figures, and its ratios to the baseline around them."""

    figures: MedianRange
    ratios: MedianRange


def compare(row: BenchmarkRow, figure: str, turns: Iterable[Turn]) -> dict[str, ContenderFigures]:
    """Summarize one figure of each contender."""
    figures: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    order = list(turns)
    for position, turn in enumerate(order):
        number = turn.measurement.figures[figure]
        figures.setdefault(turn.contender, []).append(number)
        if turn.contender == row.baseline.name:
            ratios.setdefault(turn.contender, []).append(1.0)
            continue
        around = [order[n].measurement.figures[figure] for n in (position - 1, position + 1)]
        ratio = speedup(number, *around, higher_is_better=row.higher_is_better)
        ratios.setdefault(turn.contender, []).append(ratio)
    return {
        name: ContenderFigures(MedianRange.of(figures[name]), MedianRange.of(ratios[name]))
        for name in figures
    }


def verdict(
    row: BenchmarkRow, figure: str, summaries: Mapping[str, ContenderFigures]
) -> tuple[bool | None, str]:
    """Return whether the target is reached, with a sentence; None without its competitor."""
    target, regard = row.targets[figure], summaries[REGARD]
    if target.relative_to is None:
        return _absolute_verdict(row, target, regard.figures.median)
    names = {one.name for one in row.contenders if one.competitor}
    if target.relative_to != FASTEST:
        names &= {target.relative_to}
    ratios = {name: summaries[name].ratios.median for name in names if name in summaries}
    if not ratios:
        return None, f"not measured: {target.relative_to} is not installed"
    best = max(ratios, key=lambda name: ratios[name])
    times = regard.ratios.median / ratios[best]
    reached, share = times >= target.threshold, times / target.threshold
    return _verdict(reached, f"{times:.2f}× {best}", share, target, "×")


def _absolute_verdict(row: BenchmarkRow, target: Target, figure: float) -> tuple[bool, str]:
    share = figure / target.threshold if row.higher_is_better else target.threshold / figure
    text = f"{format_number(figure)} {row.unit}"
    return _verdict(share >= 1, text, share, target, f" {row.unit}")


def _verdict(reached: bool, text: str, share: float, target: Target, unit: str) -> tuple[bool, str]:
    threshold_text = f"{format_number(target.threshold)}{unit}"
    aim = "" if target.aim is None else f" (aim {format_number(target.aim)}{unit})"
    if reached:
        return True, f"reached: {text}, target {threshold_text}{aim}"
    return False, f"not reached: {text}, target {threshold_text}{aim}; {1 - share:.0%} short"


def format_number(number: float) -> str:
    """Format a number with three significant digits, or with all digits before the point."""
    if number >= 1000:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def to_json(row: BenchmarkRow, turns: list[Turn]) -> dict[str, Any]:
    """Return the figures, verdicts and single measurements of a row."""
    figures = {}
    for figure in row.targets:
        summaries = compare(row, figure, turns)
        reached, text = verdict(row, figure, summaries)
        figures[figure] = {
            "contenders": {
                name: {"figure": one.figures._asdict(), "ratio": one.ratios._asdict()}
                for name, one in summaries.items()
            },
            "reached": reached,
            "verdict": text,
        }
    return {
        "row": row.name,
        "workload": row.workload,
        "unit": row.unit,
        "figures": figures,
        "turns": [
            {
                "round": turn.round,
                "contender": turn.contender,
                "figures": dict(turn.measurement.figures),
                "other_cores": round(turn.measurement.other_cores, 2),
                "peak_bytes": turn.measurement.peak_bytes,
            }
            for turn in turns
        ],
        "versions": {one.name: one.version for one in row.contenders if one.version},
        "not_measured": dict(row.missing),
    }
