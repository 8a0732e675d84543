"""`python -m benchmarks.scaling`: costs of training by length, batch size and corpus size.

Tokens per second and peak memory, each size in a process of its own, and the exponent e of
cost ∝ size^e, fitted to the largest sizes. Writes JSON and a picture, and prints a table.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, machine
from benchmarks.programs import CompletedProgram, exit_on_sigterm, follow
from benchmarks.rows import format_number

LENGTHS = tuple(2**power for power in range(3, 12))
BATCHES = tuple(2**power for power in range(10))
CORPORA = (10**3, 10**4, 10**5, 10**6)
AXES: dict[str, tuple[int, ...]] = {"length": LENGTHS, "batch": BATCHES, "corpus": CORPORA}
TITLES = {
    "length": "S = T, batch 8: seconds and bytes of an update",
    "batch": "rows, S = T = 16: seconds and bytes of an update",
    "corpus": "pairs, S = T = 8 … 16: seconds to the first update, and bytes",
}
TAIL = 4
"""How many of the largest sizes the exponent is fitted to: fixed costs hide it in smaller ones."""


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return e of cost ∝ size^e: the slope of log cost over log size, by least squares."""
    x, y = ([math.log(number) for number in numbers] for numbers in (sizes, costs))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def measure_size(axis: str, size: int, kind: str, threads: int, work: Path) -> dict[str, Any]:
    """Measure one size."""
    command = [sys.executable, "-m", "benchmarks.scaling_point", axis, str(size), kind, work]
    program: CompletedProgram = follow(command, threads=threads, folder=ROOT)
    program.check(f"{axis} {size}")
    other_cores = round(program.other_cores, 2)
    figures = json.loads(program.lines[-1][1])
    return {
        "size": size,
        "peak_bytes": program.peak_bytes,
        "other_cores": other_cores,
        **figures,
    }


def fit_exponents(points: Sequence[dict[str, Any]], fixed_bytes: int) -> dict[str, float]:
    """Return the exponents of seconds and of memory beyond its fixed part."""
    tail = points[-TAIL:]
    sizes = [one["size"] for one in tail]
    variable_bytes = [max(1, one["peak_bytes"] - fixed_bytes) for one in tail]
    return {
        "seconds": exponent(sizes, [one["seconds"] for one in tail]),
        "memory": exponent(sizes, variable_bytes),
    }


def table(kind: str, axis: str, series: dict[str, Any]) -> str:
    """Format the points of an axis and their exponents."""
    lines = [f"\n{kind} · {axis}: {TITLES[axis]}"]
    lines.append(f"{'size':>10}{'tokens/s':>12}{'seconds':>12}{'peak':>12}")
    for one in series["points"]:
        peak = f"{one['peak_bytes'] / 2**20:,.0f} MiB"
        cells = f"{format_number(one['tokens_per_second']):>12}{one['seconds']:>12.4f}{peak:>12}"
        lines.append(f"{one['size']:>10,}{cells}")
    exponents = series["exponents"]
    largest = f"the largest {min(TAIL, len(series['points']))} points"
    time, memory = (f"size^{exponents[name]:.2f}" for name in ("seconds", "memory"))
    return "\n".join([*lines, f"  time grows with {time}, memory with {memory} ({largest})\n"])


def plot(report: dict[str, Any], path: Path) -> None:
    """Plot seconds (logarithmic) and memory (linear) over size, a column for each axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    axes = list(next(iter(report["models"].values())))
    figure, panels = pyplot.subplots(
        2, len(axes), figsize=(4.2 * len(axes), 7), layout="constrained", squeeze=False
    )
    for column, axis in enumerate(axes):
        for kind, series in report["models"].items():
            if axis not in series:
                continue
            sizes = [one["size"] for one in series[axis]["points"]]
            exponents = series[axis]["exponents"]
            for row, (name, costs) in enumerate(
                {
                    "seconds": [one["seconds"] for one in series[axis]["points"]],
                    "memory": [one["peak_bytes"] / 2**20 for one in series[axis]["points"]],
                }.items()
            ):
                label = f"{kind}, size^{exponents[name]:.2f}"
                panels[row, column].loglog(sizes, costs, marker="o", label=label)
        panels[0, column].set_title(TITLES[axis], fontsize=8)
        panels[1, column].set_xlabel(axis)
        for row, unit in enumerate(("seconds", "peak MiB")):
            panels[row, column].set_ylabel(unit)
            panels[row, column].grid(visible=True, which="major", alpha=0.3)
            panels[row, column].legend(fontsize=8)
        # a logarithmic axis would exaggerate slow growth
        panels[1, column].set_yscale("linear")
        panels[1, column].set_ylim(bottom=0)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    """Measure every size of the named axes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("axes", nargs="*", metavar="AXIS", help=", ".join(AXES))
    parser.add_argument("--models", nargs="+", default=["bahdanau2015", "vaswani2017"])
    parser.add_argument("--largest", type=int, default=10**9, help="leave out larger sizes")
    parser.add_argument("--work", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--out", type=Path, default=Path("out/scaling.json"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    exit_on_sigterm()
    for axis in options.axes:
        if axis not in AXES:
            raise SystemExit(f"Unknown axis {axis}; the axes are {', '.join(AXES)}.")
    report: dict[str, Any] = {"machine": machine(options.threads), "models": {}}
    options.work.mkdir(parents=True, exist_ok=True)
    for kind in options.models:
        smallest = measure_size("batch", 0, kind, options.threads, options.work)
        for axis in options.axes or AXES:
            # pairs are prepared in the same way for every model
            if axis == "corpus" and kind != options.models[0]:
                continue
            sizes = [size for size in AXES[axis] if size <= options.largest]
            points = [
                measure_size(axis, size, kind, options.threads, options.work) for size in sizes
            ]
            exponents = fit_exponents(points, smallest["peak_bytes"])
            series = {"points": points, "exponents": exponents}
            report["models"].setdefault(kind, {})[axis] = series
            sys.stdout.write(table(kind, axis, series))
            sys.stdout.flush()
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    plot(report, options.out.with_suffix(".png"))
    sys.stdout.write(f"\nwritten: {options.out}, {options.out.with_suffix('.png').name}\n")


if __name__ == "__main__":
    main()
