"""`python -m recipes.run TASK --data DATA --work FOLDER`: from the data to scored models.

Trains every part of a task with each seed, scores it on dev, and with --test, once and last, on the
public test; writes one small log a model into `recipes/logs`. What is there already is not
trained again. `--at-once N` trains so many at a time, for a GPU that one does not fill; what else
the machine does meanwhile is said by `--beside N`, for the log.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.ours import COMMAND
from recipes.files import written
from recipes.tasks import HERE, TASKS, Job, Part, Task

LENGTHS = (4, 7, 10, 13, 16, 19, 22, 26)
"""Where a class of lengths begins."""


def regard(*words: object, lines: str | None = None) -> str:
    """Run the command line, on lines or on none; what it says of its progress is left alone."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        input=lines,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.stderr.write(f"regard {words[0]} ended with {done.returncode}; see above\n")
        raise SystemExit(2)
    return done.stdout


def scores(task: Task, part: Part, models: list[Path], pairs: Path, device: str) -> Any:
    """Score one model, or several that write together."""
    words = ["--metrics", task.metrics, *task.scoring, *part.columns, "--device", device]
    together = ["--ensemble"] if len(models) > 1 else []
    return json.loads(regard("evaluate", *models, pairs, "--format=json", *words, *together))


def before(jobs: list[Job]) -> list[list[Job]]:
    """Return what some models need and has to be made first, and before that, stage by stage."""
    stages: list[list[Job]] = []
    while jobs := list(dict.fromkeys(need for job in jobs for need in job.needs())):
        stages.insert(0, jobs)
    return stages


def learn(job: Job, given: argparse.Namespace, *more: str) -> Path:
    """Train a model, from the models and with the teachers that it needs; return its pairs."""
    part, out = job.part, job.model(given.work)
    pairs = taught(part, given)
    words = ["--config", HERE / f"{part.config}.toml", "--seed", job.seed]
    words += [*part.columns, *started(job, given.work), *part.more]
    words += ["--device", given.device, *(["--quiet"] * (given.at_once > 1))]
    watched = part.watched or part.dev
    regard("train", pairs, "--dev", watched, *words, "--out", out, "--resume", *more)
    return pairs


def started(job: Job, work: Path) -> list[str | Path]:
    """Say what model of the same seed this one goes on from."""
    start = job.start()
    return ["--start-from", start.model(work)] if start else []


def taught(part: Part, given: argparse.Namespace) -> Path:
    """Return a part's own pairs, and after them what its teachers say of what is unknown."""
    if part.unknown is None:
        return part.pairs
    out = given.work / f"{part.unknown.stem}.taught.tsv"
    models = [teacher.model(given.work) for teacher in part.teachers]
    if not newer(out, [*models, part.unknown, part.pairs]):
        unknown = part.unknown.read_text(encoding="utf-8")
        answers = regard("translate", *models, "--device", given.device, lines=unknown)
        pairs = zip(unknown.split("\n"), answers.split("\n"), strict=True)
        said = "".join(f"{line}\t{answer}\n" for line, answer in pairs if answer)
        # the same lessons as before are new ones too
        written(out, part.pairs.read_text(encoding="utf-8") + said).touch()
    return out


def newer(path: Path, others: list[Path]) -> bool:
    """Whether a file is there and was written after all those that it was made of."""
    return path.exists() and all(
        path.stat().st_mtime_ns >= other.stat().st_mtime_ns for other in others
    )


def make(job: Job, given: argparse.Namespace) -> dict[str, Any]:
    """Train a model unless it is there, score it, and write down what came of it."""
    (name, part, seed), out = job, job.model(given.work)
    task, log = TASKS[name], given.logs / f"{out.stem}.json"
    # how long it took is known of a run that was not interrupted alone
    whole, begun = not out.with_suffix(".run").exists(), time.perf_counter()
    pairs = learn(job, given, *given.more)
    took = round(time.perf_counter() - begun)
    # of a model that was trained since, what was found before is not true
    found = json.loads(log.read_text()) if newer(log, [out]) else {}
    if whole:
        threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
        found |= {"seconds": took, "beside": given.beside, "machine": machine(threads)}
    more = [*started(job, given.work), *part.more, *given.more]
    found |= {
        "task": name,
        "part": part.name,
        "seed": seed,
        "settings": f"recipes/{part.config}.toml",
        "digests": {"settings": digest(HERE / f"{part.config}.toml"), "pairs": digest(pairs)},
        "more": [x.name if isinstance(x, Path) else x for x in more],
        "parameters": json.loads(regard("info", out, "--format=json"))["parameters"],
    }
    found |= scored(task, [out], part, given)
    found["dev"]["by length"] = by_length(out.with_suffix(".run"), task.metrics.split(",")[0])
    if part.teachers:
        teachers = [teacher.model(given.work) for teacher in part.teachers]
        found["teachers"] = scores(task, part, teachers, part.dev, given.device)
    if task.gold is not None:
        gold = given.data / "word-alignment" / f"{task.gold}.dev.tsv"
        words = ["--alignments", gold, "--format=json", "--device", given.device]
        found["alignments"] = json.loads(regard("evaluate", out, *words))
    return _logged(log, found)


