"""The rows that need a GPU: the paper's model, its parts, and a Transformer on all words."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.datasets import BenchmarkDataset, read_all_pairs, write_pairs
from benchmarks.environment import BenchmarkEnvironment
from benchmarks.machine import ROOT
from benchmarks.programs import CompletedProgram, follow
from benchmarks.regard import UNLIMITED, batch_tokens, follow_training, training_settings
from benchmarks.rows import (
    BASELINE,
    REGARD,
    BenchmarkRow,
    Contender,
    Measurement,
    Target,
)
from benchmarks.throughput import ProgressMark, read_json_marks, tokens_per_second

if TYPE_CHECKING:
    from regard.config.settings import Settings

UPDATES, WARMUP_UPDATES = 200, 50
# batches have many shapes here, and each is captured when it first occurs: a long warm-up
TRANSFORMER_UPDATES, TRANSFORMER_WARMUP = 1000, 500
# NUM_WORDS and the four special tokens are the paper's 30,000
NUM_LINES, LINE_LENGTH, NUM_WORDS, ROWS = 8_000, 50, 29_996, 80


def _measure_part(
    env: BenchmarkEnvironment, contender: str, part: str, precision: str = "float32"
) -> Measurement:
    """Time a part of the model, eager and, if possible, as a CUDA graph."""
    command = [sys.executable, "-m", "benchmarks.gpu", contender, part, "--precision", precision]
    program = follow(command, threads=env.threads, folder=ROOT).check(f"{contender} {part}")
    timings = json.loads(program.lines[-1][1])
    figures = {name: one["milliseconds"] for name, one in timings.items()}
    figures |= {f"GiB, {name}": one["gibibytes"] for name, one in timings.items()}
    return Measurement(figures, program.other_cores, program.peak_bytes)


def decoder_row(env: BenchmarkEnvironment) -> BenchmarkRow:
    """Return the row that times the decoder, forward and backward, as a CUDA graph."""

    def measure(contender: str) -> Measurement:
        return Measurement(
            {
                name: _measure_part(env, contender, "decoder", name).figures["cuda_graph"]
                for name in ("float32", "tf32")
            }
        )

    return BenchmarkRow(
        "decoder",
        "decoder forward and backward, CUDA graph, B = 64, S = T = 30, n = 512, additive attention",
        "ms",
        Contender(BASELINE, lambda: measure("baseline")),
        (Contender(REGARD, lambda: measure("regard")),),
        {"float32": Target(2.5, aim=1.5), "tf32": Target(2.5, aim=1.5)},
        higher_is_better=False,
        rounds=env.rounds or 3,
        kernels=True,
    )


def attention_row(env: BenchmarkEnvironment, length: int) -> BenchmarkRow:
    """Return the row of additive attention: time and memory, forward and backward."""
    part = f"attention-{length}"
    threshold, aim, size = (
        (4.0, 2.5, "B = 16, A = 512") if length == 512 else (8.0, None, "B = 4, A = 256")
    )
    return BenchmarkRow(
        part,
        f"additive attention forward and backward, S = T = {length}, {size}, float32",
        "ms or GiB",
        Contender(BASELINE, lambda: _measure_part(env, "baseline", part)),
        (Contender(REGARD, lambda: _measure_part(env, "regard", part)),),
        {"eager": Target(threshold, aim=aim), "GiB, eager": Target(0.3)},
        higher_is_better=False,
        rounds=env.rounds or 3,
        kernels=True,
    )


def rnnsearch_row(env: BenchmarkEnvironment) -> BenchmarkRow:
    """Return the row that times an update of the paper's model at its sizes, in a training run."""
    pairs = _generate_pairs(env.work / "rnnsearch")

    def measure(precision: str) -> Measurement:
        figures: dict[str, float] = {}
        for name, cell in (("reset before", "gru_before"), ("reset after", "gru_after")):
            out = env.work / "rnnsearch" / f"{cell}-{precision}.regard"
            settings = _paper_settings(cell, precision)
            files = pairs, pairs.with_name("one.tsv"), out
            _, marks = follow_training(settings, files, UPDATES, env.threads)
            figures[name] = _milliseconds(marks)
        return Measurement(figures)

    def measure_baseline(precision: str) -> Measurement:
        milliseconds = _measure_part(env, "baseline", "rnnsearch", precision).figures["eager"]
        return Measurement({"reset before": milliseconds, "reset after": milliseconds})

    return BenchmarkRow(
        "rnnsearch",
        "RNNsearch-50 at the paper's sizes, batch 80, S = T = 50, Adadelta, one update",
        "ms",
        Contender(BASELINE, lambda: measure_baseline("bfloat16")),
        (
            Contender(REGARD, lambda: measure("bfloat16")),
            Contender(f"{BASELINE}, tf32", lambda: measure_baseline("tf32"), extra=True),
            Contender(f"{REGARD}, float32", lambda: measure("float32"), extra=True),
        ),
        {"reset before": Target(12.0, aim=6.25), "reset after": Target(9.0, aim=6.25)},
        higher_is_better=False,
        rounds=env.rounds or 3,
        kernels=True,
    )


