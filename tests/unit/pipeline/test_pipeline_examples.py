"""Examples in the model file: a few validation pairs for the page."""

from pipeline_cases import quick

from regard.pipeline.validation import example_pairs


def test_examples_go_from_short_to_long_and_leave_out_long_lines():
    dev = [("é" * length, ("x", "y")) for length in (9, 3, 101, 5, 1, 7)]
    lengths = [len(one["source"]) for one in example_pairs(dev, 3)]
    assert lengths == [1, 5, 9]
    assert example_pairs([*dev, ("", ("z" * 101,))], 3) == example_pairs(dev, 3)
    assert example_pairs(dev, 9)[0] == {"source": "é", "target": "x"}
    assert example_pairs(dev, 0) == []
    assert quick(data={"max_examples": 0}).summary["examples"] == []
