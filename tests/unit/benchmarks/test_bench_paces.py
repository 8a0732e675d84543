"""Figures from what programs print: ours, plain PyTorch's and the peers'."""

import pytest

from benchmarks import ct2, fairseq, opennmt
from benchmarks.paces import Mark, Spread, beside, json_figures, json_marks, pace
from benchmarks.programs import Ran
from benchmarks.scaling import exponent, summed

OPENNMT = (
    "[2026-01-02 03:04:05,678 INFO] Step 20/   50; acc: 9.1; ppl:  31.5; xent: 3.4; "
    "lr: 0.00100; sents:     640; bsz:  480/ 421/64; 1050/922 tok/s;     18 sec;\n"
)
EOLE = (
    "[2026-01-02 03:04:05,678 INFO] Step 10/   50; acc: 9.1; ppl: 31.50; xent: 3.40; aux: 0.000; "
    "mtp: 0.000; attn_ent: 0.000; lr: 1.00e-03; sents:     640; bsz:  500/ 469/64; "
    "1050/922 tok/s;     18 sec;\n"
)
FAIRSEQ = (
    '2026-01-02 03:04:05 | INFO | train_inner | {"epoch": 1, "update": 0.1, "loss": "5.1", '
    '"wps": "891.4", "ups": "2.1", "wpb": "422.8", "bsz": "64", "num_updates": "20"}\n'
)


def printed(*lines):
    return Ran(tuple(lines), 1.0, 0, 0.0, 0, False)


def test_a_pace_counts_only_what_comes_after_the_warm_up():
    marks = [Mark(10, 5.0, 100), Mark(20, 6.0, 300), Mark(30, 9.0, 900)]
    assert pace(marks, 10) == 200.0
    assert pace(marks, 20) == 200.0


def test_too_few_marks_are_refused():
    with pytest.raises(SystemExit) as refused:
        pace([Mark(10, 5.0, 100)], 10)
    assert str(refused.value) == (
        "1 marks are too few, but there must be two after update 10; more --updates would do"
    )


def test_marks_of_json_are_read_among_other_lines():
    ran = printed((1.0, "hello\n"), (2.0, '{"step": 10, "tokens": 77, "loss": 3.1}\n'))
    assert json_marks(ran) == [Mark(10, 2.0, 77)]


def test_figures_of_json_have_the_names_of_searches():
    line = '{"beam": 5, "words_per_second": 220.0, "symbols": 6.5}\n'
    assert json_figures(printed((1.0, line))) == {"beam 5": 220.0, "symbols, beam 5": 6.5}


def test_tokens_of_opennmt_and_eole_are_their_mean_times_ten():
    ran = printed((7.0, EOLE), (7.5, "saving\n"), (9.0, OPENNMT))
    assert opennmt.marks(ran) == [Mark(10, 7.0, 4690), Mark(20, 9.0, 4690 + 4210)]


def test_tokens_of_fairseq_are_its_mean_times_ten():
    assert fairseq.marks(printed((3.0, "{\n"), (4.0, FAIRSEQ))) == [Mark(20, 4.0, 4228.0)]


def test_of_two_thread_counts_the_faster_is_taken_and_int8_stands_beside():
    said = [
        {"numbers": "float32", "threads": 1, "beam": 1, "words_per_second": 800, "symbols": 6.0},
        {"numbers": "float32", "threads": 2, "beam": 1, "words_per_second": 300, "symbols": 6.0},
        {"numbers": "int8", "threads": 2, "beam": 5, "words_per_second": 400, "symbols": 7.0},
    ]
    figures = ct2.best(said)
    assert figures["greedy"] == 800
    assert figures["threads, greedy"] == 1
    assert figures["beam 5, int8"] == 400
    assert "beam 5" not in figures


def test_a_ratio_is_beside_the_mean_of_the_reference_around_it():
    assert beside(30.0, 10.0, 20.0, higher_is_better=True) == 2.0
    assert beside(30.0, 10.0, 20.0, higher_is_better=False) == 0.5


def test_a_spread_is_median_least_and_most():
    assert Spread.of([5.0, 1.0, 3.0]) == (3.0, 1.0, 5.0)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 1.5])
def test_the_exponent_of_a_power_is_that_power(power):
    sizes = [8, 16, 64, 512]
    assert exponent(sizes, [3.0 * size**power for size in sizes]) == pytest.approx(power)


def test_memory_grows_above_what_a_process_needs_anyway():
    points = [
        {"size": size, "seconds": size**2, "peak_bytes": 1000 + 3 * size} for size in (8, 16, 32)
    ]
    grows = summed(points, 1000)
    assert grows["seconds"] == pytest.approx(2.0)
    assert grows["memory"] == pytest.approx(1.0)
