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


class Trial(NamedTuple):
    """One measurement of a contender."""

    round: int
    contender: str
    measurement: Measurement


def schedule(row: BenchmarkRow) -> Iterator[tuple[int, Contender]]:
    """Yield the contenders in turn, the baseline before and after each."""
    for round_index in range(row.rounds):
        yield round_index, row.baseline
        for contender in row.contenders:
            if round_index == 0 or not contender.extra:
                yield round_index, contender
                yield round_index, row.baseline


def measure(row: BenchmarkRow, report_trial: Callable[[Trial], None]) -> list[Trial]:
    """Measure every trial."""
    trials = []
    for round_index, contender in schedule(row):
        trials.append(Trial(round_index, contender.name, contender.measure()))
        report_trial(trials[-1])
    return trials


class ContenderFigures(NamedTuple):
    """A contender's figures, and its ratios to the baseline around them."""

    figures: MedianRange
    ratios: MedianRange


def compare(
    row: BenchmarkRow, figure_name: str, trials: Iterable[Trial]
) -> dict[str, ContenderFigures]:
    """Summarize one figure of each contender."""
    figures: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    order = list(trials)
    for position, trial in enumerate(order):
        value = trial.measurement.figures[figure_name]
        figures.setdefault(trial.contender, []).append(value)
        if trial.contender == row.baseline.name:
            ratios.setdefault(trial.contender, []).append(1.0)
            continue
        around = [order[n].measurement.figures[figure_name] for n in (position - 1, position + 1)]
        ratio = speedup(value, *around, higher_is_better=row.higher_is_better)
        ratios.setdefault(trial.contender, []).append(ratio)
    return {
        name: ContenderFigures(MedianRange.of(figures[name]), MedianRange.of(ratios[name]))
        for name in figures
    }


def verdict(
    row: BenchmarkRow, figure_name: str, summaries: Mapping[str, ContenderFigures]
) -> tuple[bool | None, str]:
    """Return whether the target is reached, with a sentence; None without its competitor."""
    target, regard = row.targets[figure_name], summaries[REGARD]
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


def _absolute_verdict(row: BenchmarkRow, target: Target, median: float) -> tuple[bool, str]:
    share = median / target.threshold if row.higher_is_better else target.threshold / median
    text = f"{format_number(median)} {row.unit}"
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


def to_json(row: BenchmarkRow, trials: list[Trial]) -> dict[str, Any]:
    """Return the figures, verdicts and single measurements of a row."""
    figures = {}
    for figure_name in row.targets:
        summaries = compare(row, figure_name, trials)
        reached, text = verdict(row, figure_name, summaries)
        figures[figure_name] = {
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
                "round": trial.round,
                "contender": trial.contender,
                "figures": dict(trial.measurement.figures),
                "other_cores": round(trial.measurement.other_cores, 2),
                "peak_bytes": trial.measurement.peak_bytes,
            }
            for trial in trials
        ],
        "versions": {one.name: one.version for one in row.contenders if one.version},
        "not_measured": dict(row.missing),
    }
