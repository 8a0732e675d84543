"""Sinusoidal positions: each pair of numbers is a clock hand, each clock slower than the last.

P[i,2j] = sin(i ω_j), P[i,2j+1] = cos(i ω_j), ω_j = 10000^{−2j/D}: a shift by δ turns hand j by
δ ω_j, wherever it stood, and P[i]·P[i+δ] = Σ_j cos(δ ω_j) depends on δ alone.
"""

from pathlib import Path

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from examples.pictures import BLUE, GRAY, ORANGE, save
from regard.nn.positions import RotaryPositions, SinusoidalPositions

CAPTION = (
    "Low dimensions turn fast, high ones slowly, like the hands of many clocks; a shift turns each "
    "hand by the same angle wherever it stands, so P[i]·P[i+δ] depends on the shift δ alone."
)
NUM_POSITIONS, SIZE, DELTA = 100, 64, 3


def position_table(num_positions: int = NUM_POSITIONS, size: int = SIZE) -> Float[Tensor, "T D"]:
    """Return P[i] for i = 0, 1, …"""
    return SinusoidalPositions(size, num_positions)(torch.arange(num_positions))


def shift(table: Float[Tensor, "T D"], delta: int) -> Float[Tensor, "T D"]:
    """Turn each row P[i] into P[i+δ], from δ alone, without i.

    (sin, cos) runs clockwise from the top, a rotary turn counterclockwise: hence −δ.
    """
    return RotaryPositions(table.shape[1])(table[:, None], offset=-delta)[:, 0]


def dot_products(table: Float[Tensor, "T D"]) -> Float[Tensor, "T T"]:
    """P[i]·P[j] for all i and j"""
    return table @ table.mT


def draw(folder: Path) -> Path:
    """Draw the table, three of its clocks, and its dot products."""
    table = position_table()
    figure = Figure(figsize=(14, 9), layout="constrained")
    figure.suptitle("Sinusoidal positions: many clocks, each slower than the last", fontsize=16)
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15], squeeze=False)[0]
    upper, lower = right.subfigures(2, 1, height_ratios=[1, 1.6], squeeze=False)[:, 0]

    axes = left.subplots()
    image = axes.imshow(
        table.numpy(), "cividis", aspect="auto", interpolation="nearest", vmin=-1, vmax=1
    )
    axes.set_title("P[i]: each row is a position, each column a wave", fontsize=13)
    axes.set_xlabel("dimension: 2j is a sine, 2j + 1 its cosine")
    axes.set_ylabel("position i")
    left.colorbar(image, ax=axes, label="P[i, dimension]", shrink=0.6, ticks=(-1, 0, 1))

    title = f"Each pair is a clock hand: i → i + {DELTA} turns it by one angle, wherever it is"
    upper.suptitle(f"{title}\n(ring: P[i] after that turn)", fontsize=13)
    for clock, pair in zip(upper.subplots(1, 3), (0, 4, 8), strict=True):
        _draw_clock(clock, table, pair)
    _draw_products(lower.subplots(), dot_products(table))
    return save(figure, folder / "positions.png")


def _draw_clock(axes: Axes, table: Float[Tensor, "T D"], pair: int) -> None:
    """Draw one pair of dimensions as points on a circle, and ring two points after their turn."""
    sine, cosine = 2 * pair, 2 * pair + 1
    turned = shift(table, DELTA)
    axes.scatter(table[:20, sine], table[:20, cosine], s=14, color=GRAY)
    for start, color in ((0, BLUE), (8, ORANGE)):
        for i in (start, start + DELTA):
            x, y = table[i, [sine, cosine]].tolist()
            axes.plot([0, x], [0, y], color=color, linewidth=1.5)
            axes.text(1.27 * x, 1.27 * y, str(i), color=color, ha="center", va="center")
        axes.scatter(turned[start, sine], turned[start, cosine], s=70, color="none", ec=color)
    # P[0] points up, so the hand at δ shows the turn itself
    angle = torch.rad2deg(torch.atan2(table[DELTA, sine], table[DELTA, cosine]))
    axes.set_title(f"pair j = {pair}: by {angle:.0f}°", fontsize=11)
    axes.set_aspect("equal")
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set_xlabel(f"P[i, {sine}]")
    axes.set_ylabel(f"P[i, {cosine}]", labelpad=-4)


def _draw_products(axes: Axes, products: Float[Tensor, "T T"]) -> None:
    """Draw the dot products of some positions with all others, by the shift between them."""
    for i, marker, color in ((0, "o", BLUE), (50, "+", ORANGE), (99, "x", "black")):
        shifts = torch.arange(len(products)) - i
        axes.plot(shifts, products[i], marker, color=color, fillstyle="none", label=f"i = {i}")
    axes.set_title("P[i]·P[i+δ] by shift δ: one curve, wherever i stands", fontsize=13)
    axes.set_xlabel("shift δ, in positions")
    axes.set_ylabel("P[i]·P[i+δ]")
    axes.grid(alpha=0.3)
    axes.legend()
