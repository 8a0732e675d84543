"""The steps of a recipe, by `regard` commands: training, pseudo-labels, scores and logs."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.regard import COMMAND
from recipes import scheduler
from recipes.experiments import RecipeRun, SeedEnsemble, SyntheticData, Task, Variant
from recipes.preprocessing import write_if_changed
from recipes.tasks import TASKS

LENGTH_BOUNDS = (4, 7, 10, 13, 16, 19, 22, 26)
"""Lower bounds of all length buckets but the first."""

TEST_RECORD = "tests.jsonl"
"""A file beside the logs, with a line for each time that a public test was scored."""


def run_regard(*arguments: object, lines: str | None = None) -> str:
    """Run a `regard` command, with `lines` as its input; its progress goes to the terminal."""
    if scheduler.STOPPING.is_set():
        raise SystemExit(130)
    completed = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        input=lines,
        encoding="utf-8",
        check=False,
    )
    if completed.returncode == 130:
        # Ctrl-C reaches every process of a terminal and may end the command first
        scheduler.STOPPING.set()
        raise SystemExit(130)
    if completed.returncode:
        # exit code 2: regard has explained the error
        if completed.returncode != 2:
            sys.stderr.write(f"regard {arguments[0]} ended with exit code {completed.returncode}\n")
        raise SystemExit(2)
    return completed.stdout


def score(task: Task, variant: Variant, models: list[Path], pairs: Path, device: str) -> Any:
    """Score a model, or several as an ensemble."""
    arguments = ["--metrics", task.metrics, *task.scoring, *variant.columns, "--device", device]
    arguments += ["--format=json", *(["--ensemble"] if len(models) > 1 else [])]
    return json.loads(run_regard("evaluate", *models, pairs, *arguments))


def train(run: RecipeRun, options: argparse.Namespace, *train_args: str) -> Path:
    """Train a model; return the file of its training pairs.

    The run folder gets a record of the machine and, if nothing interrupted the training, its time.
    """
    variant, out = run.variant, run.model(options.work)
    before = digest(out) if out.exists() else None
    starts_anew = not out.with_suffix(".run").exists()
    environment, start = describe_machine(), time.perf_counter()
    pairs = variant.synthetic.file(options.work) if variant.synthetic else variant.pairs
    arguments: list[object] = [pairs, "--dev", variant.validation or variant.dev]
    arguments += ["--config", variant.settings] if variant.settings else []
    arguments += ["--seed", run.seed, *variant.columns]
    arguments += [*warm_start(run, options.work), *variant.train_options]
    arguments += ["--device", options.device, *(["--quiet"] * (options.jobs > 1))]
    run_regard("train", *arguments, "--out", out, "--resume", *train_args)
    if digest(out) != before:
        duration = {"seconds": round(time.perf_counter() - start)} if starts_anew else {}
        record = {"concurrent_runs": options.concurrent_runs, "machine": environment} | duration
        write_if_changed(provenance(out), json.dumps(record))
    return pairs


def provenance(model: Path) -> Path:
    """Return the file that records how a model was trained."""
    return model.with_suffix(".run") / "provenance.json"


def warm_start(run: RecipeRun, work: Path) -> list[str | Path]:
    """Return the option that names the model to start from, if there is one."""
    initial = run.initial_run()
    return ["--start-from", initial.model(work)] if initial else []


def pseudo_label(synthetic: SyntheticData, options: argparse.Namespace) -> None:
    """Translate the unlabeled lines with the ensemble of teachers, and append them to the pairs.

    An existing file of the same teachers, lines and pairs is left as it is.
    """
    out = synthetic.file(options.work)
    models = [teacher.model(options.work) for teacher in synthetic.teachers]
    # digests of contents: modification times are lost when a folder is copied
    record = out.with_suffix(".digest")
    inputs = digest(*models, synthetic.unlabeled, synthetic.pairs)
    if out.exists() and record.exists() and record.read_text() == inputs:
        return
    unlabeled = synthetic.unlabeled.read_text(encoding="utf-8")
    outputs = run_regard("translate", *models, "--device", options.device, lines=unlabeled)
    pairs = zip(unlabeled.split("\n"), outputs.split("\n"), strict=True)
    labeled = "".join(f"{line}\t{label}\n" for line, label in pairs if label)
    record.unlink(missing_ok=True)
    write_if_changed(out, synthetic.pairs.read_text(encoding="utf-8") + labeled)
    write_if_changed(record, inputs)


def train_and_score(run: RecipeRun, options: argparse.Namespace) -> None:
    """Train a model unless it exists, score it, and write its log."""
    (name, variant, seed), out = run, run.model(options.work)
    task, path = TASKS[name], options.logs / f"{run}.json"
    pairs = train(run, options, *options.train_args)
    log = existing_log(path, digest(out))
    if provenance(out).exists():
        log.pop("seconds", None)
        log |= json.loads(provenance(out).read_text())
    extra = [*warm_start(run, options.work), *variant.train_options, *options.train_args]
    log |= {
        "task": name,
        "variant": variant.name,
        "seed": seed,
        **identity(variant, out),
        "train_options": [x.name if isinstance(x, Path) else x for x in extra],
        "parameters": json.loads(run_regard("info", out, "--format=json"))["parameters"],
    }
    log["digests"]["pairs"] = digest(pairs)
    # the only digest of settings that auto-configuration chose
    log["digests"]["all settings"] = digest(out.with_suffix(".run") / "settings.toml")
    log["dev"] = score(task, variant, [out], variant.dev, options.device)
    log["dev"] |= analyze(task, [out], variant.dev, options.device)
    log["dev"]["by length"] = score_by_length(out.with_suffix(".run"), task.metrics.split(",")[0])
    if variant.synthetic:
        teachers = [teacher.model(options.work) for teacher in variant.synthetic.teachers]
        log["teachers"] = score(task, variant, teachers, variant.dev, options.device)
    if task.gold is not None:
        gold = options.data / "word-alignment" / f"{task.gold}.dev.tsv"
        arguments = ["--alignments", gold, "--format=json", "--device", options.device]
        log["alignments"] = json.loads(run_regard("evaluate", out, *arguments))
    write_log(path, log)
    score_public_test(task, [out], variant, options, log)
    write_log(path, log)
    print_scores(log, f"{name}, {variant.name} {seed}")


def identity(variant: Variant, *models: Path) -> dict[str, Any]:
    """Name the settings of models, and identify both by digests."""
    digests = {"model": digest(*models)}
    if variant.settings is None:
        return {"settings": "auto-configured", "digests": digests}
    name = f"{variant.settings.parent.name}/{variant.settings.name}"
    return {"settings": name, "digests": {"settings": digest(variant.settings)} | digests}


def existing_log(path: Path, model: str) -> dict[str, Any]:
    """Return the log if it is of a model with this digest, otherwise an empty one."""
    log: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return log if log.get("digests", {}).get("model") == model else {}


def describe_machine() -> dict[str, Any]:
    """Describe the machine and the commit."""
    return machine(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))


def digest(*paths: Path) -> str:
    """Return a digest of the contents of files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def score_by_length(run: Path, metric: str) -> list[dict[str, Any]]:
    """Score a run's last validation in buckets of source length."""
    from regard.metrics.corpus_scores import evaluate

    lines = [json.loads(line) for line in (run / "dev.jsonl").read_text().splitlines()]
    buckets = []
    for least, most in pairwise((1, *LENGTH_BOUNDS, sys.maxsize)):
        bucket = [line for line in lines if least <= line["source_length"] < most]
        if bucket:
            outputs, targets = ([line[name] for line in bucket] for name in ("output", "targets"))
            points = evaluate(outputs, targets, [metric])[0].value
            mean = sum(line["source_length"] for line in bucket) / len(bucket)
            buckets.append({"mean length": round(mean, 1), "lines": len(bucket), metric: points})
    return buckets


