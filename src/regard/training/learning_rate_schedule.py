"""The learning rate: a linear warm-up, then the schedule. A pure function."""

import math

from regard.config.settings import TrainConfig


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return the rate of an update; the first is number 1."""
    warmup = config.warmup_steps
    if step < warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "inverse_sqrt":
        return config.learning_rate * math.sqrt(max(1, warmup) / max(1, warmup, step))
    if config.schedule == "constant":
        return config.learning_rate
    left = 1 - (step - warmup) / max(1, config.max_steps - warmup)
    if config.schedule == "cosine":
        return config.learning_rate * (1 - math.cos(math.pi * left)) / 2
    return config.learning_rate * left
