"""`python -m recipes.run TASK --data DATA --work FOLDER`: from the data to scored models.

Trains every part of a task with each seed, scores it on dev, and with --test, once and last, on the
public test; writes one small log a model into `recipes/logs`. What is there already is not
trained again. `--together N` trains so many at a time, for a GPU that one does not fill.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from recipes.tasks import HERE, TASKS, Part, Task

COMMAND = (sys.executable, "-c", "import sys; from regard.cli import main; sys.exit(main())")
"""The command line, also where regard is not installed but only on the path."""


def regard(*words: object) -> str:
    """Run the command line; what it says of its progress is left alone."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"regard {words[0]} ended with {done.returncode}, see above")
    return done.stdout


def scores(task: Task, part: Part, models: list[Path], pairs: Path, device: str) -> Any:
    """Score one model, or several that write together."""
    words = ["--metrics", task.metrics, *task.scoring, *part.columns, "--device", device]
    together = ["--ensemble"] if len(models) > 1 else []
    return json.loads(regard("evaluate", *models, pairs, "--format=json", *words, *together))


def learn(part: Part, out: Path, seed: int, given: argparse.Namespace) -> float:
    """Train a model unless it is there; return how long that took."""
    started = time.perf_counter()
    words = ["--config", HERE / f"{part.config}.toml", "--seed", seed, "--device", given.device]
    words += ["--out", out, "--resume", *part.columns, *given.more]
    regard("train", part.pairs, "--dev", part.dev, *words, *(["--quiet"] * (given.together > 1)))
    return time.perf_counter() - started


def make(name: str, part: Part, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train, score and log one model."""
    task, out = TASKS[name], given.work / f"{name}-{part.name}-{seed}.regard"
    log = given.logs / f"{out.stem}.json"
    before = json.loads(log.read_text()) if log.exists() and out.exists() else {}
    seconds = learn(part, out, seed, given)
    written: dict[str, Any] = {
        "task": name,
        "part": part.name,
        "seed": seed,
        "settings": f"recipes/{part.config}.toml",
        "more": given.more,
        "parameters": json.loads(regard("info", out, "--format=json"))["parameters"],
        "seconds": before.get("seconds", round(seconds)),
        "machine": before.get("machine", machine(0)),
        "dev": scores(task, part, [out], part.dev, given.device),
    }
    if given.test and part.test is not None:
        written["test"] = scores(task, part, [out], part.test, given.device)
    log.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n")
    return written


def main() -> None:
    """Run a task."""
    parser = argparse.ArgumentParser(prog="python -m recipes.run", description=__doc__)
    parser.add_argument("task", choices=[*TASKS])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--work", type=Path, default=Path("out/recipes"))
    parser.add_argument("--logs", type=Path, default=HERE / "logs")
    parser.add_argument("--parts", nargs="*", default=None, help="these alone, by name")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--ensemble", action="store_true", help="score the seeds together too")
    parser.add_argument("--test", action="store_true", help="score the public tests: once, last")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="to regard train")
    given = parser.parse_args()
    for folder in (given.work, given.logs):
        folder.mkdir(parents=True, exist_ok=True)
    parts = [
        part
        for part in TASKS[given.task].parts(given.data, given.work)
        if given.parts is None or part.name in given.parts
    ]
    jobs = [(part, seed) for part in parts for seed in range(1, given.seeds + 1)]
    with ThreadPoolExecutor(given.together) as pool:
        done = list(pool.map(lambda job: make(given.task, job[0], job[1], given), jobs))
    for written in done:
        _say(f"{written['part']} {written['seed']}", written["dev"], written.get("test"))
    if given.ensemble:
        for part in parts:
            models = [
                given.work / f"{given.task}-{part.name}-{seed}.regard"
                for seed in range(1, given.seeds + 1)
            ]
            task = TASKS[given.task]
            dev = scores(task, part, models, part.dev, given.device)
            log = given.logs / f"{given.task}-{part.name}-ensemble.json"
            log.write_text(json.dumps({"dev": dev}, ensure_ascii=False, indent=1) + "\n")
            _say(f"{part.name}, {len(models)} together", dev, None)


def _say(name: str, dev: dict[str, Any], test: dict[str, Any] | None) -> None:
    for split, found in (("dev", dev), ("test", test)):
        if found is not None:
            told = ", ".join(f"{score['name']} {score['value']:.2f}" for score in found["scores"])
            sys.stdout.write(f"{name}, {split}: {told}\n")


if __name__ == "__main__":
    main()
