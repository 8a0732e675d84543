"""Words in a plane: in their order, evenly, whatever lies far out."""

import re

import numpy as np

from regard.viz.word_map import to_word_map


def test_points_keep_their_order_and_an_outlier_does_not_merge_the_others():
    places = np.array([[0.0, 3.0], [1.0, 2.0], [1000.0, 2.5]])
    drawn = to_word_map(["a", "b", "<c>"], places, "three")
    found = [tuple(map(float, xy)) for xy in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    x, y = zip(*found, strict=True)
    # the second axis points up
    assert (x, y) == ((60.0, 450.0, 840.0), (60.0, 840.0, 450.0))
    assert ">&lt;c&gt;</text>" in drawn
    assert "<title>three</title>" in drawn


def test_one_word_is_drawn_too():
    assert 'cx="60.0"' in to_word_map(["a"], np.zeros((1, 2)), "one")
