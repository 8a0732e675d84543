"""regard as a contender: the command line trains, the translator decodes.

`python -m benchmarks.regard MODEL FILE` decodes and prints its figures as JSON.
"""

import argparse
import json
import re
import sys
import time
from dataclasses import replace
from itertools import count, islice
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.datasets import BenchmarkDataset
from benchmarks.programs import CompletedProgram, follow
from benchmarks.throughput import ProgressMark, sort_marks

if TYPE_CHECKING:
    from regard.config.model import ModelConfig
    from regard.config.settings import Settings

COMMAND = (sys.executable, "-c", "import sys; from regard.cli import main; sys.exit(main())")
"""The command line; it also works if regard is not installed but on the path."""

ROWS = 64
UNLIMITED = 1_000_000
STEP = re.compile(r"^step (\d+)/.*tokens/s")


def model_config(kind: str) -> "ModelConfig":
    """Return the model that the competitors have too, or the paper's model at its sizes."""
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
            attention=config.AttentionConfig(score=kind, align_size=512),
        ),
        readout=config.ReadoutConfig(bias=False, dropout=dropout),
    )


def _encoder(cell: str = "gru_before") -> Any:
    from regard.config.model import RecurrentEncoderConfig

    return RecurrentEncoderConfig(hidden_size=256, cell=cell, bidirectional=True)  # type: ignore[arg-type]


def training_settings(
    kind: str, dataset: BenchmarkDataset, updates: int = UNLIMITED, report_every: int = 10
) -> "Settings":
    """Return the settings of a run on a data set, with batches of 64 lines on average."""
    from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig

    sizes = {side: len(dataset.vocabulary(side)) + 4 for side in ("source", "target")}
    return Settings(
        data=DataConfig(normalization="none"),
        text=TextConfig(
            source="whitespace",
            target="whitespace",
            source_vocabulary_size=sizes["source"],
            target_vocabulary_size=sizes["target"],
        ),
        model=model_config(kind),
        train=TrainConfig(
            batch_tokens=batch_tokens(dataset),
            learning_rate=5e-4 if kind == "transformer" else 1e-3,
            label_smoothing=0.0,
            max_steps=updates,
            validate_every=UNLIMITED,
            save_every=UNLIMITED,
            report_every=report_every,
            metric="loss",
            device="cpu",
        ),
        search=SearchConfig(max_length=dataset.max_length),
    )


def batch_tokens(dataset: BenchmarkDataset, rows: int = ROWS) -> int:
    """Return the least token budget whose batches hold at least `rows` lines on average."""
    import numpy as np

    from regard.data.length_buckets import Buckets

    lengths = [
        np.array([line.count(" ") + 1 for line in dataset.lines("train", side)], dtype=np.int32)
        for side in ("source", "target")
    ]
    source_lengths, target_lengths = lengths
    num_batches = ceil(len(source_lengths) / rows)
    few, many = 1, rows * (max(int(side.max()) for side in lengths) + 1)
    while few + 1 < many:
        middle = (few + many) // 2
        if len(Buckets(source_lengths, target_lengths, middle, 1).epoch(0)) <= num_batches:
            many = middle
        else:
            few = middle
    return many


def train_command(settings: "Settings", pairs: Path, dev: Path, out: Path) -> list[str | Path]:
    """Write the settings, and return the command that trains with them."""
    from regard.config.toml import to_toml

    out.parent.mkdir(parents=True, exist_ok=True)
    config_path = out.with_suffix(".toml")
    config_path.write_text(to_toml(settings), encoding="utf-8")
    files: list[str | Path] = [pairs, "--dev", dev, "--config", config_path, "--out", out]
    return [*COMMAND, "train", *files, "--overwrite"]


def follow_training(
    settings: "Settings", files: tuple[Path, Path, Path], updates: int, threads: int
) -> tuple[CompletedProgram, list[ProgressMark]]:
    """Train for some updates; return a progress mark for every tenth."""
    pairs, dev, out = files

    def last_update_is_done(line: str) -> bool:
        match = STEP.match(line)
        return match is not None and int(match[1]) >= updates

    command = train_command(settings, pairs, dev, out)
    program = follow(command, threads=threads, stop_condition=last_update_is_done)
    program.check("regard train")
    matches = [(when, STEP.match(line)) for when, line in program.lines]
    steps = [(when, int(match[1])) for when, match in matches if match is not None]
    tokens = tokens_of_updates(out.with_name(out.stem + ".run"), settings, updates)
    return program, sort_marks([(step, when, sum(tokens[:step])) for when, step in steps])


def tokens_of_updates(folder: Path, settings: "Settings", updates: int) -> list[int]:
    """Return the number of target tokens, with EOS, of each of a run's first updates."""
    from regard.data.corpus import Corpus
    from regard.data.length_buckets import Buckets

    corpus, train = Corpus.open(folder / "corpus"), settings.train
    lengths = corpus.source_lengths, corpus.target_lengths
    buckets = Buckets(*lengths, train.batch_tokens, train.seed)
    rows = (batch for epoch in count() for batch in buckets.epoch(epoch))
    tokens = [int((corpus.target_lengths[batch] + 1).sum()) for batch in islice(rows, updates)]
    _compare_with_log(tokens, folder / "log.jsonl")
    return tokens


def _compare_with_log(tokens: list[int], log: Path) -> None:
    """Exit if the run's own log has other token counts."""
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["step"] <= len(tokens) and tokens[entry["step"] - 1] != entry.get("tokens"):
            raise SystemExit(
                f"update {entry['step']} had {entry.get('tokens')} tokens according to {log}, but "
                f"the benchmark counted {tokens[entry['step'] - 1]}; count batches as training does"
            )


def decode(file: Path, lines: list[str], sizes: tuple[int, ...], rounds: int) -> None:
    """Print words per second for each beam size, the median of some rounds."""
    from regard.translator import load

    translator = load(file, device="cpu")
    for size in sizes:
        translator.translate(lines[:32], beam_size=size, batch_size=32)
        seconds, num_tokens = [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            translations = translator.translate(lines, beam_size=size, batch_size=32)
            seconds.append(time.perf_counter() - start)
            num_tokens = sum(len(translation.tokens) for translation in translations)
        figures = {
            "beam": size,
            "words_per_second": len(lines) / median(seconds),
            "tokens": num_tokens / len(lines),
        }
        sys.stdout.write(json.dumps(figures) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Decode a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regard")
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = options.file.read_text(encoding="utf-8").splitlines()
    decode(options.model, lines, (1, 5), options.rounds)


if __name__ == "__main__":
    main()
