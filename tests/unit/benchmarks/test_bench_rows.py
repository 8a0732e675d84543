"""A row: whose turn it is, what is compared with what, and what is said of the target."""

import pytest

from benchmarks import run
from benchmarks.peers import EOLE
from benchmarks.rows import (
    FASTEST,
    OURS,
    PLAIN,
    Contender,
    Measured,
    Row,
    Run,
    Target,
    compare,
    measure,
    to_json,
    verdict,
)
from benchmarks.sites import Site
from benchmarks.table import picture, table


def row(*others, target=None, higher=True, rounds=1, **more):
    return Row(
        "some-row",
        "some work",
        "tokens/s",
        others[0],
        others[1:],
        {"training": target or Target(1.3, FASTEST, 2.0)},
        higher_is_better=higher,
        rounds=rounds,
        **more,
    )


def saying(name, *values, **more):
    left = list(values)
    return Contender(name, lambda: Measured({"training": left.pop(0)}), **more)


def test_the_reference_stands_before_and_after_everybody():
    plain, ours = saying(PLAIN, *[10.0] * 9), saying(OURS, 1.0, 2.0)
    some = row(
        plain, ours, saying("peer", 3.0, 4.0, peer=True), saying("x", 5.0, extra=True), rounds=2
    )
    runs = measure(some, lambda run: None)
    first = [PLAIN, OURS, PLAIN, "peer", PLAIN, "x", PLAIN]
    assert [run.contender for run in runs] == [*first, PLAIN, OURS, PLAIN, "peer", PLAIN]
    assert [run.round for run in runs] == [0] * 7 + [1] * 5


def test_each_run_is_compared_with_the_reference_around_it():
    some = row(saying(PLAIN, 10.0, 30.0, 50.0), saying(OURS, 60.0), saying("peer", 60.0, peer=True))
    found = compare(some, "training", measure(some, lambda run: None))
    assert found[OURS].ratios.median == 3.0
    assert found["peer"].ratios.median == 1.5
    assert found[PLAIN].figures == (30.0, 10.0, 50.0)


def told(value, target, *, higher=True, peers=(("peer", 2.0),)):
    others = [saying(name, speed, peer=True) for name, speed in peers]
    some = row(
        saying(PLAIN, *[1.0] * 9), saying(OURS, value), *others, target=target, higher=higher
    )
    runs = measure(some, lambda run: None)
    return verdict(some, "training", compare(some, "training", runs))


def test_a_target_of_the_fastest_peer_is_reached_or_not():
    peers = (("slow", 1.0), ("fast", 2.0))
    assert told(3.0, Target(1.3, FASTEST, 2.0), peers=peers) == (
        True,
        "reached: 1.50× fast, wanted 1.3× (aim 2×)",
    )
    assert told(1.3, Target(1.3, FASTEST), peers=peers) == (
        False,
        "not reached: 0.65× fast, wanted 1.3×; 50% short",
    )


def test_a_target_of_one_peer_looks_at_no_other():
    peers = (("named", 1.0), ("fast", 2.0))
    assert told(3.0, Target(3.0, "named"), peers=peers)[1] == "reached: 3.00× named, wanted 3×"


def test_a_target_of_a_peer_that_is_not_there_is_nobodys_to_say():
    assert told(3.0, Target(3.0, "named")) == (None, "not measured: named is not installed")
    assert told(3.0, Target(3.0, FASTEST), peers=())[0] is None


def test_a_limit_is_kept_or_passed():
    assert told(0.25, Target(0.5), higher=False) == (
        True,
        "reached: 0.25 tokens/s, wanted 0.5 tokens/s",
    )
    assert told(1.0, Target(0.5), higher=False) == (
        False,
        "not reached: 1 tokens/s, wanted 0.5 tokens/s; 50% short",
    )
    assert told(75_000.0, Target(100_000))[1] == (
        "not reached: 75,000 tokens/s, wanted 100,000 tokens/s; 25% short"
    )


def test_the_table_says_who_how_fast_and_whether_it_is_enough(tmp_path):
    some = row(
        saying(PLAIN, 1000.0, 1000.0, 1000.0),
        saying(OURS, 3000.0),
        saying("peer", 1500.0, peer=True, version="1.2"),
        missing={EOLE.name: "pip install eole"},
    )
    found = to_json(some, measure(some, lambda run: None))
    written = table([found]).splitlines()
    assert "some-row · training: some work" in written
    assert any(line.split()[:3] == ["regard", "3,000", "tokens/s"] for line in written)
    assert any(line.split()[:2] == ["peer", "1.2"] and " 1.50 " in line for line in written)
    assert "  → reached: 2.00× peer, wanted 1.3× (aim 2×)" in written
    assert "  eole: not measured, since it is not installed; pip install eole would do" in written
    assert "doubtful" not in table([found])
    picture([found], tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_a_busy_machine_makes_a_row_doubtful():
    some = row(saying(PLAIN, 1.0, 1.0), saying(OURS, 1.0), saying("peer", 1.0, peer=True))
    runs = [Run(0, name, Measured({"training": 1.0}, others=0.7)) for name in (PLAIN, OURS, PLAIN)]
    written = table([to_json(some, runs)])
    assert "doubtful: others used up to 0.7 cores meanwhile" in written


def test_a_kernel_whose_test_fails_is_not_timed(tmp_path):
    def never():
        raise AssertionError

    some = row(Contender(PLAIN, never), Contender(OURS, never), kernels=True)
    site = Site(tmp_path, tmp_path, tmp_path)
    found = run._measured(some, green=False, site=site, profile=False)
    sentence = "not timed: a test in tests/unit/kernels fails; kernels that pass it would do"
    assert found == {"row": "some-row", "work": "some work", "refused": sentence}
    assert sentence in table([found])


def test_a_row_that_is_not_there_is_refused():
    with pytest.raises(SystemExit) as refused:
        run._chosen(["train"], None)
    assert str(refused.value).startswith("row = train, but it must be one of train-additive, ")
    assert str(refused.value).endswith("; train-additive would do")


def test_a_row_that_needs_a_gpu_is_refused_without_one():
    with pytest.raises(SystemExit) as refused:
        run._chosen(["decoder"], None)
    assert str(refused.value).startswith("row = decoder, but it must have a GPU; train-additive, ")
    assert run._chosen(["decoder"], "a GPU") == ["decoder"]


def test_without_names_all_rows_are_measured_that_the_machine_can():
    assert run._chosen([], None) == [*run.CPU]
    assert run._chosen([], "a GPU") == [*run.CPU, *run.GPU]


def test_a_peer_that_is_not_there_says_how_to_install_it(tmp_path):
    there, missing = Site(tmp_path, tmp_path, tmp_path).present([EOLE], lambda peer: Measured({}))
    assert there == []
    assert missing == {
        "eole": "python3 -m venv eole && eole/bin/pip install torch==2.13.0 && "
        "eole/bin/pip install eole==0.6.4 aiohttp"
    }
