"""The training plan: it fits a run into a time, by a pace that is made up here."""

import json
import random
from dataclasses import replace
from math import ceil

import pytest

from regard.config.settings import TrainConfig
from regard.training.learning_rate_schedule import learning_rate
from regard.training.plan import MIN_SOURCES, Pace, TrainingPlan, make_plan, select_evenly_spaced

AUTOMATIC = {"warmup_steps", "validate_every", "save_every", "report_every"}
CONFIG = TrainConfig(
    max_steps=7000,
    warmup_steps=350,
    validate_every=233,
    save_every=233,
    report_every=46,
    max_minutes=6,
    schedule="cosine",
    average_checkpoints=3,
)
PACE = Pace(0.8, 8.0, 40.0)


def plan(config=CONFIG, pace=PACE, **options):
    given = {"seconds": 350.0, "sources": 1000, "automatic": AUTOMATIC, **options}
    return make_plan(config, pace, **given)


def simulated_seconds(made, pace, sources, steps_before=0):
    """Walk through a run as the loop does, and return how long it takes."""
    seconds = 0.0
    for step in range(steps_before + 1, made.max_steps + 1):
        seconds += pace.update
        if step % made.validate_every == 0 or step == made.max_steps:
            seconds += pace.validation * made.validation_sources / sources
    # averaged checkpoints are validated too
    seconds += pace.validation * made.validation_sources / sources
    return seconds + pace.scoring * made.scoring_sources / sources


def test_a_run_fits_into_its_time_at_any_pace():
    rng = random.Random(3)
    for _ in range(300):
        seconds, sources = rng.uniform(30, 3600), rng.randint(200, 2000)
        pace = Pace(
            10 ** rng.uniform(-3, 0), rng.uniform(0.001, 0.1) * seconds, rng.random() * seconds
        )
        before = rng.choice([0, 0, 137])
        made = plan(pace=pace, seconds=seconds, sources=sources, steps_before=before)
        took = simulated_seconds(made, pace, sources, before)
        # the smallest number of sources, and a last validation, may not fit
        least = MIN_SOURCES / sources * (pace.scoring + 2 * pace.validation) + pace.update
        assert took <= seconds + least
        if made.max_steps < CONFIG.max_steps:
            assert took >= 0.9 * seconds - 2 * pace.update - pace.validation


def test_the_learning_rate_ends_with_the_plan():
    made = plan()
    assert 200 < made.max_steps < 450
    planned = made.apply(CONFIG)
    assert learning_rate(planned, made.max_steps) == pytest.approx(0)
    assert learning_rate(planned, made.warmup_steps) == CONFIG.learning_rate
    assert made.warmup_steps == made.max_steps // 20
    assert 5 <= ceil(made.max_steps / made.validate_every) <= 20
    assert planned == replace(
        CONFIG,
        max_steps=made.max_steps,
        warmup_steps=made.warmup_steps,
        validate_every=made.validate_every,
        save_every=made.save_every,
        report_every=made.report_every,
    )


def test_a_run_that_fits_stays_as_it_is():
    made = plan(pace=Pace(0.01, 1.0, 5.0))
    assert made.apply(CONFIG) == CONFIG
    assert (made.validation_sources, made.scoring_sources) == (1000, 1000)


def test_settings_of_the_user_stay():
    made = plan(automatic={"save_every"})
    assert (made.warmup_steps, made.validate_every, made.report_every) == (350, 233, 46)
    # saved after each validation, as before
    assert made.save_every == 233
    assert simulated_seconds(made, PACE, 1000) <= 350
    assert made.max_steps > 200


def test_slow_scoring_leaves_sources_out():
    made = plan(pace=Pace(0.8, 40.0, 400.0))
    assert MIN_SOURCES < made.scoring_sources < 100
    assert MIN_SOURCES < made.validation_sources < 300
    assert ceil(made.max_steps / made.validate_every) >= 5


def test_more_time_adds_to_the_updates_so_far():
    # but for the time of one validation
    assert plan(steps_before=300).max_steps == pytest.approx(plan().max_steps + 300, abs=15)


def test_without_any_time_one_update_is_planned():
    made = plan(seconds=-3.0)
    assert (made.max_steps, made.scoring_sources) == (1, MIN_SOURCES)


def test_a_plan_survives_json_and_anything_else_is_refused():
    made = plan()
    fields = json.loads(json.dumps(made.to_json()))
    assert TrainingPlan.from_json(fields) == made
    wrong = [None, [], {}, {**fields, "more": 1}]
    wrong += [{**fields, "max_steps": x} for x in (0, -1, 1.5, True, "7", None, [1])]
    wrong += [{**fields, "minutes": x} for x in (float("nan"), float("inf"), -1.0, "6")]
    wrong += [{**fields, "validate_every": 0}, {**fields, "save_every": 0}]
    for other in wrong:
        with pytest.raises(ValueError, match=r"plan|number|range"):
            TrainingPlan.from_json(other)


def test_sources_that_are_left_out_are_spread_evenly():
    assert select_evenly_spaced(range(10), 5) == [0, 2, 4, 6, 8]
    assert select_evenly_spaced(range(3), 7) == [0, 1, 2]
