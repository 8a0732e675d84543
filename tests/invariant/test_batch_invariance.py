"""Same line, same answer, to the last bit, whatever the batch, its order and its padding."""

import os

import pytest
from invariance_cases import BATCH_SIZES, compare_apart

MODELS = ("bahdanau2015", "vaswani2017", "copies")
BEAMS = (1, 5)


def assert_equal(counted, lines, record_property):
    """Nothing may differ, and what was compared must be all of it and worth comparing."""
    for name, value in counted.items():
        record_property(name, value)
    assert counted["different"] == 0
    assert counted["lines"] == lines
    assert counted["compared"] == lines * (len(BATCH_SIZES) - 1)
    assert counted["outputs"] > 20


@pytest.mark.parametrize("beam_size", BEAMS)
@pytest.mark.parametrize("name", MODELS)
def test_a_line_in_any_batch_is_translated_as_alone(record_property, name, beam_size):
    counted = compare_apart("generated", name, beam_size)
    assert_equal(counted, 300, record_property)
    # lines that are done leave at different times
    assert counted["lengths"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", BEAMS)
@pytest.mark.parametrize("name", MODELS)
def test_five_thousand_real_lines_are_what_they_are_alone(record_property, name, beam_size):
    folder = os.environ.get("REGARD_DATA")
    if not folder:
        pytest.skip("REGARD_DATA names no folder that holds tatoeba/eng-fra/train.tsv.gz")
    assert_equal(compare_apart(folder, name, beam_size), 5000, record_property)
