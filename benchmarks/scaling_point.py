"""`python -m benchmarks.scaling_point AXIS SIZE MODEL WORK`: measure one size, print JSON.

An update is loss, gradients and an optimizer step on a batch of random tokens. A corpus is a file
of random pairs; a whole run reads and encodes it and trains for some updates. Size 0 is one token.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch

from regard.config.settings import TrainConfig
from regard.models import preset
from regard.models.build import build
from regard.training.optimizer import make_optimizer

VOCABULARY_SIZE = 1000
SIZES: dict[str, dict[str, int]] = {
    "bahdanau2015": {
        "embedding_size": 128,
        "hidden_size": 128,
        "align_size": 128,
        "readout_size": 128,
    },
    "vaswani2017": {
        "model_size": 128,
        "feed_forward_size": 512,
        "num_heads": 4,
        "num_layers": 2,
        "max_length": 4096,
    },
}
MIN_SECONDS = 1.0
"""Minimum time spent on updates; at least two are measured."""


def measure_update(rows: int, length: int, kind: str) -> dict[str, float]:
    """Time an update on `rows` lines of the same length."""
    torch.manual_seed(1)
    model = build(preset(kind)(**SIZES[kind]), VOCABULARY_SIZE, VOCABULARY_SIZE).train()
    optimizer = make_optimizer(model, TrainConfig())
    source, fed, target = (torch.randint(4, VOCABULARY_SIZE, (rows, length)) for _ in range(3))
    mask = torch.ones(rows, length, dtype=torch.bool)

    def time_update() -> float:
        start = time.perf_counter()
        loss = model.loss(source, mask, fed, target, mask)
        torch.autograd.backward(loss / target.numel())
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - start

    time_update()
    times = [time_update()]
    while sum(times) < MIN_SECONDS:
        times.append(time_update())
    seconds = median(times)
    return {"seconds": seconds, "tokens_per_second": rows * length / seconds}


def measure_corpus(pairs: int, kind: str, work: Path) -> dict[str, float]:
    """Time a run from a file of pairs to its first update, and the updates after it."""
    import regard
    from regard.training import loop

    rng = random.Random(pairs)
    names = [f"w{number}" for number in range(VOCABULARY_SIZE)]
    path = work / f"pairs-{pairs}.tsv"
    with path.open("w", encoding="utf-8") as file:
        for _ in range(pairs):
            line = " ".join(rng.choices(names, k=rng.randint(8, 16)))
            file.write(f"{line}\t{line}\n")
    one = work / "one-pair.tsv"
    one.write_text(f"{names[0]}\t{names[0]}\n", encoding="utf-8")
    start, marks = time.perf_counter(), []
    loop_update = loop.update

    def timed_update(*arguments: Any) -> tuple[Callable[[], float], int]:
        before = time.perf_counter()
        loss, tokens = loop_update(*arguments)
        marks.append((before - start, time.perf_counter() - before, tokens))
        return loss, tokens

    loop.update = timed_update  # type: ignore[assignment]
    sizes: dict[str, Any] = dict(SIZES[kind])
    regard.train(
        str(path),
        dev=str(one),
        preset=kind,
        **sizes,
        text={"source": "whitespace", "target": "whitespace"},
        train={"max_steps": 12, "batch_tokens": 1024, "metric": "loss", "device": "cpu"},
        quiet=True,
    )
    path.unlink()
    measured = marks[2:]
    speed = sum(tokens for *_, tokens in measured) / sum(seconds for _, seconds, _ in measured)
    return {"seconds": marks[0][0], "tokens_per_second": speed}


def main() -> None:
    """Print one measurement."""
    axis, size, kind, work = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    if size == 0:
        point = measure_update(1, 1, kind)
    elif axis == "corpus":
        point = measure_corpus(size, kind, work)
    else:
        rows, length = (8, size) if axis == "length" else (size, 16)
        point = measure_update(rows, length, kind)
    sys.stdout.write(json.dumps(point) + "\n")


if __name__ == "__main__":
    main()