def _milliseconds(marks: list[ProgressMark]) -> float:
    counted = [mark for mark in marks if mark.step >= WARMUP_UPDATES]
    first, last = counted[0], counted[-1]
    return 1000 * (last.seconds - first.seconds) / (last.step - first.step)


def _generate_pairs(folder: Path) -> Path:
    """Write lines of 50 of 30,000 words; a target has one word less, for its EOS."""
    path = folder / "pairs.tsv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rng = random.Random(1)
        words = [f"w{number}" for number in range(NUM_WORDS)]
        lines = []
        for line in range(NUM_LINES):
            source = [
                words[(line * LINE_LENGTH + place) % NUM_WORDS] for place in range(LINE_LENGTH)
            ]
            lines.append(f"{' '.join(source)}\t{' '.join(rng.sample(source, LINE_LENGTH - 1))}\n")
        path.write_text("".join(lines))
        path.with_name("one.tsv").write_text(lines[0])
    return path


def _paper_settings(cell: str, precision: str) -> "Settings":
    from regard.config.settings import DataConfig, Settings, TextConfig, TrainConfig
    from regard.models import paper_sizes, preset

    sizes: dict[str, Any] = dict(paper_sizes("bahdanau2015").sizes)
    train = TrainConfig(
        batch_tokens=ROWS * (LINE_LENGTH + 1),
        optimizer="adadelta",
        learning_rate=1.0,
        label_smoothing=0.0,
        max_steps=UNLIMITED,
        validate_every=UNLIMITED,
        save_every=UNLIMITED,
        report_every=10,
        metric="loss",
        device="cuda",
        precision=precision,  # type: ignore[arg-type]
    )
    return Settings(
        data=DataConfig(normalization="none"),
        text=TextConfig(
            source="whitespace",
            target="whitespace",
            source_vocabulary_size=NUM_WORDS + 4,
            target_vocabulary_size=NUM_WORDS + 4,
        ),
        model=preset("bahdanau2015")(**sizes, cell=cell),
        train=train,
    )


def transformer_row(env: BenchmarkEnvironment) -> BenchmarkRow:
    """Return the row that trains a small Transformer on all words."""
    dataset = _all_words(env)
    lines = dataset.lines("train", "target")
    mean_tokens = sum(line.count(" ") + 2 for line in lines) / len(lines)

    def words_per_second(
        program: CompletedProgram, marks: list[ProgressMark], warmup: int = WARMUP_UPDATES
    ) -> Measurement:
        figures = {"training": tokens_per_second(marks, warmup) / mean_tokens}
        return Measurement(figures, program.other_cores, program.peak_bytes)

    def train_baseline() -> Measurement:
        command = [sys.executable, "-m", "benchmarks.baseline", "train", "transformer"]
        options = ["--layers", "4", "--rows", "512", "--device", "cuda", "--autocast"]
        options += ["--updates", str(UPDATES)]
        command = [*command, str(dataset.folder), *options]
        program = follow(command, threads=env.threads, folder=ROOT).check(BASELINE)
        return words_per_second(program, read_json_marks(program))

    def train_regard() -> Measurement:
        from regard.models import preset

        sizes = {"model_size": 256, "feed_forward_size": 1024, "num_heads": 4, "num_layers": 4}
        model = preset("vaswani2017")(**sizes, pre_norm=True, tied_embeddings="none", dropout=0.1)
        settings = training_settings("transformer", dataset)
        train = replace(
            settings.train,
            batch_tokens=batch_tokens(dataset, 1024),
            device="cuda",
            precision="bfloat16",
        )
        settings = replace(settings, model=model, train=train)
        out = env.work / "regard" / "transformer-all-words.regard"
        files = dataset.pairs("train"), dataset.pairs("one"), out
        program, marks = follow_training(settings, files, TRANSFORMER_UPDATES, env.threads)
        return words_per_second(program, marks, TRANSFORMER_WARMUP)

    return BenchmarkRow(
        "transformer-g2p",
        "Transformer 4 + 4, width 256, all words to phonemes, bfloat16, about 1,024 words a batch",
        "words/s",
        Contender(BASELINE, train_baseline),
        (Contender(REGARD, train_regard),),
        {"training": Target(80_000, aim=150_000)},
        rounds=env.rounds or 2,
    )


def _all_words(env: BenchmarkEnvironment) -> BenchmarkDataset:
    g2p = env.dataset("g2p")
    sides = (g2p.lines("dev", side) for side in ("source", "target"))
    dataset = BenchmarkDataset("all-words", env.work / "all-words", g2p.max_length)
    return write_pairs(dataset, read_all_pairs(env.data), list(zip(*sides, strict=True)))
