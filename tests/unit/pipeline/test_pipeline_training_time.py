"""The training time that `regard check` estimates, before anything is encoded."""

import math

import pytest
import torch
from pipeline_cases import digits, profile

from regard.pipeline import training_time
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.training_time import estimate_training_seconds

PAIRS = {
    "words of letters": digits(),
    "spaced phones": [(source, " ".join(target)) for source, target in digits(400)],
    "sentences": [(" ".join(a + b), " ".join(b + a)) for a, b in digits(50)],
    "tags": [(f"{source} V;PST", target) for source, target in digits(40)],
}


@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS)
def test_the_time_of_all_updates_is_estimated(pairs):
    state = torch.get_rng_state()
    seconds = estimate_training_seconds(profile(pairs))
    assert math.isfinite(seconds)
    assert seconds > 0
    assert torch.equal(torch.get_rng_state(), state)


def test_the_time_grows_with_the_number_of_updates(monkeypatch):
    counts = []
    times = iter(range(100))
    monkeypatch.setattr(training_time.time, "perf_counter", lambda: next(times))
    for pairs in (digits(40), digits(2100)):
        steps = auto_configure(profile(pairs), {}).settings.train.max_steps
        # between two calls of the clock are two updates
        counts.append((estimate_training_seconds(profile(pairs)), steps / 2))
    assert counts[0][0] == counts[0][1]
    assert counts[1][0] == counts[1][1] > counts[0][1]
