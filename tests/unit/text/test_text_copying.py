"""Unknown symbols are copied from where attention looked, or marked."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES

from regard.errors import ConfigError, InputError
from regard.text.unknown_replacement import replace_unknown

SOURCE = ["Herr", "Nowak", "lacht"]
WEIGHTS = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]]


@pytest.mark.parametrize("array", [list, np.array, torch.tensor])
def test_copy_takes_the_source_token_with_the_largest_weight(array):
    said = replace_unknown(["Mr", "<unk>", "laughs"], SOURCE, array(WEIGHTS), "copy")
    assert said == ["Mr", "Nowak", "laughs"]


def test_the_first_of_equal_weights_is_copied():
    assert replace_unknown(["<unk>"], SOURCE, [[0.2, 0.4, 0.4]], "copy") == ["Nowak"]
    assert replace_unknown(["<unk>"], SOURCE, [[0.0, 0.0, 0.0]], "copy") == ["Herr"]


def test_mark_replaces_an_unknown_token_by_a_sign():
    assert replace_unknown(["Mr", "<unk>"], SOURCE, WEIGHTS[:2], "mark") == ["Mr", "�"]


def test_nothing_is_copied_without_weights_or_a_source():
    assert replace_unknown(["<unk>", "x"], SOURCE, None, "copy") == ["�", "x"]
    assert replace_unknown(["<unk>", "x"], [], np.zeros((2, 0)), "copy") == ["�", "x"]


def test_weights_may_have_a_row_for_eos():
    assert replace_unknown(["a", "<unk>"], SOURCE, np.array(WEIGHTS), "copy") == ["a", "Nowak"]
    assert replace_unknown([], SOURCE, WEIGHTS[:1], "copy") == []
    assert replace_unknown([], SOURCE, [], "copy") == []


def test_a_token_spelled_like_the_unknown_token_differs_from_it():
    said = replace_unknown(["<unk>", "<unk>"], SOURCE, WEIGHTS[:2], "copy", unknown=[True, False])
    assert said == ["Herr", "<unk>"]
    assert replace_unknown(["<unk>", "?"], SOURCE, None, "mark", [False, True]) == ["<unk>", "�"]


def test_the_input_tokens_are_not_modified():
    tokens = ["<unk>"]
    replace_unknown(tokens, SOURCE, WEIGHTS[:1], "copy")
    assert tokens == ["<unk>"]


@CASES
@given(st.lists(st.sampled_from(["a", "b", "<unk>"]), max_size=7), st.integers(0, 2**32 - 1))
def test_only_unknown_tokens_change(tokens, seed):
    # a few whole numbers: many are equal
    weights = np.random.default_rng(seed).integers(0, 3, (len(tokens), 3))
    expected = [
        SOURCE[int(weights[t].argmax())] if token == "<unk>" else token
        for t, token in enumerate(tokens)
    ]
    assert replace_unknown(tokens, SOURCE, weights, "copy") == expected


@pytest.mark.parametrize(
    ("weights", "shape"),
    [
        (WEIGHTS, "[3, 3]"),
        ([], "[0]"),
        ([[0.5, 0.5]], "[1, 2]"),
        ([[0.5, 0.5, 0.0], [1.0]], "[2, 1, 3]"),
    ],
)
def test_weights_of_another_line_are_refused(weights, shape):
    with pytest.raises(InputError) as caught:
        replace_unknown(["<unk>"], SOURCE, weights, "copy")
    assert str(caught.value) == (
        f"the shape of the weights is {shape}; it must be [1, 3], one row for each token and "
        f"one column for each source token."
    )


def test_another_mode_is_refused():
    with pytest.raises(ConfigError) as caught:
        replace_unknown(["<unk>"], SOURCE, None, "guess")
    assert str(caught.value) == "search: unknown is 'guess'; it must be copy or mark."


def test_a_banned_token_is_marked_and_not_copied():
    said = replace_unknown(["<unk>", "<unk>", "Nowak"], SOURCE, WEIGHTS, "copy", banned={"Nowak"})
    # what is no copy is somebody else's business
    assert said == ["Herr", "�", "Nowak"]
