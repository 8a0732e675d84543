"""Figures read from the output of regard, the baseline and the competitors."""

import pytest

from benchmarks import ct2, fairseq, opennmt
from benchmarks.programs import CompletedProgram
from benchmarks.scaling import exponent, fit_exponents
from benchmarks.throughput import (
    MedianRange,
    ProgressMark,
    read_json_figures,
    read_json_marks,
    speedup,
    tokens_per_second,
)

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


def program_with(*lines):
    return CompletedProgram(tuple(lines), 1.0, 0, 0.0, 0, False)


def test_throughput_excludes_the_warm_up():
    marks = [ProgressMark(10, 5.0, 100), ProgressMark(20, 6.0, 300), ProgressMark(30, 9.0, 900)]
    assert tokens_per_second(marks, 10) == 200.0
    assert tokens_per_second(marks, 20) == 200.0


def test_too_few_marks_are_refused():
    with pytest.raises(SystemExit) as refused:
        tokens_per_second([ProgressMark(10, 5.0, 100)], 10)
    assert str(refused.value) == (
        "1 progress marks are too few: at least two must come after update 10; use more --updates"
    )


def test_json_marks_are_read_among_other_lines():
    program = program_with((1.0, "hello\n"), (2.0, '{"step": 10, "tokens": 77, "loss": 3.1}\n'))
    assert read_json_marks(program) == [ProgressMark(10, 2.0, 77)]


def test_json_figures_have_the_names_of_searches():
    line = '{"beam": 5, "words_per_second": 220.0, "tokens": 6.5}\n'
    assert read_json_figures(program_with((1.0, line))) == {"beam 5": 220.0, "tokens, beam 5": 6.5}


def test_tokens_of_opennmt_and_eole_are_their_mean_times_ten():
    program = program_with((7.0, EOLE), (7.5, "saving\n"), (9.0, OPENNMT))
    assert opennmt.read_marks(program) == [
        ProgressMark(10, 7.0, 4690),
        ProgressMark(20, 9.0, 4690 + 4210),
    ]


def test_tokens_of_fairseq_are_its_mean_times_ten():
    assert fairseq.read_marks(program_with((3.0, "{\n"), (4.0, FAIRSEQ))) == [
        ProgressMark(20, 4.0, 4228.0)
    ]


def test_the_faster_thread_count_counts_and_int8_has_names_of_its_own():
    entries = [
        {"numbers": "float32", "threads": 1, "beam": 1, "words_per_second": 800, "tokens": 6.0},
        {"numbers": "float32", "threads": 2, "beam": 1, "words_per_second": 300, "tokens": 6.0},
        {"numbers": "int8", "threads": 2, "beam": 5, "words_per_second": 400, "tokens": 7.0},
    ]
    figures = ct2.best_figures(entries)
    assert figures["greedy"] == 800
    assert figures["threads, greedy"] == 1
    assert figures["beam 5, int8"] == 400
    assert "beam 5" not in figures


def test_a_speedup_is_relative_to_the_mean_of_the_baseline_around_it():
    assert speedup(30.0, 10.0, 20.0, higher_is_better=True) == 2.0
    assert speedup(30.0, 10.0, 20.0, higher_is_better=False) == 0.5


def test_a_median_range_is_median_minimum_and_maximum():
    assert MedianRange.of([5.0, 1.0, 3.0]) == (3.0, 1.0, 5.0)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 1.5])
def test_the_exponent_of_a_power_is_that_power(power):
    sizes = [8, 16, 64, 512]
    assert exponent(sizes, [3.0 * size**power for size in sizes]) == pytest.approx(power)


def test_the_exponent_of_memory_excludes_the_fixed_part():
    points = [
        {"size": size, "seconds": size**2, "peak_bytes": 1000 + 3 * size} for size in (8, 16, 32)
    ]
    exponents = fit_exponents(points, 1000)
    assert exponents["seconds"] == pytest.approx(2.0)
    assert exponents["memory"] == pytest.approx(1.0)
