"""Run steps in parallel, each as soon as its prerequisites are done."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Any

from recipes.experiments import PreparationCommand, RecipeRun, SeedEnsemble, SyntheticData

RecipeStep = RecipeRun | SyntheticData | SeedEnsemble | PreparationCommand

STOPPING = threading.Event()
"""Set after Ctrl-C or an unforeseen error: no further command is started."""


def dependency_graph(wanted: Sequence[RecipeStep]) -> dict[RecipeStep, Sequence[RecipeStep]]:
    """Return the wanted steps and all that they depend on, each with its prerequisites."""
    graph: dict[RecipeStep, Sequence[RecipeStep]] = {}
    steps = [*wanted]
    for step in steps:
        if step not in graph:
            graph[step] = step.prerequisites()
            steps += graph[step]
    return graph


def run_steps(
    wanted: Sequence[RecipeStep], run: Callable[[RecipeStep], Any], jobs: int
) -> list[RecipeStep]:
    """Run the wanted steps and their prerequisites, `jobs` at a time; return those not done.

    A step that raises SystemExit fails with all that depends on it; the others go on. After any
    other exception, or Ctrl-C, no further step starts and running ones start no further command.
    """
    pending = dependency_graph(wanted)
    order = TopologicalSorter(pending)
    order.prepare()
    running: dict[Future[Any], RecipeStep] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                running |= {pool.submit(_run, run, step): step for step in order.get_ready()}
                if not running:
                    return [*pending]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step, error = running.pop(future), future.exception()
                    if error is None:
                        order.done(step)
                        del pending[step]
                    elif not isinstance(error, SystemExit):
                        raise error
        except BaseException:
            STOPPING.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _run(run: Callable[[RecipeStep], Any], step: RecipeStep) -> None:
    """Run a step in its thread, and stop the others if it fails: the main thread may be late."""
    if STOPPING.is_set():
        raise SystemExit(130)
    try:
        run(step)
    except SystemExit:
        raise
    except BaseException:
        STOPPING.set()
        raise
