"""Kernel regression is attention: a new x is the query, known x_j are the keys, y_j the values.

The estimate f(x) = Σ_j α_j y_j, α = softmax_j(−½ (w (x − x_j))²), is that of Nadaraya and Watson
(1964); w = 0 gives the plain average, and the best w can be learned like any other parameter.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from torch import Tensor

from examples.pictures import GRAY, ORANGE, save
from regard.nn.attention import Attention
from regard.nn.scores import GaussianScore

CAPTION = (
    "The average of all points shows no curve, a Gaussian kernel of width 1 flattens it, and a "
    "learned width follows it: the sharper the weights, the nearer the points of each query."
)


class Points(NamedTuple):
    """Sorted inputs x and noisy measurements y."""

    x: Float[Tensor, "S"]
    y: Float[Tensor, "S"]


class Estimate(NamedTuple):
    """An estimate with its weights of the points and its error."""

    name: str
    w: float
    curve: Float[Tensor, "T"]
    weights: Float[Tensor, "T S"]
    error: float


def truth(x: Float[Tensor, "T"]) -> Float[Tensor, "T"]:
    """f(x) = 2 sin x + x^0.8"""
    return 2 * x.sin() + x**0.8


def noisy_points(num_points: int = 50, noise: float = 0.5, seed: int = 2) -> Points:
    """Sample the truth at random x in [0, 5], with normal noise."""
    generator = torch.Generator().manual_seed(seed)
    x = 5 * torch.rand(num_points, generator=generator, dtype=torch.float64)
    x = x.sort().values
    y = truth(x) + noise * torch.randn(num_points, generator=generator, dtype=torch.float64)
    return Points(x, y)


def query_grid(num_queries: int = 201) -> Float[Tensor, "T"]:
    """Return evenly spaced queries in [0, 5]."""
    return torch.linspace(0, 5, num_queries, dtype=torch.float64)


def pool(
    score: GaussianScore,
    queries: Float[Tensor, "T"],
    points: Points,
    visible: Bool[Tensor, "T S"] | None = None,
) -> tuple[Float[Tensor, "T"], Float[Tensor, "T S"]]:
    """Return the estimate at each query, and the weights of the points in it."""
    attention = Attention(score)
    memory = attention.remember(points.x[:, None], points.y[:, None])
    context, weights = attention(queries[:, None], memory, visible=visible)
    return context[:, 0], weights


def leave_one_out_error(score: GaussianScore, points: Points) -> Float[Tensor, ""]:
    """Return the mean squared error at the points, each estimated from all the others."""
    others = ~torch.eye(len(points.x), dtype=torch.bool)
    estimates, _ = pool(score, points.x, points, visible=others)
    return (estimates - points.y).square().mean()


def learn_width(points: Points, num_steps: int = 400, learning_rate: float = 0.1) -> GaussianScore:
    """Learn w from the points alone, by their leave-one-out error.

    If a point could see itself, an infinite w would reproduce its noise without any error.
    """
    score = GaussianScore(w=1.0, learned=True).double()
    optimizer = torch.optim.Adam(score.parameters(), lr=learning_rate)
    for _ in range(num_steps):
        optimizer.zero_grad()
        torch.autograd.backward(leave_one_out_error(score, points))
        optimizer.step()
    return score


def estimates(points: Points, queries: Float[Tensor, "T"]) -> list[Estimate]:
    """Return the three estimates: average, fixed kernel, learned kernel."""
    scores = {
        "Plain average": GaussianScore(w=0.0).double(),
        "Fixed kernel": GaussianScore(w=1.0).double(),
        "Learned kernel": learn_width(points),
    }
    rows = []
    with torch.no_grad():
        for name, score in scores.items():
            curve, weights = pool(score, queries, points)
            error = leave_one_out_error(score, points).item()
            rows.append(Estimate(name, score.w.item(), curve, weights, error))
    return rows


def draw(folder: Path) -> Path:
    """Draw each estimate with its weights beside it."""
    points, queries = noisy_points(), query_grid()
    rows = estimates(points, queries)
    # one scale of colors for all three; by its root, or the flat weights would all look black
    norm = PowerNorm(0.5, vmin=0, vmax=max(row.weights.max().item() for row in rows))

    figure = Figure(figsize=(12, 12), layout="constrained")
    figure.suptitle(
        "Kernel regression is attention: each query takes the values of the points near it",
        fontsize=15,
    )
    panels = figure.subplots(3, 2, width_ratios=[1.25, 1])
    for (left, right), row in zip(panels, rows, strict=True):
        _draw_curve(left, row, points, queries)
        image = right.imshow(
            row.weights.numpy(),
            aspect="auto",
            origin="lower",
            extent=(0.5, len(points.x) + 0.5, 0, 5),
            norm=norm,
            cmap="viridis",
            interpolation="nearest",
        )
        right.set_title(f"Its weights α, with w = {row.w:.2f}", fontsize=12)
        right.set_xlabel("key: point number $j$, in the order of $x_j$")
        right.set_ylabel("query $x$")
        figure.colorbar(image, ax=right, label="weight $α_j$")
    panels[0, 0].legend(loc="upper right", fontsize=10)
    return save(figure, folder / "kernel_regression.png")


def _draw_curve(axes: Axes, row: Estimate, points: Points, queries: Float[Tensor, "T"]) -> None:
    """Draw the truth, the points and the estimate by attention."""
    axes.plot(
        queries,
        truth(queries),
        color="black",
        linestyle="--",
        label="truth $2\\,\\sin x + x^{0.8}$",
    )
    axes.scatter(points.x, points.y, s=18, color=GRAY, label="points $(x_j, y_j)$")
    axes.plot(queries, row.curve, color=ORANGE, linewidth=2.5, label="estimate $Σ_j α_j y_j$")
    axes.set_title(f"{row.name}: leave-one-out mean squared error {row.error:.2f}", fontsize=12)
    axes.set_xlabel("$x$")
    axes.set_ylabel("$y$")
