"""The sample line: safe to print, and never wider than it may be."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.terminal_text import visible_line
from regard.training.progress_report import ValidationSample
from regard.training.validation_sample import fit_cells, sample_line

ISOLATES = "\u2068", "\u2069"


def test_a_correct_sample_is_one_line_and_a_wrong_one_has_its_reference():
    assert sample_line(ValidationSample("up", "down", "down"), 80) == "up → down"
    assert (
        sample_line(ValidationSample("man", "women", "woman"), 80) == "man → woman (right: women)"
    )
    assert sample_line(ValidationSample("man", "women", ""), 80) == "man → ∅ (right: women)"


def test_long_samples_share_the_width_and_include_their_first_difference():
    sample = ValidationSample("q" * 30, "w" * 40 + "right", "w" * 40 + "wrong")
    # 50 cells less 13 of the frame: 9 each for …www and five letters, 19 for the source
    assert sample_line(sample, 50) == f"{'q' * 18}… → …wwwwrong (right: …wwwright)"
    # Chinese takes two cells a character
    assert sample_line(ValidationSample("我" * 20, "y", "y"), 16) == f"{'我' * 5}… → y"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("two words", "two words"),
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\tb\r\n", "a␉b␍␊"),
        ("\x9b1m\x7f", "⟨009B⟩1m⟨007F⟩"),
        ("x\u202ey", "x⟨202E⟩y"),
        ("a\u2028b", "a⟨2028⟩b"),
        ("", "∅"),
        (" a  b ", "␣a  b␣"),
        ("\u0301a", "◌\u0301a"),
        ("می\u200cشود", "می\u200cشود"),
        ("\u200dx\u200d", "⟨200D⟩x⟨200D⟩"),
        ("[bold]x", "[bold]x"),
    ],
)
def test_control_and_invisible_characters_are_displayed(line, expected):
    assert visible_line(line) == expected


def test_a_text_is_cut_by_cells_and_never_between_a_letter_and_its_marks():
    assert fit_cells("12345", 5) == "12345"
    assert fit_cells("123456", 5) == "1234…"
    # 我爱 takes four of the five, and another would leave no room for the ellipsis
    assert fit_cells("我爱吃苹果", 5) == "我爱…"
    assert fit_cells("我爱吃苹果", 6) == "我爱…"
    assert fit_cells("e\u0301\u0302e\u0301e\u0301", 2) == "e\u0301\u0302…"
    assert fit_cells("e\u0301e\u0301", 2) == "e\u0301e\u0301"


def test_arabic_is_isolated():
    first, last = ISOLATES
    sample = ValidationSample("أنا أحب التفاح", "我喜欢苹果", "我喜欢苹果")
    assert sample_line(sample, 80) == f"{first}أنا أحب التفاح{last} → 我喜欢苹果"


@settings(max_examples=300, deadline=None)
@given(st.builds(ValidationSample, *[st.text(max_size=40)] * 3), st.integers(20, 60))
def test_no_sample_breaks_its_line_or_commands_the_terminal(sample, width):
    line = sample_line(sample, width)
    for mark in ISOLATES:
        line = line.replace(mark, "")
    assert cell_len(line) <= width
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", line)
