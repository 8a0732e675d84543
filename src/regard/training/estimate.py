"""Measures the pace of a run on a copy of the model, and says how long training takes."""

import copy
import time
from dataclasses import replace

from regard.config.settings import TrainConfig
from regard.data.batches import Batch
from regard.training.early_stopping import TrainingProgress
from regard.training.loop import TrainingJob, make_gradients, training_batches, update
from regard.training.optimizer import make_optimizer
from regard.training.plan import Pace, TrainingPlan

TRIALS = 2
"""Updates that are timed."""


def measure_update(job: TrainingJob, seconds: float | None = None) -> float:
    """Time a few updates of a copy of the model; with `seconds`, as many as fit, at least one."""
    config, on_gpu = job.config, job.model.device.type == "cuda"
    trial = replace(job, model=copy.deepcopy(job.model))
    optimizer, gradients = make_optimizer(trial.model, config), make_gradients(trial.model, config)
    batches = training_batches(job, TrainingProgress())

    def time_updates(groups: list[list[Batch]]) -> float:
        start = time.perf_counter()
        for step, group in enumerate(groups, start=1):
            loss, _ = update(trial, optimizer, gradients, group, step)
        # reading the loss waits for the GPU
        loss()
        return time.perf_counter() - start

    def take(count: int) -> list[list[Batch]]:
        accumulated = config.gradient_accumulation_steps
        return [[next(batches)[2] for _ in range(accumulated)] for _ in range(count)]

    groups = take(TRIALS)
    # the first update is slower than others; on a GPU the first of each shape
    time_updates(groups if on_gpu else groups[:1])
    if on_gpu or seconds is None:
        return time_updates(groups) / TRIALS
    total, count = time_updates(groups[1:]), 1
    while total < seconds:
        total, count = total + time_updates(take(1)), count + 1
    return total / count


def describe(config: TrainConfig, pace: Pace, steps_before: int = 0) -> str:
    """Say how long the remaining updates, validations and the final scoring take at most."""
    left = max(0, config.max_steps - steps_before)
    num_validations = -(-left // config.validate_every)
    total = left * pace.update + num_validations * pace.validation + pace.scoring
    return (
        f"about {format_duration(total)} at most: {left:,} updates of {pace.update:.3g} s, "
        f"{num_validations} validations of {pace.validation:.2g} s, "
        f"final scoring of {pace.scoring:.2g} s"
    )


def describe_plan(plan: TrainingPlan, config: TrainConfig, pace: Pace, sources: int) -> str:
    """Say what fits into the time; `config` holds the settings before the plan."""
    steps = f"{plan.max_steps:,}"
    if plan.max_steps < config.max_steps:
        steps += f" of {config.max_steps:,}"
    parts = [f"{steps} update{'s' * (steps != '1')} of {pace.update:.3g} s"]
    num_validations = -(-plan.max_steps // plan.validate_every)
    for name, count, seconds in (
        (
            f"{num_validations} validation{'s' * (num_validations != 1)}",
            plan.validation_sources,
            pace.validation,
        ),
        ("final scoring", plan.scoring_sources, pace.scoring),
    ):
        part = f"{name} of {seconds * count / sources:.2g} s"
        parts.append(part + f" ({count:,} of {sources:,} sources)" * (count < sources))
    return f"planned for {format_minutes(plan.minutes)}: {', '.join(parts)}"


def format_minutes(minutes: float) -> str:
    """Write a time limit as it was given."""
    return f"{minutes:g} minute{'s' * (minutes != 1)}"


def format_duration(seconds: float) -> str:
    """Write a duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
