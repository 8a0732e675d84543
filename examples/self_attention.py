"""Self-attention for one word in five steps, and for all words at once as matrices: the same.

Word vectors and matrices are random and have one decimal: queries, keys and values are then exact
in two, and every later number in the picture can be checked by hand from those before it.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from examples.pictures import save
from regard.nn.attention import Attention, SelfAttention
from regard.nn.scores import DotScore, ScaledDotScore

CAPTION = (
    "Above, one word attends to every word, in five steps; below, all words at once. The framed "
    "row of each matrix equals the row above it: a matrix product does the steps for every word."
)
WORDS = ("we", "saw", "the", "red", "fox")
WORD = WORDS.index("fox")
SIZE = 4


class Steps(NamedTuple):
    """The output of each of the five steps, for one word."""

    query: Float[Tensor, "K"]
    keys: Float[Tensor, "S K"]
    values: Float[Tensor, "S K"]
    scores: Float[Tensor, "S"]
    scaled: Float[Tensor, "S"]
    weights: Float[Tensor, "S"]
    weighted: Float[Tensor, "S K"]
    output: Float[Tensor, "K"]


class Matrices(NamedTuple):
    """The same for all words; row i belongs to word i."""

    queries: Float[Tensor, "S K"]
    keys: Float[Tensor, "S K"]
    values: Float[Tensor, "S K"]
    scores: Float[Tensor, "S S"]
    scaled: Float[Tensor, "S S"]
    weights: Float[Tensor, "S S"]
    output: Float[Tensor, "S K"]


def sentence(seed: int = 0) -> tuple[Float[Tensor, "S D"], SelfAttention]:
    """Return a vector for each word, and a self-attention layer."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(len(WORDS), SIZE, generator=generator, dtype=torch.float64).round(decimals=1)
    attention = SelfAttention(Attention(ScaledDotScore()), SIZE, (SIZE, SIZE, SIZE))
    attention = attention.double().requires_grad_(False)
    for weight in attention.parameters():
        nn.init.normal_(weight, std=SIZE**-0.5, generator=generator).round_(decimals=1)
    return x, attention


def five_steps(x: Float[Tensor, "S D"], attention: SelfAttention, word: int) -> Steps:
    """Compute the attention output of one word, one vector at a time.

    1. q = W_q x_i, and k_j = W_k x_j, v_j = W_v x_j for every word j
    2. s_j = q · k_j
    3. s_j / √d, d the width of q
    4. α_j = exp(s_j / √d) / Σ_j′ exp(s_j′ / √d)
    5. z = Σ_j α_j v_j
    """
    query = attention.W_q(x[word])
    keys = torch.stack([attention.W_k(x_j) for x_j in x])
    values = torch.stack([attention.W_v(x_j) for x_j in x])
    scores = torch.stack([query.dot(key) for key in keys])
    scaled = scores / math.sqrt(len(query))
    weights = scaled.exp() / scaled.exp().sum()
    weighted = torch.stack([α * value for α, value in zip(weights, values, strict=True)])
    return Steps(query, keys, values, scores, scaled, weights, weighted, weighted.sum(dim=0))


def matrix_form(x: Float[Tensor, "S D"], attention: SelfAttention) -> Matrices:
    """Compute the attention output of every word: Z = softmax(Q Kᵀ / √d) V."""
    output, weights = attention(x)
    queries, keys, values = attention.W_q(x), attention.W_k(x), attention.W_v(x)
    scores, scaled = DotScore()(queries, keys), ScaledDotScore()(queries, keys)
    return Matrices(queries, keys, values, scores, scaled, weights, output)


def both_forms(word: int = WORD) -> tuple[Steps, Matrices]:
    """Return the five steps of one word and the matrix form, of the same sentence."""
    x, attention = sentence()
    return five_steps(x, attention, word), matrix_form(x, attention)


class Table(NamedTuple):
    """Numbers in cells under a title, with the position of their upper left corner."""

    title: str
    left: float
    top: float
    values: Float[Tensor, "rows columns"]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    framed: int | None = None
    weights: bool = False


CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}
# the end of the color scale of vectors and scores; larger numbers have the last color
LARGEST = 3.0
# where each column of tables begins, in cells
LEFTS = (0.0, 5.6, 10.6, 15.6, 21.4, 27.2, 33.8)


