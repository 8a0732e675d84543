"""The bootstrap against a slow one that scores every sample anew, and against all draws."""

import json
import random
import statistics
import time
from itertools import product

import numpy as np
import pytest
import sacrebleu

import regard
from regard.errors import ConfigError, InputError
from regard.metrics.corpus_scores import METRICS
from regard.metrics.paired_bootstrap import paired_bootstrap

LINES = 11


def words(draw, count):
    return [" ".join(draw.choices("abcdef", k=draw.randint(2, 7))) for _ in range(count)]


def given(seed, count=LINES):
    """Two systems that copy some of the references, the second more of them."""
    draw = random.Random(seed)
    references = [words(draw, 2) for _ in range(count)]
    a, b = (
        [texts[0] if draw.random() < share else words(draw, 1)[0] for texts in references]
        for share in (0.3, 0.6)
    )
    return a, b, references


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        old, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (x != y)))
    return row[-1]


def edit_rate(outputs, references, split):
    best = [
        min((edit_distance(split(output), split(x)), -len(split(x))) for x in texts)
        for output, texts in zip(outputs, references, strict=True)
    ]
    return 100 * sum(edits for edits, _ in best) / -sum(length for _, length in best)


def slow_score(name, outputs, references):
    streams = [list(stream) for stream in zip(*references, strict=True)]
    if name in ("bleu", "chrf", "ter"):
        return getattr(sacrebleu, f"corpus_{name}")(outputs, streams).score
    if name == "levenshtein":
        return statistics.mean(
            min(edit_distance(o, x) for x in r) for o, r in zip(outputs, references, strict=True)
        )
    if name in ("accuracy", "exact"):
        return 100 * statistics.mean(o in r for o, r in zip(outputs, references, strict=True))
    return edit_rate(outputs, references, list if name == "cer" else str.split)


def slow_differences(name, a, b, references, samples, seed):
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        drawn = rng.integers(len(references), size=len(references))
        some = [references[i] for i in drawn]
        score_a = slow_score(name, [a[i] for i in drawn], some)
        yield slow_score(name, [b[i] for i in drawn], some) - score_a


@pytest.mark.parametrize("name", METRICS)
def test_the_paired_bootstrap_equals_the_slow_computation(name):
    a, b, references = given(3)
    found = paired_bootstrap(a, b, references, name, samples=101, seed=5)
    drawn = list(slow_differences(name, a, b, references, 101, 5))
    observed = slow_score(name, b, references) - slow_score(name, a, references)
    as_far = sum(abs(x - observed) > abs(observed) - 1e-6 for x in drawn)

    assert found.value_a == METRICS[name](a, references).value
    assert found.value_b == METRICS[name](b, references).value
    assert found.value_b - found.value_a == pytest.approx(observed, abs=1e-9)
    assert found.mean_difference == pytest.approx(statistics.mean(drawn), abs=1e-9)
    # with 101 samples a percentile lies 2.5 % of the way between the extremes' neighbours
    low, high = sorted(drawn)[2:4], sorted(drawn)[97:99]
    assert found.interval == pytest.approx((sum(low) / 2, sum(high) / 2), abs=1e-9)
    assert found.p_value == (1 + as_far) / 102
    assert 1 / 102 < found.p_value < 1


def test_p_is_near_that_of_all_possible_samples():
    # five lines, 5⁵ samples: the second system wins lines 1 and 2, loses line 3, ties 4 and 5
    gains = [1, 1, -1, 0, 0]
    references = [["x"]] * 5
    a = ["x" if gain < 0 else "y" for gain in gains]
    b = ["x" if gain > 0 else "y" for gain in gains]
    sums = [sum(sample) for sample in product(gains, repeat=5)]
    exact = sum(abs(x - 1) >= 1 for x in sums) / len(sums)
    found = paired_bootstrap(a, b, references, "exact", samples=20_000, seed=7)
    assert (found.value_a, found.value_b) == (20.0, 40.0)
    # four standard errors of a share in 20,000 samples
    assert found.p_value == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5)
    assert found.mean_difference == pytest.approx(20, abs=1)


