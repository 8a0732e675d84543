"""How fast it goes and how long it takes, by a clock that is turned by hand."""

import pytest

from regard.config.settings import TrainConfig
from regard.training.throughput import ThroughputMeter, format_clock_time


class Clock:
    """A clock that is turned by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def config(**options):
    return TrainConfig(**{"max_steps": 100, "validate_every": 20, **options})


def paced(clock, updates, *, first=0, **options):
    """Make updates of half a second; a validation takes four, and follows every twentieth."""
    pace = ThroughputMeter(config(**options), clock)
    pace.start(first)
    for step in range(first + 1, first + updates + 1):
        clock.now += 0.5
        pace.update(step, 1.0, 100)
        if step % 20 == 0 and step < first + updates:
            pace.begin_validation()
            clock.now += 4
            pace.end_validation()
    return pace


def test_the_time_left_counts_updates_and_validations_to_come():
    # 70 updates, and validations after 40, 60, 80 and 100
    assert paced(Clock(), 30).seconds_left() == 70 * 0.5 + 4 * 4
    # a run that goes on has seen no update before its first, and one validation, after 80
    assert paced(Clock(), 30, first=60).seconds_left() == 10 * 0.5 + 1 * 4
    # the last update is followed by a validation, wherever it falls: here after 40 and 50
    assert paced(Clock(), 30, max_steps=50).seconds_left() == 20 * 0.5 + 2 * 4
    # the first has not been seen yet
    assert paced(Clock(), 10).seconds_left() == 90 * 0.5


def test_the_time_left_is_unknown_before_the_first_update():
    assert paced(Clock(), 0).seconds_left() is None
    assert paced(Clock(), 0, first=7).seconds_left() is None


def test_a_running_validation_counts_down_and_never_below_nothing():
    clock = Clock()
    pace = paced(clock, 40)
    assert pace.seconds_left() == 60 * 0.5 + 4 * 4
    pace.begin_validation()
    clock.now += 1
    assert pace.seconds_left() == 60 * 0.5 + 3 * 4 + 3
    clock.now += 8
    assert pace.seconds_left() == 60 * 0.5 + 3 * 4
    pace.end_validation()
    # now the two validations took 4 and 9 seconds
    assert pace.seconds_left() == 60 * 0.5 + 3 * 6.5


def test_max_minutes_caps_the_time_left():
    clock = Clock()
    # 30 updates and a validation took 19 seconds
    pace = paced(clock, 30, max_minutes=0.5)
    assert pace.seconds_left() == 30 - 19
    clock.now += 60
    assert pace.seconds_left() == 0
    assert paced(Clock(), 30, max_minutes=60).seconds_left() == 51


def test_the_loss_is_the_mean_of_recent_words():
    clock = Clock()
    pace = ThroughputMeter(config(max_steps=1000), clock)
    pace.update(1, 2.0, 10)
    pace.update(2, 1.0, 30)
    assert pace.loss == (2.0 * 10 + 1.0 * 30) / 40
    for step in range(3, 53):
        pace.update(step, 0.5, 7)
    assert pace.loss == 0.5


def test_the_speed_excludes_validations():
    clock = Clock()
    pace = paced(clock, 21)
    assert pace.tokens_per_second == 200
    pace = ThroughputMeter(config(), clock)
    pace.update(1, 1.0, 100)
    assert pace.tokens_per_second == 0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0:00"), (59.6, "1:00"), (130, "2:10"), (3599, "59:59"), (90061, "25:01:01")],
)
def test_times_are_written_as_on_a_clock(seconds, expected):
    assert format_clock_time(seconds) == expected
