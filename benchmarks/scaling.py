"""`python -m benchmarks.scaling`: what growing costs, by length, by batch and by corpus.

Tokens a second and peak memory of training, each point in a process of its own, and the exponent e
of cost ∝ size^e, fitted where sizes are large. Writes JSON and a picture, and prints a table.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, machine
from benchmarks.programs import Ran, end_with_us, follow
from benchmarks.rows import number

LENGTHS = tuple(2**power for power in range(3, 12))
BATCHES = tuple(2**power for power in range(10))
CORPORA = (10**3, 10**4, 10**5, 10**6)
AXES: dict[str, tuple[int, ...]] = {"length": LENGTHS, "batch": BATCHES, "corpus": CORPORA}
WHAT = {
    "length": "S = T, batch 8: seconds and bytes of an update",
    "batch": "rows, S = T = 16: seconds and bytes of an update",
    "corpus": "pairs, S = T = 8 … 16: seconds to the first update, and bytes",
}
TAIL = 4
"""Points, the largest ones, that the exponent is fitted to: before, what is fixed covers it."""


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return e of cost ∝ size^e: the slope of log cost over log size, by least squares."""
    x, y = ([math.log(value) for value in values] for values in (sizes, costs))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    across = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return across / sum((a - mean_x) ** 2 for a in x)


def point(axis: str, size: int, kind: str, threads: int, work: Path) -> dict[str, Any]:
    """Measure one size."""
    words = [sys.executable, "-m", "benchmarks.scaling_point", axis, str(size), kind, work]
    ran: Ran = follow(words, threads=threads, folder=ROOT).expected(f"{axis} {size}")
    said = json.loads(ran.lines[-1][1])
    return {"size": size, "peak_bytes": ran.peak, "other_cores": round(ran.others, 2), **said}


def summed(points: Sequence[dict[str, Any]], least: int) -> dict[str, float]:
    """Return how seconds and memory grow, the memory of an update of one word taken off."""
    tail = points[-TAIL:]
    sizes = [one["size"] for one in tail]
    grown = [max(1, one["peak_bytes"] - least) for one in tail]
    return {
        "seconds": exponent(sizes, [one["seconds"] for one in tail]),
        "memory": exponent(sizes, grown),
    }


def table(kind: str, axis: str, found: dict[str, Any]) -> str:
    """Write the points of an axis, and how they grow."""
    lines = [f"\n{kind} · {axis}: {WHAT[axis]}"]
    lines.append(f"{'size':>10}{'tokens/s':>12}{'seconds':>12}{'peak':>12}")
    for one in found["points"]:
        peak = f"{one['peak_bytes'] / 2**20:,.0f} MiB"
        cells = f"{number(one['tokens_per_second']):>12}{one['seconds']:>12.4f}{peak:>12}"
        lines.append(f"{one['size']:>10,}{cells}")
    grows = found["exponents"]
    told = f"  grows with size^{grows['seconds']:.2f} in time, size^{grows['memory']:.2f} in memory"
    return "\n".join([*lines, f"{told} (the largest {min(TAIL, len(found['points']))} points)\n"])


def picture(report: dict[str, Any], path: Path) -> None:
    """Draw seconds by powers and memory from zero over size, a column for each axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    axes = list(next(iter(report["models"].values())))
    drawn, panels = pyplot.subplots(
        2, len(axes), figsize=(4.2 * len(axes), 7), layout="constrained", squeeze=False
    )
    for column, axis in enumerate(axes):
        for kind, found in report["models"].items():
            if axis not in found:
                continue
            sizes = [one["size"] for one in found[axis]["points"]]
            grows = found[axis]["exponents"]
            for row, (name, values) in enumerate(
                {
                    "seconds": [one["seconds"] for one in found[axis]["points"]],
                    "memory": [one["peak_bytes"] / 2**20 for one in found[axis]["points"]],
                }.items()
            ):
                label = f"{kind}, size^{grows[name]:.2f}"
                panels[row, column].loglog(sizes, values, marker="o", label=label)
        panels[0, column].set_title(WHAT[axis], fontsize=8)
        panels[1, column].set_xlabel(axis)
        for row, unit in enumerate(("seconds", "peak MiB")):
            panels[row, column].set_ylabel(unit)
            panels[row, column].grid(visible=True, which="major", alpha=0.3)
            panels[row, column].legend(fontsize=8)
        # by powers, what hardly grows would look as if it did
        panels[1, column].set_yscale("linear")
        panels[1, column].set_ylim(bottom=0)
    drawn.savefig(path, dpi=120)
    pyplot.close(drawn)


def main() -> None:
    """Measure every point of the axes that were named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=", ".join(AXES))
    parser.add_argument("--models", nargs="+", default=["bahdanau2015", "vaswani2017"])
    parser.add_argument("--largest", type=int, default=10**9, help="leave out what is larger")
    parser.add_argument("--work", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--out", type=Path, default=Path("out/scaling.json"))
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    end_with_us()
    for axis in given.axes:
        if axis not in AXES:
            known = f"{', '.join(AXES)}; {next(iter(AXES))}"
            raise SystemExit(f"axis = {axis}, but it must be one of {known} would do")
    report: dict[str, Any] = {"machine": machine(given.threads), "models": {}}
    given.work.mkdir(parents=True, exist_ok=True)
    for kind in given.models:
        least = point("batch", 0, kind, given.threads, given.work)["peak_bytes"]
        for axis in given.axes or AXES:
            # how pairs are prepared is the same for every model
            if axis == "corpus" and kind != given.models[0]:
                continue
            sizes = [size for size in AXES[axis] if size <= given.largest]
            points = [point(axis, size, kind, given.threads, given.work) for size in sizes]
            found = {"points": points, "exponents": summed(points, least)}
            report["models"].setdefault(kind, {})[axis] = found
            sys.stdout.write(table(kind, axis, found))
            sys.stdout.flush()
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    picture(report, given.out.with_suffix(".png"))
    sys.stdout.write(f"\n{given.out} and {given.out.with_suffix('.png').name} hold it all\n")


if __name__ == "__main__":
    main()
