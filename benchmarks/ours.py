"""regard as a contender: its command line trains, its translator decodes.

`python -m benchmarks.ours MODEL FILE` decodes and prints its figures as JSON.
"""

import argparse
import json
import os
import re
import sys
import time
from dataclasses import replace
from itertools import count, islice
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.paces import Mark, every_mark
from benchmarks.programs import Ran, follow
from benchmarks.tasks import Task

if TYPE_CHECKING:
    from regard.config.model import ModelConfig
    from regard.config.settings import Settings

COMMAND = (sys.executable, "-c", "import sys; from regard.cli import main; sys.exit(main())")
"""The command line, also where regard is not installed but only on the path."""

ROWS = 64
FOREVER = 1_000_000
STEP = re.compile(r"^step (\d+)/.*tokens/s")


def model(kind: str) -> "ModelConfig":
    """Return the settings of a model that the peers have too, or of the paper's in their sizes."""
    from regard.config import model as config
    from regard.models import preset

    dropout = 0.1
    if kind == "transformer":
        sizes = {"model_size": 256, "feed_forward_size": 1024, "num_heads": 4, "num_layers": 3}
        return preset("vaswani2017")(
            **sizes, pre_norm=True, tied_embeddings="none", dropout=dropout
        )
    if kind == "bahdanau":
        sizes = {"embedding_size": 256, "hidden_size": 512, "align_size": 512, "readout_size": 512}
        return replace(preset("bahdanau2015")(**sizes, dropout=dropout), encoder=_encoder())
    words = config.EmbeddingConfig(size=256, dropout=dropout)
    return config.ModelConfig(
        source=words,
        target=words,
        encoder=_encoder("gru_after"),
        summary="mean",
        decoder=config.LuongDecoderConfig(
            hidden_size=512,
            cell="gru_after",
            attention=config.AttentionConfig(score=kind, align_size=512),  # type: ignore[arg-type]
        ),
        readout=config.ReadoutConfig(bias=False, dropout=dropout),
    )


def _encoder(cell: str = "gru_before") -> Any:
    from regard.config.model import RecurrentEncoderConfig

    return RecurrentEncoderConfig(hidden_size=256, cell=cell, bidirectional=True)  # type: ignore[arg-type]


def settings(kind: str, task: Task, updates: int = FOREVER, every: int = 10) -> "Settings":
    """Return everything that decides a run on a task, in batches of 64 lines on average."""
    from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig

    most = {side: len(task.vocabulary(side)) + 4 for side in ("source", "target")}
    return Settings(
        data=DataConfig(normalization="none"),
        text=TextConfig(
            source="whitespace",
            target="whitespace",
            source_vocabulary_size=most["source"],
            target_vocabulary_size=most["target"],
        ),
        model=model(kind),
        train=TrainConfig(
            batch_tokens=budget(task),
            learning_rate=5e-4 if kind == "transformer" else 1e-3,
            label_smoothing=0.0,
            max_steps=updates,
            validate_every=FOREVER,
            save_every=FOREVER,
            report_every=every,
            metric="loss",
            device="cpu",
        ),
        search=SearchConfig(max_length=task.max_length),
    )


def budget(task: Task, rows: int = ROWS) -> int:
    """Return the least budget of symbols that makes no more batches than so many rows each do."""
    import numpy as np

    from regard.data.buckets import Buckets

    lengths = [
        np.array([line.count(" ") + 1 for line in task.lines("train", side)], dtype=np.int32)
        for side in ("source", "target")
    ]
    wanted = ceil(len(lengths[0]) / rows)
    few, many = 1, rows * (max(int(side.max()) for side in lengths) + 1)
    while few + 1 < many:
        middle = (few + many) // 2
        if len(Buckets(*lengths, middle, 1).epoch(0)) <= wanted:
            many = middle
        else:
            few = middle
    return many


def start(settings: "Settings", pairs: Path, dev: Path, out: Path) -> list[str | Path]:
    """Write the settings, and return the command that trains by them."""
    from regard.config.toml import to_toml

    out.parent.mkdir(parents=True, exist_ok=True)
    chosen = out.with_suffix(".toml")
    chosen.write_text(to_toml(settings), encoding="utf-8")
    files = [pairs, "--dev", dev, "--config", chosen, "--out", out]
    return [*COMMAND, "train", *files, "--overwrite"]


def follow_training(
    settings: "Settings", files: tuple[Path, Path, Path], updates: int, threads: int
) -> tuple[Ran, list[Mark]]:
    """Train for some updates; return when each tenth was done, and of how many tokens."""
    pairs, dev, out = files

    def enough(line: str) -> bool:
        found = STEP.match(line)
        return found is not None and int(found[1]) >= updates

    command = start(settings, pairs, dev, out)
    ran = follow(command, threads=threads, enough=enough).expected("regard train")
    found = [(when, STEP.match(line)) for when, line in ran.lines]
    steps = [(when, int(match[1])) for when, match in found if match is not None]
    tokens = seen(out.with_name(out.stem + ".run"), settings, updates)
    return ran, every_mark([(step, when, sum(tokens[:step])) for when, step in steps])


def seen(folder: Path, settings: "Settings", updates: int) -> list[int]:
    """Return how many target tokens, ends among them, each of a run's first updates had."""
    from regard.data.buckets import Buckets
    from regard.data.corpus import Corpus

    corpus, train = Corpus.open(folder / "corpus"), settings.train
    lengths = corpus.source_lengths, corpus.target_lengths
    buckets = Buckets(*lengths, train.batch_tokens, train.seed)
    rows = (batch for epoch in count() for batch in buckets.epoch(epoch))
    tokens = [int((corpus.target_lengths[batch] + 1).sum()) for batch in islice(rows, updates)]
    _agree(tokens, folder / "log.jsonl")
    return tokens


def _agree(tokens: list[int], log: Path) -> None:
    """End where the run's own log says otherwise: what is counted must be what was learned."""
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["step"] <= len(tokens) and tokens[entry["step"] - 1] != entry.get("tokens"):
            raise SystemExit(
                f"update {entry['step']} had {entry.get('tokens')} tokens, but it must be "
                f"{tokens[entry['step'] - 1]}; counting batches as training does would do"
            )


def decode(file: Path, lines: list[str], sizes: tuple[int, ...], rounds: int) -> None:
    """Print words a second for each width of the beam, the median of some rounds."""
    # what the command line sets before torch is loaded
    os.environ.setdefault("GOMP_SPINCOUNT", "4000")
    from regard.translator import load

    translator = load(file, device="cpu")
    for size in sizes:
        translator.translate(lines[:32], beam_size=size, batch_size=32)
        took, written = [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            answers = translator.translate(lines, beam_size=size, batch_size=32)
            took.append(time.perf_counter() - start)
            written = sum(len(answer.tokens) for answer in answers)
        figures = {
            "beam": size,
            "words_per_second": len(lines) / median(took),
            "symbols": written / len(lines),
        }
        sys.stdout.write(json.dumps(figures) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Decode a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ours")
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    lines = given.file.read_text(encoding="utf-8").splitlines()
    decode(given.model, lines, (1, 5), given.rounds)


if __name__ == "__main__":
    main()
