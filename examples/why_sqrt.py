"""Why scores are divided by √d: else their spread grows with the width, and softmax saturates.

For independent standard normal q and k, q·k is a sum of d products of variance 1, so its variance
is d. A softmax of such scores is nearly one-hot, and its gradient diag(p) − p pᵀ nearly zero.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from examples.pictures import BLUE, ORANGE, save
from regard.nn.scores import DotScore, ScaledDotScore, ScoreFunction

CAPTION = (
    "The variance of q·k grows like d, that of q·k/√d stays 1. Unscaled, the softmax's gradient "
    "collapses beyond d = 32 for most queries (near ties keep up the mean); scaled, it stays."
)
WIDTHS = tuple(2**exponent for exponent in range(11))
NUM_KEYS = 32


class ScoreStatistics(NamedTuple):
    """Variance of a score and norms of the softmax's gradient, at each width d."""

    variances: list[float]
    medians: list[float]
    means: list[float]
    tenths: list[float]
    ninetieths: list[float]


def softmax_gradient(p: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S S"]:
    """∂p_i/∂s_j = p_i (1[i=j] − p_j) for p = softmax(s)"""
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


def sample_scores(score: ScoreFunction, width: int, num_sets: int = 500) -> Float[Tensor, "T S"]:
    """Score random queries, eight for each set of keys; every score sees the same vectors."""
    generator = torch.Generator().manual_seed(width)
    query = torch.randn(num_sets, 8, width, generator=generator)
    keys = torch.randn(num_sets, NUM_KEYS, width, generator=generator)
    # in float64 from here on: p − p² of a nearly one-hot p is lost in float32
    return score(query, score.prepare(keys)).flatten(0, 1).double()


def measure(score: ScoreFunction, widths: tuple[int, ...] = WIDTHS) -> ScoreStatistics:
    """Measure the variance of the scores, and the Frobenius norm of their softmax's gradient."""
    statistics = ScoreStatistics([], [], [], [], [])
    shares = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    for width in widths:
        scores = sample_scores(score, width)
        norms = torch.linalg.matrix_norm(softmax_gradient(scores.softmax(dim=-1)))
        tenth, median, ninetieth = norms.quantile(shares).tolist()
        statistics.variances.append(scores.var().item())
        statistics.medians.append(median)
        statistics.means.append(norms.mean().item())
        statistics.tenths.append(tenth)
        statistics.ninetieths.append(ninetieth)
    return statistics


def draw(folder: Path) -> Path:
    """Draw the variance on the left and the gradient on the right."""
    figure = Figure(figsize=(13, 5.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = ((DotScore(), "q·k", ORANGE, "o"), (ScaledDotScore(), "q·k / √d", BLUE, "s"))
    for score, name, color, marker in styles:
        statistics = measure(score)
        left.loglog(WIDTHS, statistics.variances, color=color, marker=marker, label=name)
        right.loglog(
            WIDTHS, statistics.medians, color=color, marker=marker, label=f"{name}, median"
        )
        right.loglog(WIDTHS, statistics.means, color=color, linestyle="--", label=f"{name}, mean")
        band = f"{name}, 10 to 90 % of queries"
        right.fill_between(
            WIDTHS, statistics.tenths, statistics.ninetieths, color=color, alpha=0.2, label=band
        )
    left.loglog(WIDTHS, WIDTHS, color="black", linestyle=":", label="d")
    _finish(left, "The variance of q·k is d, that of q·k / √d is 1", "variance of the score")
    title = f"Unscaled, the gradient of a softmax over {NUM_KEYS} keys collapses"
    _finish(right, title, "Frobenius norm of diag(p) − p pᵀ")
    right.set_ylim(1e-9, 3)
    right.legend(loc="lower left", fontsize=11)
    return save(figure, folder / "why_sqrt.png")


def _finish(axes: Axes, title: str, label: str) -> None:
    """Write the title, the labels and the widths."""
    axes.set_title(title, fontsize=13)
    axes.set_xlabel("width d of queries and keys", fontsize=12)
    axes.set_ylabel(label, fontsize=12)
    axes.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=11)
