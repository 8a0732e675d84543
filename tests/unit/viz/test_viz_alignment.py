"""What an alignment takes, and what it answers."""

import json
import subprocess
import sys

import numpy as np
import pytest

from regard.errors import InputError
from regard.viz.alignment import Alignment

SOURCE, TARGET = ("我", "爱", "苹", "果"), ("i", "love", "⏎")
WEIGHTS = [[0.5, 0.25, 0.25, 0.0], [0.0, 0.125, 0.0, 0.875], [0.25, 0.25, 0.25, 0.25]]


def test_a_token_links_to_its_largest_weight_and_the_first_of_equals():
    alignment = Alignment(SOURCE, TARGET, np.array(WEIGHTS))
    assert [alignment.largest(row) for row in range(3)] == [0, 3, 0]
    assert alignment.pharaoh() == "0-0 3-1 0-2"


def test_eos_can_be_left_out_of_the_pairs():
    alignment = Alignment(SOURCE, TARGET, np.array(WEIGHTS))
    assert alignment.pharaoh(rows=2) == "0-0 3-1"


def test_a_token_without_weights_has_no_pair():
    alignment = Alignment(("a", "b"), ("x", "y"), np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert alignment.largest(0) is None
    assert alignment.pharaoh() == "1-1"
    empty = Alignment((), ("⏎",), np.zeros((1, 0)))
    assert empty.largest(0) is None
    assert empty.pharaoh() == ""


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_json_has_every_number_exactly(dtype):
    weights = np.array(WEIGHTS, dtype=dtype) / dtype(3)
    told = json.loads(json.dumps(Alignment(SOURCE, TARGET, weights).to_json()))
    assert told["source"] == list(SOURCE)
    assert told["target"] == list(TARGET)
    assert (np.array(told["weights"], dtype=dtype) == weights).all()


def test_an_attention_map_is_immutable_and_copies_its_inputs():
    weights = np.array(WEIGHTS, dtype=np.float32)
    alignment = Alignment(list(SOURCE), list(TARGET), weights)
    weights[0, 0] = 0
    assert alignment.weights[0, 0] == 0.5
    assert alignment.weights.dtype == np.float32
    assert (alignment.source, alignment.target) == (SOURCE, TARGET)
    with pytest.raises(ValueError, match="read-only"):
        alignment.weights[0, 0] = 1


def test_plain_lists_and_integers_are_accepted():
    assert Alignment(("a",), ("x",), [[1]]).to_json()["weights"] == [[1.0]]


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (
            np.zeros((4, 3)),
            "weights = an array of 4 × 3, but it must be 3 × 4: "
            "a row for each target token, a column for each source token",
        ),
        (
            np.float64(0.5),
            "weights = an array of no axis, but it must be 3 × 4: "
            "a row for each target token, a column for each source token",
        ),
        (
            np.array([[1, 0, 0, 0], [0, 1, 0, float("nan")], [0, 0, 0, 1]]),
            "weights = nan for target 2 ('love') and source 4 ('果'), "
            "but it must be a number from 0 to 1",
        ),
        (
            np.array([[float("inf"), 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
            "weights = inf for target 1 ('i') and source 1 ('我'), "
            "but it must be a number from 0 to 1",
        ),
        (
            np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -2.5, 0]]),
            "weights = -2.5 for target 3 ('⏎') and source 3 ('苹'), "
            "but it must be a number from 0 to 1",
        ),
        (
            [[1.0], [0.5, 0.5]],
            "weights = [[1.0], [0.5, 0.5]], but it must be an array of numbers",
        ),
        ([["a"]], "weights = [['a']], but it must be an array of numbers"),
    ],
)
def test_invalid_attention_is_refused(weights, sentence):
    with pytest.raises(InputError) as refused:
        Alignment(SOURCE, TARGET, weights)
    assert str(refused.value) == sentence


def test_weights_may_be_off_by_rounding():
    assert Alignment(("a",), ("x",), np.array([[1.001]])).largest(0) == 0


def test_importing_the_package_imports_no_torch():
    script = (
        "import sys, regard.viz.alignment, regard.viz.terminal_heatmap, regard.viz.html_heatmap\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
