"""Curves of a run as inline SVG: axes with round numbers, and a title on every point."""

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, inf, log10
from typing import NamedTuple

from regard.terminal_text import escape_invisible

WIDTH, HEIGHT = 420, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 30, 12, 34
MAX_POINTS = 150
"""Maximum number of points of a chart; beyond it, neighbours are averaged."""


class Chart(NamedTuple):
    """Numbers over updates: their title, their format, and the bounds of the axis."""

    title: str
    points: Sequence[tuple[int, float]]
    format_value: Callable[[float], str] = "{:.3g}".format
    from_zero: bool = False
    lower_bound: float = -inf
    upper_bound: float = inf


def draw_chart(chart: Chart) -> str:
    """Draw a chart with its caption; without a point, say so."""
    caption = f"<figcaption>{escape(escape_invisible(chart.title))}</figcaption>"
    if not chart.points:
        return f'<figure>{caption}<p class="soft">Nothing is logged yet.</p></figure>'
    points, group_size = downsample(chart.points)
    note = f" Each point is the mean of up to {group_size}." if group_size > 1 else ""
    return f"<figure>{caption}{_to_svg(chart, points, _describe(chart) + note)}</figure>"


def downsample(points: Sequence[tuple[int, float]]) -> tuple[list[tuple[int, float]], int]:
    """Average neighbours, each group at its last update, to at most MAX_POINTS."""
    group_size = ceil(len(points) / MAX_POINTS)
    groups = [points[at : at + group_size] for at in range(0, len(points), group_size)]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups], group_size


def _describe(chart: Chart) -> str:
    (first, start), (last, end) = chart.points[0], chart.points[-1]
    low, high = (pick(y for _, y in chart.points) for pick in (min, max))
    write = chart.format_value
    return (
        f"{chart.title}: {write(start)} at update {first:,}, {write(end)} at update {last:,}; "
        f"between {write(low)} and {write(high)}."
    )


def _to_svg(chart: Chart, points: list[tuple[int, float]], description: str) -> str:
    ys = [y for _, y in points]
    lowest = min(0.0, *ys) if chart.from_zero else min(ys)
    ticks_y = ticks(lowest, max(ys), lower_bound=chart.lower_bound, upper_bound=chart.upper_bound)
    ticks_x = [x for x in ticks(0, points[-1][0], 5) if x == int(x)]
    low, high, right = ticks_y[0], ticks_y[-1], max(ticks_x[-1], points[-1][0])

    def position(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / right
        up = TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low)
        return round(across, 1), round(up, 1)

    title = escape(escape_invisible(description))
    parts = [f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}"><title>{title}</title>']
    for y in ticks_y:
        height = position(0, y)[1]
        parts.append(f'<path class="grid" d="M{LEFT} {height}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{height + 4:g}" text-anchor="end">{y:,.6g}</text>')
    for x in ticks_x:
        attributes = f'x="{position(x, low)[0]}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts.append(f"<text {attributes}>{x:,.0f}</text>")
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">updates</text>')
    positions = [position(x, y) for x, y in points]
    line = " ".join(f"{x:g},{y:g}" for x, y in positions)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    for (x, y), (step, number) in zip(positions, points, strict=True):
        parts.append(
            f'<g class="point"><title>update {step:,}: {escape(chart.format_value(number))}</title>'
            f'<circle class="hit" cx="{x:g}" cy="{y:g}" r="9"/>'
            f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="2.5"/></g>'
        )
    return "".join(parts) + "</svg>"


def ticks(
    low: float, high: float, count: int = 4, *, lower_bound: float = -inf, upper_bound: float = inf
) -> list[float]:
    """Return round numbers at equal steps of 1, 2 or 5, from just below to just above."""
    if high <= low:
        # a constant curve needs padding on both sides, within the bounds
        padding = abs(low) / 2 or 0.5
        low, high = (
            max(low - padding, min(low, lower_bound)),
            min(high + padding, max(high, upper_bound)),
        )
    raw_step = (high - low) / count
    power = 10.0 ** floor(log10(raw_step))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= raw_step * (1 - 1e-9))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [float(f"{n * step:.10g}") for n in range(first, last + 1)]