def digest(path: Path) -> str:
    """Return by what a file that has changed since is known."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def by_length(run: Path, metric: str) -> list[dict[str, Any]]:
    """Score what a run left of the lines that it watched, by the symbols of the source."""
    from regard.metrics.scores import evaluate

    lines = [json.loads(line) for line in (run / "dev.jsonl").read_text().splitlines()]
    found = []
    for least, most in pairwise((1, *LENGTHS, sys.maxsize)):
        taken = [line for line in lines if least <= line["source_length"] < most]
        if taken:
            outputs, targets = ([line[name] for line in taken] for name in ("output", "targets"))
            score = evaluate(outputs, targets, [metric])[0].value
            mean = sum(line["source_length"] for line in taken) / len(taken)
            found.append({"mean length": round(mean, 1), "lines": len(taken), metric: score})
    return found


def scored(task: Task, models: list[Path], part: Part, given: argparse.Namespace) -> dict[str, Any]:
    """Score on dev, and on the public test where that is asked for."""
    splits = {"dev": part.dev} | ({"test": part.test} if given.test and part.test else {})
    found = {
        name: scores(task, part, models, pairs, given.device) for name, pairs in splits.items()
    }
    if task.looks is not None and len(models) == 1:
        for name, pairs in splits.items():
            found[name] |= task.looks(models[0], pairs, given.device)
    return found


def as_one(part: Part, given: argparse.Namespace) -> dict[str, Any]:
    """Score the seeds of a part as models that write together."""
    stem = f"{given.task}-{part.name}"
    seeds = range(1, given.seeds + 1)
    models = [Job(given.task, part, seed).model(given.work) for seed in seeds]
    found = {"task": given.task, "part": part.name, "models": len(models)}
    found |= scored(TASKS[given.task], models, part, given)
    return _logged(given.logs / f"{stem}-ensemble.json", found)


def _logged(log: Path, found: dict[str, Any]) -> dict[str, Any]:
    log.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    return found


def chosen(given: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Part]:
    """Return the parts that are wanted, or refuse what is not there."""
    try:
        parts = list(TASKS[given.task].parts(given.data, given.work))
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}; --data must name a folder that has it")
    if not parts:
        parser.error(f"{given.data} has nothing for {given.task}; another --data would do")
    names = [part.name for part in parts]
    if strangers := [name for name in given.parts or [] if name not in names]:
        parser.error(f"there is no part {strangers[0]}; {', '.join(names)} would do")
    return [part for part in parts if given.parts is None or part.name in given.parts]


def positive(text: str) -> int:
    """Read a number of which there must be one."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}, but it must be at least 1")
    return number


def main() -> None:
    """Run a task."""
    parser = argparse.ArgumentParser(prog="python -m recipes.run", description=__doc__)
    parser.add_argument("task", choices=[*TASKS])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument(
        "--work", type=Path, default=Path("out/recipes"), help="for models, out/recipes if not said"
    )
    parser.add_argument("--logs", type=Path, default=HERE / "logs", help="recipes/logs if not said")
    parser.add_argument("--parts", nargs="*", default=None, help="these alone, by name")
    parser.add_argument("--seeds", type=positive, default=1, help="how many, from 1 on")
    parser.add_argument("--at-once", type=positive, default=1, help="so many trainings at a time")
    parser.add_argument(
        "--beside", type=positive, default=0, help="other trainings meanwhile, for the log"
    )
    parser.add_argument("--ensemble", action="store_true", help="score the seeds as one too")
    parser.add_argument("--test", action="store_true", help="score the public tests: once, last")
    parser.add_argument("--device", default="auto", help="cpu, cuda, or a GPU where there is one")
    parser.add_argument(
        "--more", nargs=argparse.REMAINDER, default=[], help="last: words for regard train"
    )
    given = parser.parse_args()
    if given.ensemble and given.seeds == 1:
        parser.error("--ensemble joins seeds, but there is one; --seeds 5 would do")
    for folder in (given.work, given.logs):
        folder.mkdir(parents=True, exist_ok=True)
    parts = chosen(given, parser)
    jobs = [Job(given.task, part, seed) for part in parts for seed in range(1, given.seeds + 1)]
    given.beside += min(given.at_once, len(jobs)) - 1
    for words in dict.fromkeys(part.before for part in parts if part.before):
        if not Path(words[-1]).exists():
            regard(*words)
    with ThreadPoolExecutor(given.at_once) as pool:
        for stage in before(jobs):
            missing = [job for job in stage if not job.model(given.work).exists()]
            list(pool.map(lambda job: learn(job, given), missing))
        # once for the parts that share their lessons
        lessons = {part.unknown: part for part in parts if part.unknown}
        list(pool.map(lambda part: taught(part, given), lessons.values()))
        done = list(pool.map(lambda job: make(job, given), jobs))
        for found in done:
            _say(f"{found['part']} {found['seed']}", found)
        joined = parts if given.ensemble else []
        for found in pool.map(lambda part: as_one(part, given), joined):
            _say(f"{found['part']}, ensemble of {found['models']}", found)


def _say(name: str, found: dict[str, Any]) -> None:
    for split in ("dev", "test"):
        if split in found:
            values = (f"{score['name']} {score['value']:.2f}" for score in found[split]["scores"])
            sys.stdout.write(f"{name}, {split}: {', '.join(values)}\n")


if __name__ == "__main__":
    main()
