"""`python -m recipes.run TASK… --data DATA --work FOLDER`: from the data to scored models.

Trains every variant of a task with each seed and scores it on dev. With --test it also scores the
public test: once and last. Writes one small log per model into `recipes/logs`, and a line for each
time that a public test was scored. Existing models are not trained again. `--jobs N` runs N
trainings at a time, to fill a GPU; each starts when its prerequisites are done.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from recipes import scheduler
from recipes.experiments import (
    HERE,
    PreparationCommand,
    RecipeRun,
    SeedEnsemble,
    SyntheticData,
    Variant,
)
from recipes.scheduler import RecipeStep, dependency_graph, run_steps
from recipes.steps import pseudo_label, run_regard, score_ensemble, train, train_and_score
from recipes.tasks import RENAMED_TASKS, RENAMED_VARIANTS, TASKS


def select_variants(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> dict[str, list[Variant]]:
    """Return the selected variants of each task; refuse missing files and unknown names."""
    available = {}
    for name in options.tasks:
        try:
            available[name] = list(TASKS[name].variants(options.data, options.work))
            for variant in available[name]:
                if options.variants is None or variant.name in options.variants:
                    for path in filter(None, (variant.pairs, variant.dev, variant.test)):
                        path.stat()
        except OSError as error:
            refuse(error, options, parser)
        if not available[name]:
            parser.error(
                f"{options.data} has no files for {name}; --data must name the folder of the data "
                "sets"
            )
    names = list(dict.fromkeys(one.name for variants in available.values() for one in variants))
    if unknown := [name for name in options.variants or [] if name not in names]:
        parser.error(f"unknown variant {unknown[0]}; the variants are {', '.join(names)}")
    selected = {
        name: [one for one in variants if options.variants is None or one.name in options.variants]
        for name, variants in available.items()
    }
    if empty := [name for name, variants in selected.items() if not variants]:
        parser.error(f"{empty[0]} has none of these variants; leave the task out")
    return selected


def refuse(
    error: OSError, options: argparse.Namespace, parser: argparse.ArgumentParser
) -> NoReturn:
    """Report the file that caused an error, and the option that names its folder."""
    path = Path(error.filename or options.data)
    problem = f"{path}: {error.strerror or error}"
    if path.is_relative_to(options.data):
        parser.error(f"{problem}; --data must name a folder that has it")
    parser.error(f"{problem}; name another folder")


def positive(text: str) -> int:
    """Parse a number of at least 1."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}; it must be at least 1")
    return number


def present_name(name: str, renamed: Mapping[str, str]) -> str:
    """Return the present name of a task or variant, and report a former one."""
    if name in renamed:
        sys.stderr.write(f"{name} is now called {renamed[name]}\n")
    return renamed.get(name, name)


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; second names of options are former ones."""
    parser = argparse.ArgumentParser(prog="python -m recipes.run", description=__doc__)
    parser.add_argument(
        "tasks",
        nargs="+",
        choices=[*TASKS],
        metavar="TASK",
        type=lambda name: present_name(name, RENAMED_TASKS),
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument(
        "--work", type=Path, default=Path("out/recipes"), help="for models; default: out/recipes"
    )
    parser.add_argument("--logs", type=Path, default=HERE / "logs", help="default: recipes/logs")
    parser.add_argument(
        "--variants",
        "--parts",
        nargs="+",
        default=None,
        type=lambda name: present_name(name, RENAMED_VARIANTS),
        help="only these variants of the tasks; an unknown name lists all",
    )
    parser.add_argument("--seeds", type=positive, help="number of seeds; default: the task's own")
    parser.add_argument("--jobs", "--at-once", type=positive, default=1, help="parallel trainings")
    parser.add_argument("--ensemble", action="store_true", help="also score the seeds' ensemble")
    parser.add_argument("--test", action="store_true", help="score the public tests: once, last")
    parser.add_argument(
        "--device", default="auto", help="cpu, cuda, or auto: a GPU if there is one"
    )
    parser.add_argument(
        "--train-args",
        "--more",
        nargs=argparse.REMAINDER,
        default=[],
        help="last: further options of regard train",
    )
    return parser


def select_steps(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[RecipeStep]:
    """Return the models to score; those of a variant are followed by their ensemble."""
    steps: list[RecipeStep] = []
    for name, variants in select_variants(options, parser).items():
        seeds = range(1, (options.seeds or TASKS[name].seeds) + 1)
        for variant in variants:
            runs = tuple(RecipeRun(name, variant, seed) for seed in seeds)
            steps += [*runs, *([SeedEnsemble(runs)] if options.ensemble and len(runs) > 1 else [])]
    if options.ensemble and not any(isinstance(step, SeedEnsemble) for step in steps):
        names = " and ".join(options.tasks)
        parser.error(f"--ensemble needs several seeds, but {names} has one; add --seeds 5")
    return steps


def run_step(step: RecipeStep, wanted: Sequence[RecipeStep], options: argparse.Namespace) -> None:
    """Make a missing file, or train and score a wanted model; name a step that fails."""
    try:
        match step:
            case SyntheticData():
                pseudo_label(step, options)
            case SeedEnsemble():
                score_ensemble(step, options)
            case PreparationCommand(arguments):
                if not Path(arguments[-1]).exists():
                    run_regard(*arguments)
            case RecipeRun() if step in wanted:
                train_and_score(step, options)
            case RecipeRun() if not step.model(options.work).exists():
                train(step, options)
    except SystemExit:
        if not scheduler.STOPPING.is_set():
            sys.stderr.write(f"{step} failed, see above\n")
        raise


def main() -> None:
    """Run tasks."""
    parser = argument_parser()
    options = parser.parse_args()
    try:
        for folder in (options.work, options.logs):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(error, options, parser)
    wanted = select_steps(options, parser)
    trainings = sum(isinstance(step, RecipeRun) for step in dependency_graph(wanted))
    options.concurrent_runs = min(options.jobs, trainings) - 1
    try:
        failed = run_steps(wanted, lambda step: run_step(step, wanted, options), options.jobs)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command resumes\n")
        raise SystemExit(130) from None
    if failed and scheduler.STOPPING.is_set():
        sys.stderr.write("stopped; the same command resumes\n")
        raise SystemExit(130)
    if failed:
        sys.stderr.write(f"not done: {', '.join(map(str, failed))}\n")
        raise SystemExit(2)


if __name__ == "__main__":
    main()
