"""A damaged run folder resumes to the same bytes or is refused in a sentence, never otherwise."""

import os

import hostile_run_folders as hostile
import pytest
from forked_cases import run_cases

CASES = int(os.environ.get("REGARD_CASES", "12"))
SECONDS, MEGABYTES = 15, 400
SEEDS: list[int] = []
"""Seeds that failed once."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return folder, hostile.make_runs(folder)


def run_all(seeds, runs, record_property):
    def attempt(seed):
        return hostile.attempt(seed, *runs)

    outcome = run_cases(seeds, attempt, seconds=SECONDS, megabytes=MEGABYTES)
    for name, count in outcome.verdicts.items():
        record_property(name, count)
    assert not outcome.failures, outcome.failures[:3]


def test_a_damaged_run_folder_resumes_exactly_or_is_refused(runs, record_property):
    first = int(os.environ["REGARD_SEED"])
    run_all([*SEEDS, *range(first, first + CASES)], runs, record_property)


@pytest.mark.slow
def test_five_thousand_damaged_run_folders_resume_exactly_or_are_refused(runs, record_property):
    run_all(range(5_000), runs, record_property)
