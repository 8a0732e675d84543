"""`python -m recipes.run TASK… --data DATA --work FOLDER`: from the data to scored models.

Trains every part of a task with each seed, scores it on dev, and with --test, once and last, on the
public test; writes one small log a model into `recipes/logs`, and a line for every time that a
public test was scored. What is there already is not trained again. `--at-once N` trains so many at
a time, for a GPU that one does not fill, each as soon as what it needs is there.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.machine import machine
from benchmarks.ours import COMMAND
from recipes.files import written
from recipes.parts import HERE, AsOne, Before, Job, Lessons, Part, Task
from recipes.tasks import TASKS

Node = Job | Lessons | AsOne | Before

LENGTHS = (4, 7, 10, 13, 16, 19, 22, 26)
"""Where a class of lengths begins."""

TESTS = "tests.jsonl"
"""Beside the logs: a line for every time that a public test was scored."""

STOPPING = threading.Event()
"""Set after Ctrl-C, or what nobody foresaw: no further command is begun."""


def regard(*words: object, lines: str | None = None) -> str:
    """Run the command line, on lines or on none; what it says of its progress is left alone."""
    if STOPPING.is_set():
        raise SystemExit(130)
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        input=lines,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        # what regard refuses it has said, and Ctrl-C needs no words
        if done.returncode not in (2, 130):
            sys.stderr.write(f"regard {words[0]} ended with {done.returncode}\n")
        raise SystemExit(2)
    return done.stdout


def scores(task: Task, part: Part, models: list[Path], pairs: Path, device: str) -> Any:
    """Score one model, or several that write together."""
    words = ["--metrics", task.metrics, *task.scoring, *part.columns, "--device", device]
    together = ["--ensemble"] if len(models) > 1 else []
    return json.loads(regard("evaluate", *models, pairs, "--format=json", *words, *together))


def graph(wanted: Sequence[Node]) -> dict[Node, Sequence[Node]]:
    """Return what is wanted and all that it needs, each with what it needs itself."""
    found: dict[Node, Sequence[Node]] = {}
    nodes = [*wanted]
    for node in nodes:
        if node not in found:
            found[node] = node.needs()
            nodes += found[node]
    return found


def side_by_side(wanted: Sequence[Node], do: Callable[[Node], Any], at_once: int) -> list[Node]:
    """Do what is wanted, each as soon as what it needs is there; return what could not be done.

    One that ends with its sentence takes along what needs it and nothing else; after anything
    else that goes wrong, or Ctrl-C, nothing more is begun, and what runs does not go on to its
    next command.
    """
    left = graph(wanted)
    order = TopologicalSorter(left)
    order.prepare()
    running: dict[Future[Any], Node] = {}
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while True:
                running |= {pool.submit(do, node): node for node in order.get_ready()}
                if not running:
                    return [*left]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    node, error = running.pop(future), future.exception()
                    if error is None:
                        order.done(node)
                        del left[node]
                    elif not isinstance(error, SystemExit):
                        raise error
        except BaseException:
            STOPPING.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def learn(job: Job, given: argparse.Namespace, *more: str) -> Path:
    """Train a model, from the models and with the teachers that it needs; return its pairs.

    Beside it lies where it was made, and how long that took if nothing interrupted it.
    """
    part, out = job.part, job.model(given.work)
    before, whole = digest(out) if out.exists() else None, not out.with_suffix(".run").exists()
    here, begun = where(), time.perf_counter()
    pairs = part.lessons.file(given.work) if part.lessons else part.pairs
    words: list[object] = ["--config", part.settings] if part.settings else []
    words += ["--seed", job.seed, *part.columns, *started(job, given.work), *part.more]
    words += ["--device", given.device, *(["--quiet"] * (given.at_once > 1))]
    watched = part.watched or part.dev
    regard("train", pairs, "--dev", watched, *words, "--out", out, "--resume", *more)
    if digest(out) != before:
        took = {"seconds": round(time.perf_counter() - begun)} if whole else {}
        written(made(out), json.dumps({"beside": given.beside, "machine": here} | took))
    return pairs


def made(model: Path) -> Path:
    """Return where it is written what is known of how a model was made."""
    return model.with_suffix(".run") / "made.json"


def started(job: Job, work: Path) -> list[str | Path]:
    """Say what model of the same seed this one goes on from."""
    start = job.start()
    return ["--start-from", start.model(work)] if start else []


def taught(lessons: Lessons, given: argparse.Namespace) -> None:
    """Let teachers say what is unknown, unless they have, and put it behind the pairs."""
    out = lessons.file(given.work)
    models = [teacher.model(given.work) for teacher in lessons.teachers]
    # by what they hold: times are lost where a folder is copied
    mark, made_of = out.with_suffix(".digest"), digest(*models, lessons.unknown, lessons.pairs)
    if out.exists() and mark.exists() and mark.read_text() == made_of:
        return
    unknown = lessons.unknown.read_text(encoding="utf-8")
    answers = regard("translate", *models, "--device", given.device, lines=unknown)
    pairs = zip(unknown.split("\n"), answers.split("\n"), strict=True)
    said = "".join(f"{line}\t{answer}\n" for line, answer in pairs if answer)
    mark.unlink(missing_ok=True)
    written(out, lessons.pairs.read_text(encoding="utf-8") + said)
    written(mark, made_of)


def make(job: Job, given: argparse.Namespace) -> None:
    """Train a model unless it is there, score it, and write down what came of it."""
    (name, part, seed), out = job, job.model(given.work)
    task, log = TASKS[name], given.logs / f"{job}.json"
    pairs = learn(job, given, *given.more)
    found = known(log, digest(out))
    if made(out).exists():
        found.pop("seconds", None)
        found |= json.loads(made(out).read_text())
    more = [*started(job, given.work), *part.more, *given.more]
    found |= {
        "task": name,
        "part": part.name,
        "seed": seed,
        **by_settings(part, out),
        "more": [x.name if isinstance(x, Path) else x for x in more],
        "parameters": json.loads(regard("info", out, "--format=json"))["parameters"],
    }
    found["digests"]["pairs"] = digest(pairs)
    # what nobody said is chosen, so that it is known only by these
    found["digests"]["all settings"] = digest(out.with_suffix(".run") / "settings.toml")
    found["dev"] = scores(task, part, [out], part.dev, given.device)
    found["dev"] |= looked(task, [out], part.dev, given.device)
    found["dev"]["by length"] = by_length(out.with_suffix(".run"), task.metrics.split(",")[0])
    if part.lessons:
        teachers = [teacher.model(given.work) for teacher in part.lessons.teachers]
        found["teachers"] = scores(task, part, teachers, part.dev, given.device)
    if task.gold is not None:
        gold = given.data / "word-alignment" / f"{task.gold}.dev.tsv"
        words = ["--alignments", gold, "--format=json", "--device", given.device]
        found["alignments"] = json.loads(regard("evaluate", out, *words))
    _kept(log, found)
    tested(task, [out], part, given, found)
    _logged(log, found, f"{name}, {part.name} {seed}")


def by_settings(part: Part, *models: Path) -> dict[str, Any]:
    """Say by which settings models were made, and by what both are known."""
    digests = {"model": digest(*models)}
    if part.settings is None:
        return {"settings": "automatic", "digests": digests}
    name = f"{part.settings.parent.name}/{part.settings.name}"
    return {"settings": name, "digests": {"settings": digest(part.settings)} | digests}


def known(log: Path, model: str) -> dict[str, Any]:
    """Return what was found before of a model of this digest; of another it is not true."""
    found: dict[str, Any] = json.loads(log.read_text()) if log.exists() else {}
    return found if found.get("digests", {}).get("model") == model else {}


def where() -> dict[str, Any]:
    """Describe the machine, and the commit that was there."""
    return machine(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))


def digest(*paths: Path) -> str:
    """Return by what files that have changed since are known."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


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


