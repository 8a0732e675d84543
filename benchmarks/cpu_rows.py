"""The rows that need no GPU: training, decoding and starting."""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import ct2, fairseq, opennmt
from benchmarks.competitors import (
    CTRANSLATE2,
    EOLE,
    FAIRSEQ,
    OPENNMT,
    Competitor,
    CompetitorSetup,
)
from benchmarks.datasets import BenchmarkDataset
from benchmarks.environment import WARMUP_UPDATES, BenchmarkEnvironment
from benchmarks.programs import CompletedProgram, follow
from benchmarks.regard import COMMAND, follow_training, train_command, training_settings
from benchmarks.rows import (
    BASELINE,
    FASTEST,
    REGARD,
    BenchmarkRow,
    Contender,
    Measurement,
    Target,
)
from benchmarks.throughput import (
    ProgressMark,
    read_json_figures,
    read_json_marks,
    tokens_per_second,
)

PROGRAM = (sys.executable, "-m", "benchmarks.baseline")
ROOT = Path(__file__).parents[1]
TRAINING = "training"
SEARCHES = ("greedy", "beam 5")


def training_row(env: BenchmarkEnvironment, kind: str) -> BenchmarkRow:
    """Return the row that trains a kind of model in batches of 64 lines."""
    dataset = env.dataset("mt" if kind == "transformer" else "g2p")
    updates = env.updates or (20 if kind == "transformer" else 40)
    threshold, aim = {"additive": (1.3, 2.0), "bilinear": (1.2, 1.5), "transformer": (1.1, 1.5)}[
        kind
    ]
    competitors = (OPENNMT, EOLE) if kind == "additive" else (OPENNMT, EOLE, FAIRSEQ)
    competitor_contenders, missing = env.installed(
        competitors, lambda competitor: _train_competitor(env, competitor, kind, updates)
    )
    extra = [_bucketed_baseline(env, kind, dataset, updates)]
    if kind == "additive":
        paper = _regard_training(env, "bahdanau", dataset, updates)
        extra.append(Contender(f"{REGARD}, bahdanau2015", paper, extra=True))
    models = {
        "additive": "BiGRU 256 × 2, GRU 512, additive attention, words to phonemes",
        "bilinear": "BiGRU 256 × 2, GRU 512, bilinear attention, words to phonemes",
        "transformer": "Transformer 3 + 3, width 256, German to English, 10,000 words",
    }
    return BenchmarkRow(
        f"train-{kind}",
        f"{models[kind]}, batch 64, {env.threads} threads",
        "tokens/s",
        Contender(BASELINE, lambda: _train_baseline(env, kind, dataset, updates)),
        (
            Contender(REGARD, _regard_training(env, kind, dataset, updates)),
            *competitor_contenders,
            *extra,
        ),
        {TRAINING: Target(threshold, FASTEST, aim)},
        missing=missing,
        rounds=env.rounds or 2,
        kernels=kind != "transformer",
    )


def _training_measurement(program: CompletedProgram, marks: list[ProgressMark]) -> Measurement:
    figures = {TRAINING: tokens_per_second(marks, WARMUP_UPDATES)}
    return Measurement(figures, program.other_cores, program.peak_bytes)


def _train_baseline(
    env: BenchmarkEnvironment,
    kind: str,
    dataset: BenchmarkDataset,
    timed_updates: int,
    *options: str,
) -> Measurement:
    updates = str(WARMUP_UPDATES + timed_updates)
    command = [*PROGRAM, "train", kind, dataset.folder, "--updates", updates, *options]
    program = follow(command, threads=env.threads, folder=ROOT).check(BASELINE)
    return _training_measurement(program, read_json_marks(program))


def _bucketed_baseline(
    env: BenchmarkEnvironment, kind: str, dataset: BenchmarkDataset, timed_updates: int
) -> Contender:
    """Return the baseline with batches of similar lengths, as in most competitors."""
    return Contender(
        f"{BASELINE}, bucketed",
        lambda: _train_baseline(env, kind, dataset, timed_updates, "--bucketed"),
        extra=True,
    )


def _regard_training(
    env: BenchmarkEnvironment, kind: str, dataset: BenchmarkDataset, timed_updates: int
) -> Callable[[], Measurement]:
    def measure() -> Measurement:
        out = env.work / "regard" / f"{kind}-{dataset.name}-timed.regard"
        files = dataset.pairs("train"), dataset.pairs("one"), out
        updates, settings = WARMUP_UPDATES + timed_updates, training_settings(kind, dataset)
        return _training_measurement(*follow_training(settings, files, updates, env.threads))

    return measure


def _train_competitor(
    env: BenchmarkEnvironment, competitor: Competitor, kind: str, timed_updates: int
) -> Measurement:
    dataset = env.dataset("mt" if kind == "transformer" else "g2p")
    setup = env.setup(competitor, f"{kind}-timed", dataset)
    if competitor is FAIRSEQ:
        program = fairseq.train(setup, kind, WARMUP_UPDATES + timed_updates)
        return _training_measurement(program, fairseq.read_marks(program))
    program = opennmt.train(competitor, setup, kind, WARMUP_UPDATES + timed_updates)
    return _training_measurement(program, opennmt.read_marks(program))


