"""Roofline of a row: the time of its matrix products at the measured speed of the machine.

Counts multiply-adds in shape letters, of one update (backward counts twice) or of one decoded word.
Measures how many per second the machine reaches in large products, and in those of 64 or 32 rows
that a recurrence or a search needs. Element-wise operations, memory and Python add to this time.
"""

import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from benchmarks.datasets import BenchmarkDataset
from benchmarks.environment import BenchmarkEnvironment
from benchmarks.machine import ROOT
from benchmarks.programs import follow
from benchmarks.rows import REGARD, format_number
from benchmarks.throughput import search_name

B = 64


class OperationCount(NamedTuple):
    """Forward multiply-adds of one batch: in large products, in those of single steps, and tanh."""

    large: float
    steps: float
    tanh: float


def count_recurrent(S: float, T: float, V: int, score: str) -> OperationCount:
    """BiGRU 256 × 2, E = 256, D = A = 512, M = 512, input feeding.

    Once: input gates of both directions B·S·2·3·256·(E), keys B·S·M·A, the embeddings' part of the
    cell's input B·T·3D·E, readout B·T·D·V. In the loop: the encoder's B·S·2·3·256·256, the cell's
    B·T·3D·(D + D), the query B·T·D·A, [h; c] B·T·2D·D, scores and pooling B·T·S·(A + M).
    """
    E, D, M = 256, 512, 512
    large = B * S * 6 * 256 * E + B * S * M * D + B * T * 3 * D * E + B * T * D * V
    steps = B * S * 6 * 256 * 256 + B * T * (3 * D * 2 * D + 2 * D * D) + B * T * S * 2 * M
    additive = score == "additive"
    return OperationCount(large, steps + additive * B * T * D * D, additive * B * T * S * D)


def count_transformer(S: float, T: float, V: int) -> OperationCount:
    """3 + 3 layers, D = 256, F = 1024: all of it in large products.

    A layer: 4·D² for its self-attention and 2·D·F, in the decoder 2·D² more for queries and
    outputs and, of the source, 2·D² for keys and values; 2·D for each pair of positions.
    """
    D, F, L = 256, 1024, 3
    encoder = B * S * (4 * D * D + 2 * D * F) + B * S * S * 2 * D
    decoder = B * T * (6 * D * D + 2 * D * F) + B * S * 2 * D * D + B * T * (S + T) * 2 * D
    return OperationCount(L * (encoder + decoder) + B * T * D * V, 0.0, 0.0)


def count_decoding_operations(kind: str, S: float, T: float, V: int, beam: int) -> float:
    """Multiply-adds of one word of S letters and T tokens, with everything precomputed that can be.

    Recurrent: of the source S·(6·256² + 2·M·D), the encoder's loop, keys and projected values;
    a step 6·D² for the gates, 2·D² for query and [h; c], D·V and S·2·D. Transformer, L
    layers: of the source 6·D² + 2·D·F, of a step the same, D·V and (S + T)·D.
    """
    if kind == "recurrent":
        D = 512
        return S * (6 * 256**2 + 2 * D * D) + T * beam * (8 * D * D + D * V + 2 * S * D)
    D, F, L = 256, 1024, 3
    layer = 6 * D * D + 2 * D * F
    return L * S * layer + T * beam * (L * (layer + (S + T) * D) + D * V)


def _decoding_roofline(kind: str, row: dict[str, Any], env: BenchmarkEnvironment) -> dict[str, Any]:
    S, T, V = _sizes(env.dataset("g2p"))
    speeds = measure_speeds(env.threads)
    parts, bounds = [], {}
    for beam in (1, 5):
        search = search_name(beam)
        count = count_decoding_operations(kind, S, T, V, beam)
        bounds[search] = speeds["32 rows"] / count
        measured_speed = row["figures"][search]["contenders"][REGARD]["figure"]["median"]
        parts.append(
            f"{search} {count / 1e6:.0f} M multiply-adds per word, "
            f"{format_number(bounds[search])} words/s: "
            f"regard reaches {measured_speed / bounds[search]:.0%}"
        )
    summary = f"at {speeds['32 rows'] / 1e9:.0f} G per second " + "; ".join(parts)
    return {"words_per_second": bounds, "summary": summary, "speeds": speeds}


def roofline(row: dict[str, Any], env: BenchmarkEnvironment) -> dict[str, Any] | None:
    """Return the bound by the products alone, and the share that regard reaches, if known."""
    name = row["row"]
    if name.startswith("decode-"):
        return _decoding_roofline(name.removeprefix("decode-"), row, env)
    kind = name.removeprefix("train-")
    if kind not in ("additive", "bilinear", "transformer"):
        return None
    S, T, V = _sizes(env.dataset("mt" if kind == "transformer" else "g2p"))
    transformer = kind == "transformer"
    count = count_transformer(S, T, V) if transformer else count_recurrent(S, T, V, kind)
    speeds = measure_speeds(env.threads)
    seconds = 3 * (count.large / speeds["large"] + count.steps / speeds["64 rows"])
    bound = B * T / seconds
    measured_speed = row["figures"]["training"]["contenders"][REGARD]["figure"]["median"]
    total = count.large + count.steps
    summary = (
        f"{3 * total / 1e9:.1f} G multiply-adds per update, {count.steps / total:.0%} step by "
        f"step; at {speeds['large'] / 1e9:.0f} and {speeds['64 rows'] / 1e9:.0f} G per second "
        f"{1000 * seconds:.0f} ms, {format_number(bound)} tokens/s: regard reaches "
        f"{measured_speed / bound:.0%}"
    )
    bounds = {"tokens_per_second": bound, "summary": summary}
    return bounds | {"speeds": speeds, "count": count._asdict()}


def _sizes(dataset: BenchmarkDataset) -> tuple[float, float, int]:
    """Return the mean lengths of source and target, and the size of the target vocabulary."""
    sides = (dataset.lines("train", side) for side in ("source", "target"))
    S, T = (sum(line.count(" ") + 1 for line in lines) / len(lines) for lines in sides)
    # most encoders read no EOS, every decoder writes one
    return S, T + 1, len(dataset.vocabulary("target")) + 4


def measure_speeds(threads: int) -> dict[str, float]:
    """Return multiply-adds per second, measured in a process with so many threads."""
    command = [sys.executable, "-m", "benchmarks.roofline"]
    program = follow(command, threads=threads, folder=ROOT).check("benchmarks.roofline")
    speeds: dict[str, float] = json.loads(program.lines[-1][1])
    return speeds


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
    """Print the speeds of matrix products."""
    speed_functions: dict[str, Callable[[], float]] = {
        "large": lambda: _rate(1024, 1024, 1024),
        "64 rows": lambda: _rate(64, 512, 1536),
        "32 rows": lambda: _rate(32, 512, 2048),
    }
    sys.stdout.write(json.dumps({name: run() for name, run in speed_functions.items()}) + "\n")


if __name__ == "__main__":
    main()
