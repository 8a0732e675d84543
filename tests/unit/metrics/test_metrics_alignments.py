"""Links from weights, and how far they are from those that people made."""

import numpy as np
import pytest

from regard.metrics.alignment_error_rate import (
    GoldAlignment,
    alignment_error_rate,
    hard_alignment,
    word_ids,
)


@pytest.mark.parametrize(
    ("tokens", "words", "owners"),
    [
        (["the", "cat"], ["the", "cat"], [0, 1]),
        (list("ab c"), ["ab", "c"], [0, 0, -1, 1]),
        (["▁un", "do", "▁it"], ["undo", "it"], [0, 0, 1]),
        (["ab", "c"], ["a", "bc"], [0, 1]),
        ([], [], []),
        (["abd"], ["abc"], None),
        (["ab"], ["abc"], None),
        (["abc", "d"], ["abc"], None),
    ],
)
def test_a_token_belongs_to_the_word_in_which_it_begins(tokens, words, owners):
    assert word_ids(tokens, words) == owners


def test_a_word_is_linked_to_its_largest_weight():
    # target words of two tokens and one; source words of one, two and one, and a space
    weights = np.array(
        [[0.4, 0.3, 0.0, 0.3, 0.0], [0.4, 0.0, 0.0, 0.3, 0.3], [0.1, 0.2, 0.5, 0.1, 0.1]]
    )
    assert hard_alignment(weights, [0, 1, -1, 1, 2], [0, 0, 1]) == {(1, 0), (1, 1)}
    # as by hand: word 0 looks 0.4 at 0, (0.6 + 0.3) / 2 at 1; of equals the first is taken
    assert hard_alignment(np.array([[0.5, 0.5]]), [0, 1], [0]) == {(0, 0)}


def test_the_rate_is_that_of_its_equation():
    gold = GoldAlignment(("a", "b"), ("x", "y"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    assert alignment_error_rate([{(0, 0), (1, 1)}], [gold]).value == pytest.approx(0)
    # A = 2, S = 1, one of both right: 1 − (1 + 1) / 3
    assert alignment_error_rate([{(0, 0), (0, 1)}], [gold]).value == pytest.approx(100 / 3)
    assert alignment_error_rate([{(1, 0)}], [gold]).value == pytest.approx(100)
    both = alignment_error_rate([{(0, 0), (1, 1)}, {(1, 0)}], [gold, gold])
    # right 1 + 2 and 0, of 2 + 1 and 1 + 1
    assert both.value == pytest.approx(100 * (1 - 3 / 5))
    assert both.signature.startswith("aer|")
    assert not both.higher_is_better