def step_tables(steps: Steps, top: float = 1.2) -> list[Table]:
    """Lay out the upper half: one word, one vector at a time."""
    level = top + WORD
    q, k, v, second, third, fourth, fifth = LEFTS
    fox, end = (WORDS[WORD],), top + len(WORDS) + 0.5
    return [
        Table("1  query of the word\n$q = W_q\\,x$", q, level, steps.query[None], fox),
        Table("1  key of each word\n$k_j = W_k\\,x_j$", k, top, steps.keys, WORDS),
        Table("1  value of each\n$v_j = W_v\\,x_j$", v, top, steps.values),
        Table(
            "2  score of each key\n$s_j = q · k_j$", second, level, steps.scores[None], (), WORDS
        ),
        Table("3  divide by √d\n$s_j$ / √d", third, level, steps.scaled[None], (), WORDS),
        Table(
            "4  softmax: weights\n$α_j$ from $s_j$ / √d",
            fourth,
            level,
            steps.weights[None],
            (),
            WORDS,
            weights=True,
        ),
        Table("5  weigh and sum\n$α_j v_j$, then $z$ = Σ", fifth, top, steps.weighted, WORDS),
        Table("", fifth, end, steps.output[None], ("Σ",), framed=0),
    ]


def matrix_tables(matrices: Matrices, top: float = 11.4) -> list[Table]:
    """Lay out the lower half: all words at once."""
    q, k, v, second, third, fourth, fifth = LEFTS
    return [
        Table("$Q = X W_q^\\top$", q, top, matrices.queries, WORDS, framed=WORD),
        Table("$K = X W_k^\\top$", k, top, matrices.keys),
        Table("$V = X W_v^\\top$", v, top, matrices.values),
        Table("$Q K^\\top$", second, top, matrices.scores, (), WORDS, WORD),
        Table("$Q K^\\top$ / √d", third, top, matrices.scaled, (), WORDS, WORD),
        Table("$A$: softmax of each row", fourth, top, matrices.weights, (), WORDS, WORD, True),
        Table("$Z = A V$", fifth, top, matrices.output, WORDS, framed=WORD),
    ]


def draw(folder: Path) -> Path:
    """Draw the steps of one word above the matrices of all."""
    steps, matrices = both_forms()
    difference = (matrices.output[WORD] - steps.output).abs().max().item()
    figure = Figure(figsize=(18, 8.6))
    # one axes for all tables, one unit per cell, to align them
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-1.8, 38.4), ylim=(18.8, -2.2))
    axes.set_axis_off()
    for table in step_tables(steps) + matrix_tables(matrices):
        _draw_table(axes, table)
    above = f"One word in five steps: what does “{WORDS[WORD]}” take from the sentence?"
    below = "All words at once: $Z$ = softmax($Q K^\\top$ / √d) $V$"
    note = (
        f"d = {SIZE}, the width of every vector. The sum Σ of the five steps and the framed row of "
        f"Z differ by {difference:.0e} at most."
    )
    axes.text(-1.3, -1.3, above, fontsize=16)
    axes.text(-1.3, 9.6, below, fontsize=16)
    axes.text(-1.3, 18.3, note, fontsize=12)
    return save(figure, folder / "self_attention.png")


def _draw_table(axes: Axes, table: Table) -> None:
    """Draw one cell for each number, colored by its size."""
    left, top = table.left, table.top
    height, width = table.values.shape
    lowest, cmap = (0.0, "viridis") if table.weights else (-LARGEST, "PuOr")
    highest = 1.0 if table.weights else LARGEST
    extent = (left, left + width, top + height, top)
    axes.imshow(table.values.numpy(), cmap, vmin=lowest, vmax=highest, extent=extent, aspect="auto")
    for i, row in enumerate(table.values.tolist()):
        for j, number in enumerate(row):
            dark = number < 0.55 if table.weights else abs(number) > 0.7 * LARGEST
            color = "white" if dark else "black"
            text = f"{number:.2f}".replace("-", "−")
            axes.text(left + j + 0.5, top + i + 0.5, text, color=color, **CENTERED, fontsize=9)
    for i, word in enumerate(table.rows):
        axes.text(left - 0.15, top + i + 0.5, word, ha="right", va="center", fontsize=11)
    for j, word in enumerate(table.columns):
        axes.text(left + j + 0.5, top + height + 0.4, word, **CENTERED, fontsize=11)
    if table.framed is not None:
        corner = (left, top + table.framed)
        axes.add_patch(Rectangle(corner, width, 1, fill=False, edgecolor="black", linewidth=2.5))
    axes.text(left, top - 0.3, table.title, fontsize=12, linespacing=1.4)
