"""The picture as SVG: numbers read back to the last digit, text escaped, nothing fetched."""

import os
import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.viz.alignment import INFLUENCE, Alignment
from regard.viz.svg_heatmap import describe, to_svg

CASES = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
SOURCE, TARGET = ("我", "爱", "苹果"), ("أحب", "<b>&\"'", "e\u0301", "■")
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), size=4).astype(np.float32)
SVG = "{http://www.w3.org/2000/svg}"


def read(text):
    return ElementTree.fromstring(text)


def weights(picture):
    """Read the weights back, by their places."""
    found = {}
    for cell in picture.iter(f"{SVG}g"):
        found[int(cell.get("data-target")), int(cell.get("data-source"))] = float(
            cell.get("data-weight")
        )
    return found


def labels(picture):
    return [node.text for node in picture.iter(f"{SVG}text")]


def test_the_numbers_are_the_weights_to_the_last_digit():
    found = weights(read(to_svg(Alignment(SOURCE, TARGET, WEIGHTS))))
    assert found == {at: float(WEIGHTS[at]) for at in np.ndindex(4, 3)}
    assert all(np.float32(value) == WEIGHTS[at] for at, value in found.items())


def test_rows_are_targets_and_columns_are_sources():
    picture = read(to_svg(Alignment(("a", "b"), ("x", "y"), np.array([[1.0, 0.0], [0.25, 0.75]]))))
    places = {}
    for cell in picture.iter(f"{SVG}g"):
        rect = cell.find(f"{SVG}rect")
        place = float(rect.get("x")), float(rect.get("y"))
        places[place] = float(cell.get("data-weight")), rect.get("fill")
    (x1, y1), (x2, y2) = min(places), max(places)
    assert x1 < x2
    assert y1 < y2
    # violet for 0, yellow for 1
    assert places[x1, y1] == (1.0, "#fde725")
    assert places[x2, y1] == (0.0, "#440154")
    assert (places[x1, y2][0], places[x2, y2][0]) == (0.25, 0.75)


def test_cells_have_percentages():
    picture = read(to_svg(Alignment(("a", "b"), ("x",), np.array([[0.004, 0.87]]))))
    cells = [cell.find(f"{SVG}text") for cell in picture.iter(f"{SVG}g")]
    assert [None if text is None else text.text for text in cells] == [None, "87"]


def test_tokens_are_labels_and_right_to_left_ones_are_isolated():
    found = labels(read(to_svg(Alignment(SOURCE, TARGET, WEIGHTS))))
    assert found[:3] == list(SOURCE)
    assert {"\u2068أحب\u2069", "<b>&\"'", "e\u0301", "■"} <= set(found)


def test_both_lines_are_above_and_the_caption_is_below():
    picture = read(to_svg(Alignment(("a",), ("x",), [[1]]), ("أحب", "i love"), INFLUENCE))
    assert labels(picture)[:2] == ["\u2068أحب\u2069", "→ i love"]
    assert " ".join(labels(picture)).endswith(INFLUENCE)
    assert picture.find(f"{SVG}title").text == "\u2068أحب\u2069 → i love"


def test_a_screen_reader_gets_the_largest_weight_of_each_row():
    alignment = Alignment(("a", "b"), ("x", "y"), np.array([[0.25, 0.75], [0.0, 0.0]]))
    assert describe(alignment, "It.") == "It. x: most b, 75%. y: nothing."
    picture = read(to_svg(alignment, caption="It."))
    assert picture.get("role") == "img"
    assert [node.tag for node in picture][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert picture.find(f"{SVG}desc").text == "It. x: most b, 75%. y: nothing."


def test_long_labels_are_rotated_and_stay_inside():
    long = "internationalization"
    # eleven columns fill more than the least width
    picture = read(to_svg(Alignment((*"abcdefghijk", long), ("x",), np.eye(1, 12))))
    (label,) = [node for node in picture.iter(f"{SVG}text") if node.text == long]
    assert label.get("transform").startswith("rotate(-45 ")
    width, top = float(picture.get("width")), float(label.get("y"))
    # at 45 degrees a letter of 8.4 units goes 5.94 to the right and up
    assert float(label.get("x")) + len(long) * 5.94 < width
    assert top - len(long) * 5.94 > 0
    level = read(to_svg(Alignment(("a", "苹果"), ("x",), np.array([[0.0, 1.0]]))))
    assert all(node.get("transform") is None for node in level.iter(f"{SVG}text"))


def test_a_long_token_is_truncated_in_its_label_and_whole_in_its_title():
    token = "a" * 30
    picture = read(to_svg(Alignment((token,), ("x",), [[1]])))
    assert "a" * 23 + "…" in labels(picture)
    assert next(picture.iter(f"{SVG}g")).find(f"{SVG}title").text == f"{token} → x: 1.000000"


def test_the_picture_scales_with_its_page():
    picture = read(to_svg(Alignment(SOURCE, TARGET, WEIGHTS)))
    assert picture.get("viewBox") == f"0 0 {picture.get('width')} {picture.get('height')}"
    assert "max-width:100%" in picture.get("style")


def test_the_same_weights_are_the_same_bytes():
    alignment = Alignment(SOURCE, TARGET, WEIGHTS)
    assert to_svg(alignment, ("a", "b")) == to_svg(alignment, ("a", "b"))


def test_pictures_load_and_run_nothing():
    text = to_svg(Alignment(("<script>x</script>", '" onload="x'), ("x",), [[0.5, 0.5]]))
    bare = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"<script|href|url\(|https?:|<image|<foreignObject", bare)
    attributes = {name for node in read(text).iter() for name in node.attrib}
    assert not {name for name in attributes if name.startswith("on")}


def test_empty_attention_is_a_picture_too():
    assert weights(read(to_svg(Alignment((), ("■",), np.zeros((1, 0)))))) == {}
    assert weights(read(to_svg(Alignment(("a",), (), np.zeros((0, 1)))))) == {}


anything = st.text(st.characters(), max_size=9)
tokens = st.lists(anything, min_size=1, max_size=4)


@CASES
@given(tokens, tokens, st.lists(anything, max_size=2), st.randoms(use_true_random=False))
def test_any_tokens_and_lines_give_well_formed_xml_with_their_numbers(
    source, target, lines, random
):
    drawn = np.array([[random.random() for _ in source] for _ in target])
    found = weights(read(to_svg(Alignment(source, target, drawn), lines).encode()))
    assert found == {at: drawn[at] for at in np.ndindex(drawn.shape)}
