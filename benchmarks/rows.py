"""What a row of the table is: contenders in turn, the reference between them, and a target.

The order of a round is reference, one, reference, another, …, reference: whatever else the machine
does meets everybody. A ratio is a figure beside the mean of the reference before and after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.paces import Spread, beside

OURS = "regard"
PLAIN = "plain PyTorch"
FASTEST = "the fastest peer"


class Measured(NamedTuple):
    """Figures of one run by their names, cores that others used meanwhile, and peak bytes."""

    figures: Mapping[str, float]
    others: float = 0.0
    peak: int = 0


@dataclass(frozen=True)
class Contender:
    """Who is measured; an extra one only in the first round, since no target speaks of it."""

    name: str
    measure: Callable[[], Measured]
    peer: bool = False
    extra: bool = False
    version: str | None = None


@dataclass(frozen=True)
class Target:
    """So many times somebody's ratio, or, of nobody, a figure that may not be passed."""

    least: float
    of: str | None = None
    aim: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of work, measured by one or more figures."""

    name: str
    work: str
    unit: str
    plain: Contender
    contenders: tuple[Contender, ...]
    targets: Mapping[str, Target]
    """The figures that are shown, each with what is wanted of it."""

    higher_is_better: bool = True
    missing: Mapping[str, str] = field(default_factory=dict)
    """Peers that are not installed, each with how to install it."""

    rounds: int = 2
    kernels: bool = False
    """Whether it times kernels, whose tests must pass first."""


class Run(NamedTuple):
    """A contender's turn."""

    round: int
    contender: str
    measured: Measured


def turns(row: Row) -> Iterator[tuple[int, Contender]]:
    """Yield who is next, the reference before and after everybody."""
    for number in range(row.rounds):
        yield number, row.plain
        for contender in row.contenders:
            if number == 0 or not contender.extra:
                yield number, contender
                yield number, row.plain


def measure(row: Row, tell: Callable[[Run], None]) -> list[Run]:
    """Let everybody have their turns."""
    runs = []
    for number, contender in turns(row):
        runs.append(Run(number, contender.name, contender.measure()))
        tell(runs[-1])
    return runs


class Compared(NamedTuple):
    """A contender's figures, and how many times better than the reference around them."""

    figures: Spread
    ratios: Spread


def compare(row: Row, figure: str, runs: Iterable[Run]) -> dict[str, Compared]:
    """Put the runs of each contender together."""
    values: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    order = list(runs)
    for place, run in enumerate(order):
        value = run.measured.figures[figure]
        values.setdefault(run.contender, []).append(value)
        if run.contender == row.plain.name:
            ratios.setdefault(run.contender, []).append(1.0)
            continue
        around = [order[n].measured.figures[figure] for n in (place - 1, place + 1)]
        ratio = beside(value, *around, higher_is_better=row.higher_is_better)
        ratios.setdefault(run.contender, []).append(ratio)
    return {name: Compared(Spread.of(values[name]), Spread.of(ratios[name])) for name in values}


def verdict(row: Row, figure: str, found: Mapping[str, Compared]) -> tuple[bool | None, str]:
    """Say whether the target is reached, or by how much not; None where nobody can say."""
    target, ours = row.targets[figure], found[OURS]
    if target.of is None:
        return _absolute(row, target, ours.figures.median)
    peers = {one.name for one in row.contenders if one.peer}
    wanted = peers if target.of == FASTEST else {name for name in peers if name == target.of}
    others = {name: found[name].ratios.median for name in wanted if name in found}
    if not others:
        return None, f"not measured: {target.of} is not installed"
    best = max(others, key=lambda name: others[name])
    times = ours.ratios.median / others[best]
    return _said(times >= target.least, f"{times:.2f}× {best}", times / target.least, target, "×")


def _absolute(row: Row, target: Target, value: float) -> tuple[bool, str]:
    share = value / target.least if row.higher_is_better else target.least / value
    return _said(share >= 1, f"{number(value)} {row.unit}", share, target, f" {row.unit}")


def _said(reached: bool, what: str, share: float, target: Target, unit: str) -> tuple[bool, str]:
    wanted = f"{number(target.least)}{unit}"
    aim = "" if target.aim is None else f" (aim {number(target.aim)}{unit})"
    if reached:
        return True, f"reached: {what}, wanted {wanted}{aim}"
    return False, f"not reached: {what}, wanted {wanted}{aim}; {1 - share:.0%} short"


def number(value: float) -> str:
    """Write a figure with three digits that count."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def to_json(row: Row, runs: list[Run]) -> dict[str, Any]:
    """Return all that is known of a row."""
    figures = {}
    for figure in row.targets:
        found = compare(row, figure, runs)
        reached, said = verdict(row, figure, found)
        figures[figure] = {
            "contenders": {
                name: {"figure": one.figures._asdict(), "ratio": one.ratios._asdict()}
                for name, one in found.items()
            },
            "reached": reached,
            "verdict": said,
        }
    return {
        "row": row.name,
        "work": row.work,
        "unit": row.unit,
        "figures": figures,
        "runs": [
            {
                "round": run.round,
                "contender": run.contender,
                "figures": dict(run.measured.figures),
                "other_cores": round(run.measured.others, 2),
                "peak_bytes": run.measured.peak,
            }
            for run in runs
        ],
        "versions": {one.name: one.version for one in row.contenders if one.version},
        "not_measured": dict(row.missing),
    }
