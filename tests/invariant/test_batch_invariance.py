"""A line has bitwise the same output in any batch, order and padding."""

import os

import pytest
from invariance_cases import BATCH_SIZES, compare_in_new_process

MODELS = ("bahdanau2015", "vaswani2017", "copies")
BEAMS = (1, 5)


def assert_equal(counts, lines, record_property):
    """Assert that all lines were compared, their outputs are varied, and nothing differs."""
    for name, value in counts.items():
        record_property(name, value)
    assert counts["different"] == 0
    assert counts["lines"] == lines
    assert counts["compared"] == lines * (len(BATCH_SIZES) - 1)
    assert counts["outputs"] > 20


@pytest.mark.parametrize("beam_size", BEAMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_line_in_any_batch_is_translated_as_alone(record_property, name, beam_size):
    counts = compare_in_new_process("generated", name, beam_size)
    assert_equal(counts, 300, record_property)
    # lines finish at different times
    assert counts["lengths"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", BEAMS)
@pytest.mark.parametrize("name", MODELS)
def test_five_thousand_real_lines_are_what_they_are_alone(record_property, name, beam_size):
    folder = os.environ.get("REGARD_DATA")
    if not folder:
        pytest.skip("REGARD_DATA names no folder that holds tatoeba/eng-fra/train.tsv.gz")
    assert_equal(compare_in_new_process(folder, name, beam_size), 5000, record_property)