def analyze(task: Task, models: list[Path], pairs: Path, device: str) -> dict[str, Any]:
    """Return a task's further scores of a single model."""
    return task.analyze(models[0], pairs, device) if task.analyze and len(models) == 1 else {}


def score_public_test(
    task: Task,
    models: list[Path],
    variant: Variant,
    options: argparse.Namespace,
    log: dict[str, Any],
) -> None:
    """Score the public test if --test is set and it was not scored before.

    Comes last, after everything that may fail; the score is recorded at once beside the logs.
    """
    if not (options.test and variant.test) or "test" in log:
        return
    record, model = options.logs / TEST_RECORD, log["digests"]["model"]
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    if model in [json.loads(line).get("digest") for line in lines]:
        sys.stderr.write(f"{models[0].stem}: its public test was scored before, see {record}\n")
        return
    log["test"] = score(task, variant, models, variant.test, options.device)
    points = {one["name"]: round(one["value"], 2) for one in log["test"]["scores"]}
    environment = describe_machine()
    line = {"model": models[0].stem, "models": len(models), "digest": model}
    line |= {name: environment[name] for name in ("commit", "dirty")} | points
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    log["test"] |= analyze(task, models, variant.test, options.device)


def score_ensemble(ensemble: SeedEnsemble, options: argparse.Namespace) -> None:
    """Score the seeds of a variant as an ensemble."""
    name, variant, _ = ensemble.runs[0]
    models = [run.model(options.work) for run in ensemble.runs]
    path = options.logs / f"{ensemble}.json"
    log = existing_log(path, digest(*models))
    log |= {"task": name, "variant": variant.name, "models": len(models)}
    log |= {"machine": describe_machine(), **identity(variant, *models)}
    log["dev"] = score(TASKS[name], variant, models, variant.dev, options.device)
    write_log(path, log)
    score_public_test(TASKS[name], models, variant, options, log)
    write_log(path, log)
    print_scores(log, f"{name}, {variant.name}, ensemble of {len(models)}")


def write_log(path: Path, log: dict[str, Any]) -> None:
    """Write a log."""
    write_if_changed(path, json.dumps(log, ensure_ascii=False, indent=1) + "\n")


def print_scores(log: dict[str, Any], name: str) -> None:
    """Print the scores of a log, a line per split."""
    for split in ("dev", "test"):
        if split in log:
            points = (f"{one['name']} {one['value']:.2f}" for one in log[split]["scores"])
            sys.stdout.write(f"{name}, {split}: {', '.join(points)}\n")
    sys.stdout.flush()
