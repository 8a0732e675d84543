"""The table and the picture of the measurements, from the JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs import MAX_OTHER_CORES
from benchmarks.rows import BASELINE, REGARD, format_number

HEAD = ("contender", "median", "min … max", "ratio", "min … max")


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Format every row: contenders, their figures and ratios to the baseline; then the verdict."""
    lines = [_cells(HEAD)]
    for row in rows:
        for figure, summary in row.get("figures", {}).items():
            lines += ["", f"{row['row']} · {figure}: {row['workload']}"]
            lines += [_cells(cells) for cells in _contenders(row, summary)]
            lines.append(f"  → {summary['verdict']}")
        if "refused" in row:
            lines += ["", f"{row['row']}: {row['workload']}", f"  → {row['refused']}"]
        for name, command in row.get("not_measured", {}).items():
            lines.append(
                f"  {name}: not measured, because it is not installed; install it: {command}"
            )
        if roofline := row.get("roofline"):
            lines.append(f"  roofline: {roofline['summary']}")
        if profile := row.get("profile"):
            shares = ", ".join(f"{name} {share:.0%}" for name, share in profile["shares"].items())
            lines.append(f"  profile: {shares}")
        if busy := _busy(row):
            lines.append(f"  doubtful: other programs used up to {busy:.1f} cores")
    return "\n".join(lines) + "\n"


def _contenders(row: dict[str, Any], summary: dict[str, Any]) -> Iterator[Sequence[str]]:
    for name, one in summary["contenders"].items():
        figure, ratio = one["figure"], one["ratio"]
        spread = f"{format_number(figure['least'])} … {format_number(figure['most'])}"
        ratios = f"{ratio['least']:.2f} … {ratio['most']:.2f}"
        version = row.get("versions", {}).get(name, "")
        contender = f"{name} {version}".strip()
        median = f"{format_number(figure['median'])} {row['unit']}"
        yield contender, median, spread, f"{ratio['median']:.2f}", ratios


def _cells(cells: Sequence[str]) -> str:
    widths = (16, 20, 7, 14)
    right = (f"{cell:>{width}}" for cell, width in zip(cells[1:], widths, strict=True))
    return f"  {cells[0]:<26}" + "".join(right)


def _busy(row: dict[str, Any]) -> float:
    most = max((turn["other_cores"] for turn in row.get("turns", [])), default=0.0)
    return most if most > MAX_OTHER_CORES else 0.0


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot the ratios as bars, a panel for each figure; the baseline is a line at one."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    panels = [
        (row, figure, summary) for row in rows for figure, summary in row.get("figures", {}).items()
    ]
    if not panels:
        return
    heights = [1.2 + 0.34 * len(summary["contenders"]) for _, _, summary in panels]
    plot, axes = pyplot.subplots(
        len(panels),
        1,
        figsize=(9, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for axis, (row, figure, summary) in zip(axes[:, 0], panels, strict=True):
        _draw_panel(axis, row, figure, summary)
    plot.savefig(path, dpi=120)
    pyplot.close(plot)


def _draw_panel(axis: Any, row: dict[str, Any], figure: str, summary: dict[str, Any]) -> None:
    names = list(summary["contenders"])[::-1]
    ratios = [summary["contenders"][name]["ratio"] for name in names]
    medians = [ratio["median"] for ratio in ratios]
    error_bars = [
        [ratio["median"] - ratio["least"] for ratio in ratios],
        [ratio["most"] - ratio["median"] for ratio in ratios],
    ]
    colors = [_color(name) for name in names]
    axis.barh(names, medians, color=colors, xerr=error_bars, ecolor="#555555", height=0.7)
    axis.axvline(1.0, color="#333333", linewidth=0.8)
    widest = max(ratio["most"] for ratio in ratios)
    for position, name in enumerate(names):
        median = summary["contenders"][name]["figure"]["median"]
        label = f"{medians[position]:.2f}×  ({format_number(median)} {row['unit']})"
        axis.text(
            ratios[position]["most"] + 0.015 * widest, position, label, va="center", fontsize=8
        )
    axis.set_xlim(0, 1.32 * widest)
    axis.set_title(f"{row['row']} · {figure} — {summary['verdict']}", fontsize=9, loc="left")
    axis.tick_params(labelsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _color(name: str) -> str:
    if name.startswith(REGARD):
        return "#c2410c"
    return "#9ca3af" if name.startswith(BASELINE) else "#2563eb"