def looked(task: Task, models: list[Path], pairs: Path, device: str) -> dict[str, Any]:
    """Return what else a task looks for in a single model."""
    return task.looks(models[0], pairs, device) if task.looks and len(models) == 1 else {}


def tested(
    task: Task, models: list[Path], part: Part, given: argparse.Namespace, found: dict[str, Any]
) -> None:
    """Score the public test if that is asked for and was not done; last, after all that may fail.

    It is written down at once, and what was written down is not scored again.
    """
    if not (given.test and part.test) or "test" in found:
        return
    told, known_by = given.logs / TESTS, found["digests"]["model"]
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    if known_by in [json.loads(line).get("digest") for line in lines]:
        sys.stderr.write(f"{models[0].stem}: its public test was scored before, see {told}\n")
        return
    found["test"] = scores(task, part, models, part.test, given.device)
    values = {score["name"]: round(score["value"], 2) for score in found["test"]["scores"]}
    here = where()
    line = {"model": models[0].stem, "models": len(models), "digest": known_by}
    line |= {name: here[name] for name in ("commit", "dirty")} | values
    with told.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    found["test"] |= looked(task, models, part.test, given.device)


def as_one(together: AsOne, given: argparse.Namespace) -> None:
    """Score the seeds of a part as models that write together."""
    name, part, _ = together.jobs[0]
    models = [job.model(given.work) for job in together.jobs]
    log = given.logs / f"{together}.json"
    found = known(log, digest(*models))
    found |= {"task": name, "part": part.name, "models": len(models), "machine": where()}
    found |= by_settings(part, *models)
    found["dev"] = scores(TASKS[name], part, models, part.dev, given.device)
    _kept(log, found)
    tested(TASKS[name], models, part, given, found)
    _logged(log, found, f"{name}, {part.name}, ensemble of {len(models)}")


