"""Text for a terminal: nothing unseen, nothing that a terminal obeys, and cut to its cells."""

import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.terminal_text import (
    arrow_heading,
    escape_invisible,
    fit,
    is_right_to_left,
    isolate,
    token_label,
    visible_token,
)

CASES = settings(max_examples=int(os.environ.get("REGARD_CASES", "500")), deadline=None)
# any code point, lone surrogates too; and often what is hard
anything = st.text(st.characters() | st.characters(categories=["Mn", "Cf", "Cc", "Cs", "Zs"]))


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("apple", "apple"),
        ("苹果", "苹果"),
        ("", "∅"),
        (" ", "␣"),
        ("New York", "New␣York"),
        ("\t", "␉"),
        ("\n", "␊"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f", "⟨007F⟩"),
        ("\x9b1m", "⟨009B⟩1m"),
        ("\u00a0", "⟨00A0⟩"),
        ("\u2028", "⟨2028⟩"),
        ("a\u202eb", "a⟨202E⟩b"),
        ("a\u2069b", "a⟨2069⟩b"),
        ("\ud800", "⟨D800⟩"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "◌\u0301"),
        ("\u0947", "◌\u0947"),
        ("می\u200cشوم", "می\u200cشوم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("a\u200d", "a⟨200D⟩"),
        ("\uffff", "⟨FFFF⟩"),
    ],
)
def test_invisible_characters_are_displayed(token, label):
    assert visible_token(token) == label


@CASES
@given(anything)
def test_a_label_has_a_width_and_can_be_printed(token):
    label = visible_token(token)
    assert cell_len(label) > 0
    assert cell_len(label[0]) > 0
    label.encode()
    unseen = {
        unicodedata.category(character) for character in label if character not in "\u200c\u200d"
    }
    assert not unseen & {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("label", "width", "cut"),
    [
        ("apples", 6, "apples"),
        ("apples", 5, "appl…"),
        ("apples", 1, "…"),
        ("苹果树", 6, "苹果树"),
        ("苹果树", 5, "苹果…"),
        # a Chinese character is not halved
        ("苹果树", 4, "苹…"),
        # the accent stays with its letter
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("كَثيرًا", 3, "كَث…"),
    ],
)
def test_a_label_is_cut_to_its_cells(label, width, cut):
    assert fit(label, width) == cut


@CASES
@given(anything, st.integers(1, 30))
def test_a_cut_label_fits_and_keeps_marks_with_their_letters(token, width):
    label = visible_token(token)
    cut = fit(label, width)
    assert cell_len(cut) <= width
    if cut != label:
        kept = cut.removesuffix("…")
        assert label.startswith(kept)
        rest = label[len(kept) :].removeprefix("\u200d")
        assert not unicodedata.combining(rest[0])


def test_a_long_label_is_cut_at_once():
    assert fit("a" * 1_000_000, 5) == "aaaa…"
    assert cell_len(fit("a" + "\u0301" * 1_000_000 + "bc", 2)) == 2


def test_only_right_to_left_text_needs_an_isolate():
    assert is_right_to_left("أحب")
    assert is_right_to_left("a שלום")
    assert not is_right_to_left("été 苹果 123 ⏎")
    assert isolate("أحب") == "\u2068أحب\u2069"


def test_lines_keep_their_spaces_and_isolate_their_direction():
    assert escape_invisible("New  York \x1b\t") == "New  York ␛␉"
    assert escape_invisible("") == ""
    assert arrow_heading("i love", "أحب") == "i love → \u2068أحب\u2069"
    assert token_label("أحب") == "\u2068أحب\u2069"
    assert token_label(" ") == "␣"
