"""The floor under a row: what its products cost where the machine does nothing else.

Counts multiply-adds in shape letters, of one update, backward as twice forward, or of one decoded
word, and measures how many a second the machine reaches: in large products, and in those of 64 or
32 rows that a recurrence or a search is made of. Element-wise work, memory and Python come on top.
"""

import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from benchmarks.machine import ROOT
from benchmarks.paces import name
from benchmarks.programs import follow
from benchmarks.rows import OURS, number
from benchmarks.sites import Site
from benchmarks.tasks import Task

B = 64


class Count(NamedTuple):
    """Multiply-adds forward for one batch: in large products, in those of a step, and tanh."""

    large: float
    steps: float
    tanh: float


def recurrent(S: float, T: float, V: int, score: str) -> Count:
    """BiGRU 256 × 2, E = 256, D = A = 512, M = 512, fed again what was found.

    Once: input gates of both directions B·S·2·3·256·(E), keys B·S·M·A, the words' part of the
    cell's input B·T·3D·E, readout B·T·D·V. In the loop: the encoder's B·S·2·3·256·256, the cell's
    B·T·3D·(D + D), the query B·T·D·A, [h; c] B·T·2D·D, scores and pooling B·T·S·(A + M).
    """
    E, D, M = 256, 512, 512
    large = B * S * 6 * 256 * E + B * S * M * D + B * T * 3 * D * E + B * T * D * V
    steps = B * S * 6 * 256 * 256 + B * T * (3 * D * 2 * D + 2 * D * D) + B * T * S * 2 * M
    additive = score == "additive"
    return Count(large, steps + additive * B * T * D * D, additive * B * T * S * D)


def transformer(S: float, T: float, V: int) -> Count:
    """3 + 3 layers, D = 256, F = 1024: all of it in large products.

    A layer: 4·D² for its self-attention and 2·D·F, in the decoder 2·D² more for queries and
    outputs and, of the source, 2·D² for keys and values; 2·D for each pair of positions that look.
    """
    D, F, L = 256, 1024, 3
    encoder = B * S * (4 * D * D + 2 * D * F) + B * S * S * 2 * D
    decoder = B * T * (6 * D * D + 2 * D * F) + B * S * 2 * D * D + B * T * (S + T) * 2 * D
    return Count(L * (encoder + decoder) + B * T * D * V, 0.0, 0.0)


def decoded(kind: str, S: float, T: float, V: int, beam: int) -> float:
    """Multiply-adds for one word of S letters and T symbols, where all that can be done ahead is.

    Recurrent: of the source S·(6·256² + 2·M·D), the encoder's loop, keys and what is found as it
    is used; a step 6·D² for the gates, 2·D² for query and [h; c], D·V and S·2·D. Transformer, L
    layers: of the source 6·D² + 2·D·F, of a step the same, D·V and (S + T)·D.
    """
    if kind == "recurrent":
        D = 512
        return S * (6 * 256**2 + 2 * D * D) + T * beam * (8 * D * D + D * V + 2 * S * D)
    D, F, L = 256, 1024, 3
    layer = 6 * D * D + 2 * D * F
    return L * S * layer + T * beam * (L * (layer + (S + T) * D) + D * V)


def _searched(kind: str, found: dict[str, Any], site: Site) -> dict[str, Any]:
    S, T, V = _sizes(site.task("g2p"))
    reached = speeds(site.threads)
    told, least = [], {}
    for beam in (1, 5):
        called = name(beam)
        count = decoded(kind, S, T, V, beam)
        least[called] = reached["32 rows"] / count
        ours = found["figures"][called]["contenders"][OURS]["figure"]["median"]
        told.append(
            f"{called} {count / 1e6:.0f} M multiply-adds a word, {number(least[called])} words/s: "
            f"we reach {ours / least[called]:.0%}"
        )
    said = f"at {reached['32 rows'] / 1e9:.0f} G a second " + "; ".join(told)
    return {"words_per_second": least, "said": said, "speeds": reached}


def floor(row: str, found: dict[str, Any], site: Site) -> dict[str, Any] | None:
    """Say what the products alone would take, and how near we are; None for other rows."""
    if row.startswith("decode-"):
        return _searched(row.removeprefix("decode-"), found, site)
    kind = row.removeprefix("train-")
    if kind not in ("additive", "bilinear", "transformer"):
        return None
    S, T, V = _sizes(site.task("mt" if kind == "transformer" else "g2p"))
    count = transformer(S, T, V) if kind == "transformer" else recurrent(S, T, V, kind)
    reached = speeds(site.threads)
    seconds = 3 * (count.large / reached["large"] + count.steps / reached["64 rows"])
    least = B * T / seconds
    ours = found["figures"]["training"]["contenders"][OURS]["figure"]["median"]
    whole = count.large + count.steps
    said = (
        f"{3 * whole / 1e9:.1f} G multiply-adds an update, {count.steps / whole:.0%} step by "
        f"step; at {reached['large'] / 1e9:.0f} and {reached['64 rows'] / 1e9:.0f} G a second "
        f"{1000 * seconds:.0f} ms, {number(least)} tokens/s: we reach {ours / least:.0%}"
    )
    return {"tokens_per_second": least, "said": said, "speeds": reached, "count": count._asdict()}


def _sizes(task: Task) -> tuple[float, float, int]:
    """Return how long a source and a target are on average, and how many words a target has."""
    sides = (task.lines("train", side) for side in ("source", "target"))
    S, T = (sum(line.count(" ") + 1 for line in lines) / len(lines) for lines in sides)
    # the encoder of most reads no end, the decoder writes one
    return S, T + 1, len(task.vocabulary("target")) + 4


def speeds(threads: int) -> dict[str, float]:
    """Return multiply-adds a second, in a program of its own with so many threads."""
    command = [sys.executable, "-m", "benchmarks.floors"]
    ran = follow(command, threads=threads, folder=ROOT).expected("benchmarks.floors")
    return json.loads(ran.lines[-1][1])


def _rate(rows: int, inner: int, columns: int) -> float:
    import time

    import torch

    left, right = torch.randn(rows, inner), torch.randn(inner, columns)
    repeats = max(1, int(2e9 / (rows * inner * columns)))

    def once() -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            left @ right
        return rows * inner * columns * repeats / (time.perf_counter() - start)

    once()
    return median(once() for _ in range(5))


def main() -> None:
    """Print how fast products are."""
    measure: dict[str, Callable[[], float]] = {
        "large": lambda: _rate(1024, 1024, 1024),
        "64 rows": lambda: _rate(64, 512, 1536),
        "32 rows": lambda: _rate(32, 512, 2048),
    }
    sys.stdout.write(json.dumps({name: run() for name, run in measure.items()}) + "\n")


if __name__ == "__main__":
    main()
