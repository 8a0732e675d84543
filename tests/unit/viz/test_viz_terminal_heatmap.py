"""The terminal's heatmap, measured: columns under their labels, colors that end, no broken cell."""

import os
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.viz.alignment import Alignment
from regard.viz.terminal_heatmap import render

CASES = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
PAINT = r"\x1b\[48;2;(\d+);(\d+);(\d+);38;2;(\d+);(\d+);(\d+)m([^\x1b]*)\x1b\[0m"
TEXTS = {
    "Chinese": ["我", "爱吃", "苹果", "。"],
    "combining": ["cafe\u0301", "n\u0303", "o\u0302\u0301", "x"],
    "marks alone": ["e", "\u0301", "न", "\u0947"],
    "Arabic": ["أنا", "أُحِبّ", "التفاح", "كَثيرًا"],
    "Hebrew and Latin": ["אני", "love", "תפוחים", "123"],
    "English": ["i", "love", "apples", "international"],
    "mixed": ["我", "e\u0301", "حب", "apples"],
}


def cells(text):
    """Count terminal cells from Unicode's own tables."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    unseen = sum(unicodedata.category(character) in ("Mn", "Me", "Cf") for character in text)
    return len(text) + wide - unseen


def plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def diagonal(source, target=None):
    target = source if target is None else target
    return Alignment(tuple(source), tuple(target), np.eye(len(target), len(source)))


def test_a_heatmap_can_be_drawn_in_shades():
    weights = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.75, 0.25, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.5, 0.5],
        [0.1, 0.1, 0.2, 0.1, 0.5],
    ]
    alignment = Alignment(tuple("我爱吃苹果"), ("i", "love", "apples", "⏎"), np.array(weights))
    assert render(alignment, color=False, width=80).splitlines() == [
        "       我  爱  吃  苹  果",
        "     i ███",
        "  love     ▓▓▓ ░░░",
        "apples             ▒▒▒ ▒▒▒",
        "     ⏎         ░░░     ▒▒▒",
        "",
        "░ 25 ▒ 50 ▓ 75 █ 100 %",
    ]


def test_a_shade_is_the_nearest_of_five():
    weights = [[0.0, 0.12, 0.13, 0.37, 0.38, 0.62, 0.63, 0.87, 0.88, 1.0]]
    alignment = Alignment(tuple("abcdefghij"), ("x",), np.array(weights))
    row = render(alignment, color=False, width=80).splitlines()[1]
    assert row == "x         ░░░ ░░░ ▒▒▒ ▒▒▒ ▓▓▓ ▓▓▓ ███ ███"


@pytest.mark.parametrize("width", [80, 36])
@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_columns_are_below_their_labels(texts, width):
    header, *rows = render(diagonal(texts), color=False, width=width).splitlines()
    labels = [label for label in re.split(" +", header) if label]
    assert len(labels) == len(texts)
    for label, row in zip(labels, rows, strict=False):
        assert cells(header[: header.index(label)]) == cells(row[: row.index("█")])
        # as wide as the label or, for short ones, three cells
        assert row.count("█") == max(cells(label), 3)


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_cells_of_all_rows_are_aligned_in_color_too(texts):
    text = render(diagonal(texts), color=True, width=80)
    header, *rows = text.splitlines()
    starts = {cells(row[: row.index("\x1b")]) for row in rows[: len(texts)]}
    assert starts == {cells(header) - cells(header.lstrip(" "))}
    assert len({cells(plain(row)) for row in rows[: len(texts)]}) == 1


def test_colors_and_numbers_are_the_weights():
    weights = np.array([[0.0, 1.0, 0.5], [0.004, 0.126, 0.87]])
    alignment = Alignment(("a", "b", "c"), ("x", "y"), weights)
    _, *rows = render(alignment, color=True, width=80).splitlines()
    first, second = (re.findall(PAINT, row) for row in rows[:2])
    backgrounds = [tuple(map(int, cell[:3])) for cell in first]
    assert backgrounds == [(68, 1, 84), (253, 231, 37), (33, 145, 140)]
    assert [tuple(map(int, cell[3:6])) for cell in first] == [(255, 255, 255), (0, 0, 0), (0, 0, 0)]
    assert [cell[6] for cell in first] == ["    ", "100 ", " 50 "]
    assert [cell[6] for cell in second] == ["    ", " 13 ", " 87 "]


def test_a_terminal_of_256_colors_gets_the_nearest():
    alignment = Alignment(("a", "b", "c"), ("x",), np.array([[0.0, 1.0, 0.5]]))
    row = render(alignment, color=8, width=80).splitlines()[1]
    # violet #440154 is nearest to (95, 0, 95), yellow to (255, 215, 0), green to (0, 135, 135)
    violet, yellow, green = 16 + 36 + 1, 16 + 36 * 5 + 6 * 4, 16 + 6 * 2 + 2
    assert row == (
        f"x \x1b[48;5;{violet};38;5;231m    \x1b[0m"
        f"\x1b[48;5;{yellow};38;5;16m100 \x1b[0m\x1b[48;5;{green};38;5;16m 50 \x1b[0m"
    )
    assert plain(render(alignment, color=8, width=80)) == plain(
        render(alignment, color=24, width=80)
    )


def test_many_columns_are_narrow_and_have_no_numbers():
    text = render(diagonal("a" * 30), color=True, width=80)
    row = text.splitlines()[1]
    assert [cell[6] for cell in re.findall(PAINT, row)] == ["  "] * 30


def test_columns_that_do_not_fit_are_counted():
    # 30 cells: a label, a space and 14 columns of two
    lines = render(diagonal("a" * 20, "b"), color=False, width=30).splitlines()
    assert lines == ["  " + " ".join("a" * 14), "b █", "… 6 more columns", "", lines[-1]]
    lines = render(diagonal("a" * 15, "b"), color=False, width=30).splitlines()
    assert lines[2] == "… 1 more column"
    assert len(re.findall(PAINT, render(diagonal("a" * 20, "b"), color=True, width=30))) == 14 + 5


def test_truncated_labels_are_written_out_below():
    source = ("the", "internationalization", "of", "extraordinarily", "苹果苹果苹果")
    lines = render(diagonal(source, ("unbelievably",)), color=False, width=42).splitlines()
    assert lines[:4] == [
        "             the inter… of  extra… 苹果…",
        "unbelievably ███",
        "columns: 2 internationalization",
        "  4 extraordinarily 5 苹果苹果苹果",
    ]
    lines = render(diagonal(("a",), ("unbelievably",)), color=False, width=24).splitlines()
    assert lines == ["         a", "unbelie… ███", "rows: 1 unbelievably", "", lines[-1]]


def test_labels_are_isolated_if_one_runs_from_right_to_left():
    header, *rows = render(diagonal(["i", "حب"]), color=False, width=80).splitlines()
    assert header == "   \u2068i\u2069   \u2068حب\u2069"
    assert rows[:2] == [" \u2068i\u2069 ███", "\u2068حب\u2069     ███"]
    assert "\u2068" not in render(diagonal(["i", "爱"]), color=False, width=80)


def test_the_default_width_is_the_terminals(monkeypatch):
    alignment = diagonal("a" * 50, "b")
    monkeypatch.setenv("COLUMNS", "42")
    assert render(alignment, color=False) == render(alignment, color=False, width=42)
    assert "… 30 more columns" in render(alignment, color=False)


def test_a_terminal_is_never_narrower_than_the_key():
    alignment = diagonal("a" * 50, "b")
    assert render(alignment, color=True, width=3) == render(alignment, color=True, width=24)


@pytest.mark.parametrize("color", [True, False])
def test_empty_attention_is_not_an_error(color):
    assert render(Alignment((), ("⏎",), np.zeros((1, 0))), color=color, width=80) == "\n⏎"
    assert render(Alignment(("a",), (), np.zeros((0, 1))), color=color, width=80) == " a"


def test_no_token_can_write_colors_or_lines_of_its_own():
    text = render(diagonal(["\x1b[31mred", "\n\n", "\r", "\u2069\u202e"]), color=True, width=80)
    assert len(text.splitlines()) == 1 + 4 + 2
    assert re.sub(PAINT, "", text).replace("\n", "").isprintable()


tokens = st.lists(st.text(max_size=12) | st.sampled_from(["苹果", "حب", "é", "a"]), max_size=9)


@CASES
@given(tokens, tokens, st.integers(0, 90), st.booleans(), st.randoms(use_true_random=False))
def test_any_tokens_give_complete_cells_within_the_width(source, target, width, color, random):
    weights = np.array([[random.random() for _ in source] for _ in target])
    alignment = Alignment(source, target, weights.reshape(len(target), len(source)))
    text = render(alignment, color=color, width=width)
    lines = text.split("\n")
    assert max(cell_len(plain(line)) for line in lines) <= max(24, width)
    # what is no whole cell would be left over
    left = re.sub(PAINT, "", text)
    assert "\x1b" not in left
    drawn = {len(re.findall(PAINT, line)) for line in lines[1 : 1 + len(target)]}
    assert len(drawn) <= 1
    if color and target:
        told = re.search(r"^… (\d+) more columns?$", text, flags=re.MULTILINE)
        assert drawn.pop() + int(told[1] if told else 0) == len(source)
