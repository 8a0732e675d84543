"""A hostile model file is refused in a sentence or loads: no traceback, hang, crash or hunger."""

import os
import random

import hostile_model_files as hostile
import pytest
from forked_cases import run_cases

CASES = int(os.environ.get("REGARD_CASES", "120"))
SECONDS, MEGABYTES = 15, 300
"""Limits on one case: on loading it has two seconds, on one line all the others."""

SEEDS: list[int] = [1121, 5561]
"""Seeds of random cases that failed once."""


def run_all(cases, attempt, record_property):
    # a translator that is forked must not hold threads, and what all cases need is loaded once
    outcome = run_cases(cases, attempt, seconds=SECONDS, megabytes=MEGABYTES)
    for name, count in outcome.verdicts.items():
        record_property(name, count)
    assert not outcome.failures, outcome.failures[:3]
    assert outcome.verdicts["refused"] > 0
    return outcome.verdicts


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.regard"
    for name in hostile.MODELS:
        assert hostile.attempt(hostile.joined(*hostile.parts(name)), path) == "loaded"
    return path


def run_directed(cases, path, record_property):
    def attempt(case):
        return hostile.attempt(hostile.directed_case(*case), path)

    return run_all(cases, attempt, record_property)


def run_random(seeds, path, record_property):
    def attempt(seed):
        return hostile.attempt(hostile.random_case(seed), path)

    return run_all(seeds, attempt, record_property)


def test_a_hostile_value_in_a_model_file_is_refused_or_loads(path, record_property):
    rng = random.Random(int(os.environ["REGARD_SEED"]))
    cases = rng.sample(list(hostile.directed_cases()), CASES)
    run_directed(cases, path, record_property)


def test_a_randomly_damaged_model_file_is_refused_or_loads(path, record_property):
    first = int(os.environ["REGARD_SEED"])
    run_random([*SEEDS, *range(first, first + CASES)], path, record_property)


@pytest.mark.slow
def test_every_hostile_value_in_a_model_file_is_refused_or_loads(path, record_property):
    counts = run_directed(list(hostile.directed_cases()), path, record_property)
    assert counts.total() > 20_000


@pytest.mark.slow
def test_a_hundred_thousand_damaged_model_files_are_refused_or_load(path, record_property):
    run_random(range(100_000), path, record_property)


@pytest.mark.parametrize("name", hostile.MODELS)
def test_every_number_of_the_settings_has_a_limit(name, path):
    """What hung or crashed once, for all numbers of [model] and [search]."""
    settings = hostile.parts(name)[0]["settings"]
    numbers = [
        (section, *place)
        for section in ("model", "search")
        for place in hostile.paths(settings[section])
        if type(hostile.value_at(settings[section], place)) in (int, float)
        and place[-1] not in ("seed", "dropout")
    ]
    assert len(numbers) > 10
    for place in numbers:
        for number in (10**9, 10**18, 1e308):
            content = hostile.directed_case(name, ("settings", *place), number)
            assert hostile.attempt(content, path) == "refused", (place, number)
