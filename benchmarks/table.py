"""The table and the picture of what was measured; both read the JSON that was written."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs import QUIET
from benchmarks.rows import OURS, PLAIN, number

HEAD = ("contender", "median", "least … most", "ratio", "least … most")


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write every row: who, how fast, how many times the reference; then the verdict."""
    lines = [_cells(HEAD)]
    for row in rows:
        for figure, found in row.get("figures", {}).items():
            lines += ["", f"{row['row']} · {figure}: {row['work']}"]
            lines += [_cells(cells) for cells in _contenders(row, figure, found)]
            lines.append(f"  → {found['verdict']}")
        if "refused" in row:
            lines += ["", f"{row['row']}: {row['work']}", f"  → {row['refused']}"]
        for name, how in row.get("not_measured", {}).items():
            lines.append(f"  {name}: not measured, since it is not installed; {how} would do")
        if floor := row.get("floor"):
            lines.append(f"  floor: {floor['said']}")
        if profile := row.get("profile"):
            shares = ", ".join(f"{name} {share:.0%}" for name, share in profile["shares"].items())
            lines.append(f"  time goes to: {shares}")
        if busy := _busy(row):
            lines.append(f"  doubtful: others used up to {busy:.1f} cores meanwhile")
    return "\n".join(lines) + "\n"


def _contenders(row: dict[str, Any], figure: str, found: dict[str, Any]) -> Iterator[Sequence[str]]:
    for name, one in found["contenders"].items():
        value, ratio = one["figure"], one["ratio"]
        spread = f"{number(value['least'])} … {number(value['most'])}"
        ratios = f"{ratio['least']:.2f} … {ratio['most']:.2f}"
        version = row.get("versions", {}).get(name, "")
        who = f"{name} {version}".strip()
        median = f"{number(value['median'])} {row['unit']}"
        yield who, median, spread, f"{ratio['median']:.2f}", ratios


def _cells(cells: Sequence[str]) -> str:
    widths = (16, 20, 7, 14)
    right = (f"{cell:>{width}}" for cell, width in zip(cells[1:], widths, strict=True))
    return f"  {cells[0]:<26}" + "".join(right)


def _busy(row: dict[str, Any]) -> float:
    most = max((run["other_cores"] for run in row.get("runs", [])), default=0.0)
    return most if most > QUIET else 0.0


def picture(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the ratios as bars, a panel for each figure, the reference as a line at one."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    panels = [
        (row, figure, found) for row in rows for figure, found in row.get("figures", {}).items()
    ]
    if not panels:
        return
    heights = [1.2 + 0.34 * len(found["contenders"]) for _, _, found in panels]
    drawn, axes = pyplot.subplots(
        len(panels),
        1,
        figsize=(9, sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    for axis, (row, figure, found) in zip(axes[:, 0], panels, strict=True):
        _panel(axis, row, figure, found)
    drawn.savefig(path, dpi=120)
    pyplot.close(drawn)


def _panel(axis: Any, row: dict[str, Any], figure: str, found: dict[str, Any]) -> None:
    names = list(found["contenders"])[::-1]
    ratios = [found["contenders"][name]["ratio"] for name in names]
    medians = [ratio["median"] for ratio in ratios]
    reach = [
        [ratio["median"] - ratio["least"] for ratio in ratios],
        [ratio["most"] - ratio["median"] for ratio in ratios],
    ]
    colors = [_color(name) for name in names]
    axis.barh(names, medians, color=colors, xerr=reach, ecolor="#555555", height=0.7)
    axis.axvline(1.0, color="#333333", linewidth=0.8)
    widest = max(ratio["most"] for ratio in ratios)
    for place, name in enumerate(names):
        value = found["contenders"][name]["figure"]["median"]
        said = f"{medians[place]:.2f}×  ({number(value)} {row['unit']})"
        axis.text(ratios[place]["most"] + 0.015 * widest, place, said, va="center", fontsize=8)
    axis.set_xlim(0, 1.32 * widest)
    axis.set_title(f"{row['row']} · {figure} — {found['verdict']}", fontsize=9, loc="left")
    axis.tick_params(labelsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _color(name: str) -> str:
    if name.startswith(OURS):
        return "#c2410c"
    return "#9ca3af" if name.startswith(PLAIN) else "#2563eb"