def _kept(log: Path, found: dict[str, Any]) -> None:
    written(log, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def _logged(log: Path, found: dict[str, Any], name: str) -> None:
    _kept(log, found)
    for split in ("dev", "test"):
        if split in found:
            values = (f"{score['name']} {score['value']:.2f}" for score in found[split]["scores"])
            sys.stdout.write(f"{name}, {split}: {', '.join(values)}\n")
    sys.stdout.flush()


def chosen(given: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, list[Part]]:
    """Return the parts of each task that are wanted, or refuse what is not there."""
    found = {}
    for name in given.tasks:
        try:
            found[name] = list(TASKS[name].parts(given.data, given.work))
            for part in found[name]:
                if given.parts is None or part.name in given.parts:
                    for path in filter(None, (part.pairs, part.dev, part.test)):
                        path.stat()
        except OSError as error:
            refuse(error, given, parser)
        if not found[name]:
            parser.error(f"{given.data} has nothing for {name}; another --data would do")
    names = list(dict.fromkeys(part.name for parts in found.values() for part in parts))
    if strangers := [name for name in given.parts or [] if name not in names]:
        parser.error(f"there is no part {strangers[0]}; {', '.join(names)} would do")
    kept = {
        name: [part for part in parts if given.parts is None or part.name in given.parts]
        for name, parts in found.items()
    }
    if empty := [name for name, parts in kept.items() if not parts]:
        parser.error(f"{empty[0]} has none of these parts; leaving it out would do")
    return kept


def refuse(error: OSError, given: argparse.Namespace, parser: argparse.ArgumentParser) -> NoReturn:
    """Say what file is in the way, and which folder should be another."""
    path = Path(error.filename or given.data)
    what = f"{path}: {error.strerror or error}"
    if path.is_relative_to(given.data):
        parser.error(f"{what}; --data must name a folder that has it")
    parser.error(f"{what}; another folder would do")


def positive(text: str) -> int:
    """Read a number of which there must be one."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}, but it must be at least 1")
    return number


def arguments() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.run", description=__doc__)
    parser.add_argument("tasks", nargs="+", choices=[*TASKS], metavar="TASK")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument(
        "--work", type=Path, default=Path("out/recipes"), help="for models, out/recipes if not said"
    )
    parser.add_argument("--logs", type=Path, default=HERE / "logs", help="recipes/logs if not said")
    parser.add_argument("--parts", nargs="+", default=None, help="these alone, by name")
    parser.add_argument(
        "--seeds", type=positive, help="how many, from 1 on; if not said as many as the task has"
    )
    parser.add_argument("--at-once", type=positive, default=1, help="so many trainings at a time")
    parser.add_argument("--ensemble", action="store_true", help="score the seeds as one too")
    parser.add_argument("--test", action="store_true", help="score the public tests: once, last")
    parser.add_argument("--device", default="auto", help="cpu, cuda, or a GPU where there is one")
    parser.add_argument(
        "--more", nargs=argparse.REMAINDER, default=[], help="last: words for regard train"
    )
    return parser


def wishes(given: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Node]:
    """Return the models that are to be scored, and after those of a part what they are as one."""
    found: list[Node] = []
    for name, parts in chosen(given, parser).items():
        seeds = range(1, (given.seeds or TASKS[name].seeds) + 1)
        for part in parts:
            jobs = tuple(Job(name, part, seed) for seed in seeds)
            found += [*jobs, *([AsOne(jobs)] if given.ensemble and len(jobs) > 1 else [])]
    if given.ensemble and not any(isinstance(node, AsOne) for node in found):
        names = " and ".join(given.tasks)
        parser.error(f"--ensemble joins seeds, but there is one of {names}; --seeds 5 would do")
    return found


def begin(node: Node, wanted: Sequence[Node], given: argparse.Namespace) -> None:
    """Make what is not there, score what is wanted, and name what fails."""
    try:
        match node:
            case Lessons():
                taught(node, given)
            case AsOne():
                as_one(node, given)
            case Before(words):
                if not Path(words[-1]).exists():
                    regard(*words)
            case Job() if node in wanted:
                make(node, given)
            case Job() if not node.model(given.work).exists():
                learn(node, given)
    except SystemExit:
        if not STOPPING.is_set():
            sys.stderr.write(f"{node} failed, see above\n")
        raise


def main() -> None:
    """Run tasks."""
    parser = arguments()
    given = parser.parse_args()
    try:
        for folder in (given.work, given.logs):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(error, given, parser)
    wanted = wishes(given, parser)
    trained = sum(isinstance(node, Job) for node in graph(wanted))
    given.beside = min(given.at_once, trained) - 1
    try:
        left = side_by_side(wanted, lambda node: begin(node, wanted, given), given.at_once)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command goes on\n")
        raise SystemExit(130) from None
    if left:
        sys.stderr.write(f"not done: {', '.join(map(str, left))}\n")
        raise SystemExit(2)


if __name__ == "__main__":
    main()
