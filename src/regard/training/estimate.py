"""Estimates the training time: times a few updates of a copy of the model."""

import copy
import time
from collections.abc import Callable
from dataclasses import replace

from regard.training.early_stopping import TrainingProgress
from regard.training.loop import TrainingJob, make_gradients, training_batches, update
from regard.training.optimizer import make_optimizer

TRIALS = 2
"""Updates that are timed."""


def estimate(
    job: TrainingJob, validation_seconds: Callable[[], float], steps_before: int = 0
) -> str:
    """Say how long the remaining updates and validations take at most."""
    config = job.config
    trial = replace(job, model=copy.deepcopy(job.model))
    optimizer, gradients = make_optimizer(trial.model, config), make_gradients(trial.model, config)
    batches = training_batches(job, TrainingProgress())
    groups = [
        [next(batches)[2] for _ in range(config.gradient_accumulation_steps)] for _ in range(TRIALS)
    ]
    # the first update is slower than others; on a GPU the first of each shape
    warm_up = groups if job.model.device.type == "cuda" else groups[:1]
    for timed_groups in (warm_up, groups):
        start = time.perf_counter()
        for step, group in enumerate(timed_groups, start=1):
            loss, _ = update(trial, optimizer, gradients, group, step)
        # reading the loss waits for the GPU
        loss()
        update_seconds = (time.perf_counter() - start) / len(timed_groups)
    left = max(0, config.max_steps - steps_before)
    num_validations = -(-left // config.validate_every)
    seconds_per_validation = validation_seconds()
    total = left * update_seconds + num_validations * seconds_per_validation
    if config.max_minutes:
        total = min(total, 60 * config.max_minutes)
    return (
        f"about {format_duration(total)} at most: {left:,} updates of {update_seconds:.3g} s, "
        f"{num_validations} validations of {seconds_per_validation:.2g} s"
    )


def format_duration(seconds: float) -> str:
    """Write a duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
