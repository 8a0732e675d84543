"""A row: the order of turns, the comparison with the baseline, and the verdict on the target."""

import pytest

from benchmarks import run
from benchmarks.competitors import EOLE
from benchmarks.environment import BenchmarkEnvironment
from benchmarks.rows import (
    BASELINE,
    FASTEST,
    REGARD,
    BenchmarkRow,
    Contender,
    Measurement,
    Target,
    Trial,
    compare,
    measure,
    to_json,
    verdict,
)
from benchmarks.table import draw, table


def row(*others, target=None, higher=True, rounds=1, **options):
    return BenchmarkRow(
        "some-row",
        "some work",
        "tokens/s",
        others[0],
        others[1:],
        {"training": target or Target(1.3, FASTEST, 2.0)},
        higher_is_better=higher,
        rounds=rounds,
        **options,
    )


def contender(name, *speeds, **options):
    left = list(speeds)
    return Contender(name, lambda: Measurement({"training": left.pop(0)}), **options)


def test_the_baseline_runs_before_and_after_every_contender():
    baseline, regard = contender(BASELINE, *[10.0] * 9), contender(REGARD, 1.0, 2.0)
    some = row(
        baseline,
        regard,
        contender("rival", 3.0, 4.0, competitor=True),
        contender("x", 5.0, extra=True),
        rounds=2,
    )
    trials = measure(some, lambda trial: None)
    first = [BASELINE, REGARD, BASELINE, "rival", BASELINE, "x", BASELINE]
    assert [trial.contender for trial in trials] == [
        *first,
        BASELINE,
        REGARD,
        BASELINE,
        "rival",
        BASELINE,
    ]
    assert [trial.round for trial in trials] == [0] * 7 + [1] * 5


def test_each_turn_is_compared_with_the_baseline_around_it():
    some = row(
        contender(BASELINE, 10.0, 30.0, 50.0),
        contender(REGARD, 60.0),
        contender("rival", 60.0, competitor=True),
    )
    summaries = compare(some, "training", measure(some, lambda trial: None))
    assert summaries[REGARD].ratios.median == 3.0
    assert summaries["rival"].ratios.median == 1.5
    assert summaries[BASELINE].figures == (30.0, 10.0, 50.0)


def verdict_on(figure, target, *, higher=True, rivals=(("rival", 2.0),)):
    others = [contender(name, speed, competitor=True) for name, speed in rivals]
    some = row(
        contender(BASELINE, *[1.0] * 9),
        contender(REGARD, figure),
        *others,
        target=target,
        higher=higher,
    )
    trials = measure(some, lambda trial: None)
    return verdict(some, "training", compare(some, "training", trials))


def test_a_target_relative_to_the_fastest_competitor_is_reached_or_not():
    rivals = (("slow", 1.0), ("fast", 2.0))
    assert verdict_on(3.0, Target(1.3, FASTEST, 2.0), rivals=rivals) == (
        True,
        "reached: 1.50× fast, target 1.3× (aim 2×)",
    )
    assert verdict_on(1.3, Target(1.3, FASTEST), rivals=rivals) == (
        False,
        "not reached: 0.65× fast, target 1.3×; 50% short",
    )


def test_a_target_relative_to_one_competitor_ignores_the_others():
    rivals = (("named", 1.0), ("fast", 2.0))
    assert (
        verdict_on(3.0, Target(3.0, "named"), rivals=rivals)[1] == "reached: 3.00× named, target 3×"
    )


def test_a_target_relative_to_a_missing_competitor_has_no_verdict():
    assert verdict_on(3.0, Target(3.0, "named")) == (None, "not measured: named is not installed")
    assert verdict_on(3.0, Target(3.0, FASTEST), rivals=())[0] is None


def test_an_absolute_target_is_reached_or_not():
    assert verdict_on(0.25, Target(0.5), higher=False) == (
        True,
        "reached: 0.25 tokens/s, target 0.5 tokens/s",
    )
    assert verdict_on(1.0, Target(0.5), higher=False) == (
        False,
        "not reached: 1 tokens/s, target 0.5 tokens/s; 50% short",
    )
    assert verdict_on(75_000.0, Target(100_000))[1] == (
        "not reached: 75,000 tokens/s, target 100,000 tokens/s; 25% short"
    )


def test_the_table_has_contenders_figures_and_verdicts(tmp_path):
    some = row(
        contender(BASELINE, 1000.0, 1000.0, 1000.0),
        contender(REGARD, 3000.0),
        contender("rival", 1500.0, competitor=True, version="1.2"),
        missing={EOLE.name: "pip install eole"},
    )
    summary = to_json(some, measure(some, lambda trial: None))
    lines = table([summary]).splitlines()
    assert "some-row · training: some work" in lines
    assert any(line.split()[:3] == ["regard", "3,000", "tokens/s"] for line in lines)
    assert any(line.split()[:2] == ["rival", "1.2"] and " 1.50 " in line for line in lines)
    assert "  → reached: 2.00× rival, target 1.3× (aim 2×)" in lines
    sentence = "  eole: not measured, because it is not installed; install it: pip install eole"
    assert sentence in lines
    assert "doubtful" not in table([summary])
    draw([summary], tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_a_busy_machine_makes_a_row_doubtful():
    some = row(
        contender(BASELINE, 1.0, 1.0),
        contender(REGARD, 1.0),
        contender("rival", 1.0, competitor=True),
    )
    measurement = Measurement({"training": 1.0}, other_cores=0.7)
    trials = [Trial(0, name, measurement) for name in (BASELINE, REGARD, BASELINE)]
    assert "doubtful: other programs used up to 0.7 cores" in table([to_json(some, trials)])


def test_a_kernel_whose_test_fails_is_not_timed(tmp_path):
    def fail():
        raise AssertionError

    some = row(Contender(BASELINE, fail), Contender(REGARD, fail), kernels=True)
    env = BenchmarkEnvironment(tmp_path, tmp_path, tmp_path)
    summary = run._measure_row(some, tests_pass=False, env=env, profile=False)
    sentence = "not timed: a test in tests/unit/kernels fails; fix the kernel first"
    assert summary == {"row": "some-row", "workload": "some work", "refused": sentence}
    assert sentence in table([summary])


def test_an_unknown_row_is_refused():
    with pytest.raises(SystemExit) as refused:
        run._select_rows(["train"], None)
    assert str(refused.value).startswith("Unknown row train; the rows are train-additive, ")
    assert str(refused.value).endswith(", transformer-g2p.")


def test_a_row_that_needs_a_gpu_is_refused_without_one():
    with pytest.raises(SystemExit) as refused:
        run._select_rows(["decoder"], None)
    assert str(refused.value).startswith("Row decoder needs a GPU; without one: train-additive, ")
    assert run._select_rows(["decoder"], "a GPU") == ["decoder"]


def test_all_rows_that_the_machine_can_run_are_the_default():
    assert run._select_rows([], None) == [*run.CPU]
    assert run._select_rows([], "a GPU") == [*run.CPU, *run.GPU]


def test_a_missing_competitor_comes_with_its_install_command(tmp_path):
    env = BenchmarkEnvironment(tmp_path, tmp_path, tmp_path)
    contenders, missing = env.installed([EOLE], lambda competitor: Measurement({}))
    assert contenders == []
    assert missing == {
        "eole": "python3 -m venv eole && eole/bin/pip install torch==2.13.0 && "
        "eole/bin/pip install eole==0.6.4 aiohttp"
    }