def decoding_row(env: BenchmarkEnvironment, kind: str) -> BenchmarkRow:
    """Return the row that decodes 500 words in batches of 32 with briefly trained models."""
    dataset = env.dataset("g2p")
    competitors = (OPENNMT, EOLE) if kind == "additive" else (OPENNMT, EOLE, CTRANSLATE2)
    competitor_contenders, missing = env.installed(
        competitors, lambda competitor: _decode_competitor(env, competitor, kind, dataset)
    )
    target = Target(3.0, OPENNMT.name) if kind == "additive" else Target(1.0, CTRANSLATE2.name)
    name = "recurrent" if kind == "additive" else "transformer"
    return BenchmarkRow(
        f"decode-{name}",
        f"500 words to phonemes, batch 32, {name}, {env.threads} threads",
        "words/s",
        Contender(BASELINE, lambda: _decode_baseline(env, kind, dataset)),
        (Contender(REGARD, lambda: _decode_regard(env, kind, dataset)), *competitor_contenders),
        dict.fromkeys(SEARCHES, target),
        missing=missing,
        rounds=env.rounds or 2,
    )


def _decode_baseline(
    env: BenchmarkEnvironment, kind: str, dataset: BenchmarkDataset
) -> Measurement:
    file = env.work / "baseline" / f"{kind}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        command = [*PROGRAM, "train", kind, dataset.folder, "--file", file]
        command += ["--updates", str(env.decoder_updates)]
        follow(command, threads=env.threads, folder=ROOT).check(BASELINE)
    command = [*PROGRAM, "decode", kind, dataset.folder, "--file", file]
    program = follow(command, threads=env.threads, folder=ROOT).check(BASELINE)
    return Measurement(read_json_figures(program), program.other_cores, program.peak_bytes)


def trained_model(env: BenchmarkEnvironment, kind: str, dataset: BenchmarkDataset) -> Path:
    """Return a briefly trained model of regard; train it if it is not there."""
    out = env.work / "regard" / f"{kind}-{dataset.name}.regard"
    if not out.exists():
        settings = training_settings(kind, dataset, env.decoder_updates, 50)
        command = train_command(settings, dataset.pairs("train"), dataset.pairs("one"), out)
        follow(command, threads=env.threads).check("regard train")
    return out


def _decode_regard(env: BenchmarkEnvironment, kind: str, dataset: BenchmarkDataset) -> Measurement:
    model, file = trained_model(env, kind, dataset), dataset.file("dev", "source")
    command = [sys.executable, "-m", "benchmarks.regard", model, file]
    program = follow(command, threads=env.threads, folder=ROOT).check(REGARD)
    return Measurement(read_json_figures(program), program.other_cores, program.peak_bytes)


def _decode_competitor(
    env: BenchmarkEnvironment, competitor: Competitor, kind: str, dataset: BenchmarkDataset
) -> Measurement:
    if competitor is CTRANSLATE2:
        trained = trained_competitor(env, OPENNMT, kind, dataset)
        checkpoint = opennmt.saved_model(OPENNMT, trained.folder)
        return ct2.decode(env.setup(competitor, f"{kind}-converted", dataset), checkpoint)
    trained = trained_competitor(env, competitor, kind, dataset)
    return Measurement(opennmt.decode(competitor, trained))


def trained_competitor(
    env: BenchmarkEnvironment, competitor: Competitor, kind: str, dataset: BenchmarkDataset
) -> CompetitorSetup:
    """Return the setup of a competitor's briefly trained model; train it if it is not there."""
    setup = env.setup(competitor, kind, dataset)
    marker = setup.folder / "trained"
    if not marker.exists():
        opennmt.train(competitor, setup, kind, env.decoder_updates)
        marker.touch()
    return setup


def startup_row(env: BenchmarkEnvironment) -> BenchmarkRow:
    """Return the row that prints help and translates one line, each in a new process."""
    dataset = env.dataset("g2p")
    competitor_contenders, missing = env.installed(
        (OPENNMT, EOLE), lambda competitor: _start_competitor(env, competitor, dataset)
    )
    import_torch = [sys.executable, "-c", "import torch"]

    def measure_baseline_startup() -> Measurement:
        seconds = follow(import_torch, threads=env.threads).check(BASELINE).seconds
        return Measurement({"help": seconds, "one line": seconds})

    def measure_regard_startup() -> Measurement:
        model, line = trained_model(env, "additive", dataset), dataset.lines("one", "source")[0]
        help_ = follow([*COMMAND, "--help"], threads=env.threads).check(REGARD)
        command = [*COMMAND, "translate", model, "--text", line]
        translate_run = follow(command, threads=env.threads).check(REGARD)
        figures = {"help": help_.seconds, "one line": translate_run.seconds}
        return Measurement(figures, translate_run.other_cores, translate_run.peak_bytes)

    return BenchmarkRow(
        "start",
        "the command line's help; a cold start that translates one line; baseline: import torch",
        "s",
        Contender(BASELINE, measure_baseline_startup),
        (Contender(REGARD, measure_regard_startup), *competitor_contenders),
        {"help": Target(0.3), "one line": Target(2.5)},
        higher_is_better=False,
        missing=missing,
        rounds=env.rounds or 3,
    )


def _start_competitor(
    env: BenchmarkEnvironment, competitor: Competitor, dataset: BenchmarkDataset
) -> Measurement:
    command: list[object] = [competitor.program(env.competitors, "onmt_translate")]
    if competitor is EOLE:
        command = [competitor.program(env.competitors, "eole"), "predict"]
    help_ = follow([*command, "--help"], threads=env.threads).check(competitor.name)
    setup = trained_competitor(env, competitor, "additive", dataset)
    translate_run = opennmt.translate(competitor, setup, "one", 1)
    figures = {"help": help_.seconds, "one line": translate_run.seconds}
    return Measurement(figures, translate_run.other_cores, translate_run.peak_bytes)
