"""How long will it take? Times a few updates of a copy, so that nothing of the run is touched."""

import copy
import time
from collections.abc import Callable
from dataclasses import replace

from regard.training.loop import Job, stream, update
from regard.training.optimizer import make_optimizer
from regard.training.state import Progress

TRIALS = 3


def estimate(job: Job, validation_seconds: Callable[[], float], done: int = 0) -> str:
    """Say how long the updates that are left, with their validations, take at most."""
    config = job.config
    trial = replace(job, model=copy.deepcopy(job.model))
    device = job.model.target_embedding.weight.device
    optimizer = make_optimizer(trial.model, config)
    batches = stream(job.corpus, config, Progress())
    took = []
    for step in range(1, TRIALS + 1):
        group = [next(batches)[2].to(device) for _ in range(config.accumulate)]
        start = time.perf_counter()
        update(trial, optimizer, group, step)
        took.append(time.perf_counter() - start)
    # the first is slower than any that follows
    each = sum(took[1:]) / (TRIALS - 1)
    left = max(0, config.max_steps - done)
    num_validations, validation = -(-left // config.validate_every), validation_seconds()
    total = left * each + num_validations * validation
    if config.max_minutes:
        total = min(total, 60 * config.max_minutes)
    return (
        f"about {spoken(total)} at most: {left:,} updates of {each:.3g} s, {num_validations} "
        f"validations of {validation:.2g} s"
    )


def spoken(seconds: float) -> str:
    """Say a time as people do."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