def test_samples_as_far_as_the_difference_count_whatever_the_rounding():
    # seven lines, one won: as far is each sample in which the line is drawn never, or twice or more
    a, b, references = ["y"] * 7, ["x"] + ["y"] * 6, [["x"]] * 7
    found = paired_bootstrap(a, b, references, "exact", samples=500, seed=2)
    rng = np.random.default_rng(2)
    draws = [list(rng.integers(7, size=7)).count(0) for _ in range(500)]
    assert found.p_value == (1 + sum(count != 1 for count in draws)) / 501


def test_two_equal_systems_do_not_differ():
    a, _, references = given(4)
    for name in METRICS:
        found = paired_bootstrap(a, list(a), references, name, samples=20)
        assert (found.mean_difference, found.interval, found.p_value) == (0, (0, 0), 1)


def test_a_system_that_is_always_better_has_the_smallest_possible_p():
    references = [[f"{n} is here"] for n in range(40)]
    perfect = [texts[0] for texts in references]
    found = paired_bootstrap(["wrong"] * 40, perfect, references, "exact")
    assert found.p_value == 1 / 1001
    assert found.interval == (100, 100)


def test_the_other_order_changes_the_sign_alone():
    a, b, references = given(6)
    there, back = (paired_bootstrap(*pair, references, "bleu") for pair in ((a, b), (b, a)))
    assert back.mean_difference == -there.mean_difference
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]), abs=1e-9)
    assert back.p_value == there.p_value
    assert (back.value_a, back.value_b) == (there.value_b, there.value_a)


def test_a_seed_reproduces_its_samples():
    a, b, references = given(8)
    first = paired_bootstrap(a, b, references, "chrf", samples=50, seed=1)
    assert paired_bootstrap(a, b, references, "chrf", samples=50, seed=1) == first
    other = paired_bootstrap(a, b, references, "chrf", samples=50, seed=2)
    assert other.mean_difference != first.mean_difference


def test_the_signature_names_samples_seed_and_generator():
    a, b, references = given(9)
    found = paired_bootstrap(a, b, references, "cer", samples=13, seed=17)
    assert (found.name, found.samples, found.seed, found.higher_is_better) == ("cer", 13, 17, False)
    assert paired_bootstrap(a, b, references, "chrf", samples=1).higher_is_better
    expected = f"version:regard-{regard.__version__}|bs:13|seed:17|rng:numpy-{np.__version__}"
    assert found.signature.startswith("cer|nrefs:2|refs:best|unit:character|")
    assert found.signature.endswith(expected)
    told = json.loads(json.dumps(found.to_json()))
    assert told["interval"] == list(found.interval)
    assert told["p_value"] == found.p_value
    assert told["signature"] == found.signature


@pytest.mark.parametrize("name", ["bleu", "chrf", "cer"])
def test_two_thousand_lines_take_seconds(name):
    a, b, references = given(10, count=2000)
    start = time.monotonic()
    found = paired_bootstrap(a, b, references, name)
    assert time.monotonic() - start < 20
    assert found.p_value == 1 / 1001


def test_invalid_bootstrap_arguments_are_refused():
    a, b, references = given(11)
    with pytest.raises(InputError) as refused:
        paired_bootstrap(a, b[1:], references, "bleu")
    assert str(refused.value) == (
        "the number of lines of outputs_b is 10; it must be 11, the number of lists of references."
    )
    with pytest.raises(
        InputError, match=r"^the number of lines of outputs_a is 0; it must be at least 1.$"
    ):
        paired_bootstrap([], [], [], "bleu")
    with pytest.raises(ConfigError) as wrong:
        paired_bootstrap(a, b, references, "bleu", samples=0, seed=-1)
    assert str(wrong.value) == (
        "metrics: samples is 0; it must be a whole number, at least 1.\n"
        "metrics: seed is -1; it must be a whole number, at least 0."
    )
    with pytest.raises(
        ConfigError, match=r"^metrics: name is blue; .* or bleu:intl\. Did you mean bleu\?$"
    ):
        paired_bootstrap(a, b, references, "blue")
