"""The table in a notebook: its numbers read back, its text escaped, nothing fetched or run."""

import os
import re
from html.parser import HTMLParser

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.viz.alignment import Alignment
from regard.viz.html_heatmap import to_html

CASES = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
SOURCE, TARGET = ("我", "爱", "苹果"), ("أحب", "<b>&\"'", "e\u0301", "⏎")
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), size=4)


class Table(HTMLParser):
    """Rows of (tag, attributes, text), and every tag that there is."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open, self.tags = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert self.open[-1] in ("td", "th")
        self.rows[-1][-1][2] += data


def numbers(table):
    """Read the weights from the titles."""
    return [
        [float(attributes["title"].rsplit(": ", 1)[1]) for _, attributes, _ in row[1:]]
        for row in table.rows[1:]
    ]


def test_the_numbers_are_the_weights():
    table = Table(to_html(Alignment(SOURCE, TARGET, WEIGHTS)))
    # six digits after the point
    assert np.abs(np.array(numbers(table)) - WEIGHTS).max() <= 0.5000001e-6
    shown = [[text for _, _, text in row[1:]] for row in table.rows[1:]]
    assert [[int(text or 0) for text in row] for row in shown] == np.rint(100 * WEIGHTS).tolist()


def test_the_weights_can_be_read_back_to_the_last_digit():
    table = Table(to_html(Alignment(SOURCE, TARGET, WEIGHTS)))
    found = [[float(cell[1]["data-weight"]) for cell in row[1:]] for row in table.rows[1:]]
    assert found == WEIGHTS.tolist()


def test_each_cell_names_its_two_tokens():
    table = Table(to_html(Alignment(SOURCE, TARGET, WEIGHTS)))
    header, *rows = table.rows
    assert [text for _, _, text in header] == ["", *SOURCE]
    assert [row[0][2] for row in rows] == list(TARGET)
    assert rows[1][2][1]["title"].startswith("爱 → <b>&\"': ")
    assert rows[0][1][1]["title"].startswith("我 → \u2068أحب\u2069: ")


def test_labels_have_their_own_direction_and_the_table_keeps_its_order():
    table = Table(to_html(Alignment(SOURCE, TARGET, WEIGHTS)))
    labels = [attributes for tag, attributes in table.tags if tag == "th"]
    assert len(labels) == 7
    assert {attributes["dir"] for attributes in labels} == {"auto"}
    assert [attributes["scope"] for attributes in labels] == ["col"] * 3 + ["row"] * 4
    tag, attributes = table.tags[0]
    assert (tag, attributes["style"], attributes["dir"]) == ("div", "overflow-x:auto", "ltr")
    # a part that scrolls can be reached without a mouse
    assert attributes["tabindex"] == "0"


def test_labels_take_the_pages_colors_and_cells_bring_both_of_theirs():
    table = Table(to_html(Alignment(("a", "b"), ("x",), np.array([[0.0, 1.0]]))))
    header, (label, dark, light) = table.rows
    for _, attributes, _ in [*header, label]:
        assert "background:transparent;color:inherit" in attributes["style"]
    assert dark[1]["style"].startswith("background:#440154;color:#ffffff;")
    assert light[1]["style"].startswith("background:#fde725;color:#000000;")


def test_tokens_are_escaped():
    hostile = (
        "<script>alert(1)</script>",
        '"onmouseover="x',
        "&amp;",
        "</td></table>",
        "\x1b\x00",
    )
    text = to_html(Alignment(hostile, hostile, np.eye(5)))
    table = Table(text)
    assert [label for _, _, label in table.rows[0][1:]] == [*hostile[:4], "␛␀"]
    assert {tag for tag, _ in table.tags} == {"div", "table", "thead", "tbody", "tr", "td", "th"}
    allowed = {"style", "dir", "scope", "title", "data-weight"}
    assert all(set(attributes) <= allowed for _, attributes in table.tags[1:])


def test_pictures_load_and_run_nothing():
    text = to_html(Alignment(SOURCE, TARGET, WEIGHTS))
    assert not re.search(r"<script|<link|<style|src=|href=|url\(|https?:|\bon\w+=", text)


def test_an_empty_source_or_target_is_a_table_too():
    assert len(Table(to_html(Alignment((), ("⏎",), np.zeros((1, 0))))).rows) == 2
    assert len(Table(to_html(Alignment(("a",), (), np.zeros((0, 1))))).rows) == 1


tokens = st.lists(st.text(st.characters(), max_size=9), min_size=1, max_size=4)


@CASES
@given(tokens, tokens, st.randoms(use_true_random=False))
def test_any_tokens_give_a_complete_table_with_their_numbers(source, target, random):
    weights = np.array([[random.random() for _ in source] for _ in target])
    text = to_html(Alignment(source, target, weights))
    text.encode()
    table = Table(text)
    assert np.abs(np.array(numbers(table)) - weights).max() <= 0.5000001e-6
