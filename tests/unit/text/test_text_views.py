"""One-hot rows and embedding rows of a line, and that one gives the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES

from regard.errors import InputError
from regard.text.one_hot import embed, one_hot
from regard.text.vocabulary import SPECIAL_TOKENS, Vocabulary

ABC = Vocabulary((*SPECIAL_TOKENS, "a", "b", "c"))


def test_one_hot_rows_have_a_one_at_the_tokens_id():
    assert one_hot(["b", "?", "a"], ABC).tolist() == [
        [0, 0, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0],
    ]


def test_embedded_rows_are_rows_of_the_matrix():
    matrix = [[10 * i, 10 * i + 1] for i in range(7)]
    assert embed(["b", "?", "a"], ABC, matrix).tolist() == [[50, 51], [10, 11], [40, 41]]


def test_an_empty_line_has_no_rows():
    assert one_hot([], ABC).shape == (0, 7)
    assert embed([], ABC, np.zeros((7, 3))).shape == (0, 3)


@CASES
@given(st.lists(st.sampled_from("abc?"), max_size=11), st.integers(0, 2**32 - 1))
def test_one_hot_times_the_matrix_is_embedded(tokens, seed):
    matrix = np.random.default_rng(seed).standard_normal((7, 3))
    np.testing.assert_array_equal(one_hot(tokens, ABC) @ matrix, embed(tokens, ABC, matrix))


@pytest.mark.parametrize(
    ("matrix", "shape"), [(np.zeros((6, 3)), "[6, 3]"), (np.zeros(7), "[7]"), (0.0, "[]")]
)
def test_a_matrix_for_another_vocabulary_is_refused(matrix, shape):
    with pytest.raises(InputError) as caught:
        embed(["a"], ABC, matrix)
    assert str(caught.value) == (
        f"the shape of the matrix is {shape}; it must be [7, E], one row for each of the 7 tokens."
    )
