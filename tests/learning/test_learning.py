"""Every preset learns: strings it has never seen come out right, to the last digit."""

import os
import random

import pytest
from learning_cases import RECIPES, TASKS, learn_apart

from regard.models import PRESETS

ENOUGH = 0.98

# some draws take longer than the one of the ordinary run; to copy through one vector, first in and
# first out, takes longest
LONGER = {("cho2014", "copy"): 3.0}


def test_there_is_a_recipe_for_every_preset():
    assert set(RECIPES) == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_learns_to_reverse(tmp_path, record_property, name):
    result = learn_apart(tmp_path, name, "reverse", seed=1)
    record_property("exact match", result.exact)
    record_property("updates", result.steps)
    assert result.exact >= ENOUGH


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", TASKS)
def test_at_least_four_of_five_fresh_seeds_learn(tmp_path, record_property, task, name):
    rng = random.Random(f"{os.environ['REGARD_SEED']} {task} {name}")
    found = {}
    for seed in rng.sample(range(2**31), 5):
        longer = LONGER.get((name, task), 1.5)
        found[seed] = learn_apart(tmp_path / str(seed), name, task, seed, longer).exact
        print(f"{name} {task}: seed {seed}: exact match {found[seed]:.3f}")
        record_property(f"seed {seed}", f"{found[seed]:.3f}")
    assert sum(exact >= ENOUGH for exact in found.values()) >= 4
