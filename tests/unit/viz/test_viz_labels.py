"""Labels and colors: nothing unseen, nothing that a terminal obeys, and letters that stand out."""

import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.viz.colors import css, indexed, ink, percent, ramp
from regard.viz.labels import alone, fit, heading, isolate, readable, right_to_left, visible

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
def test_what_cannot_be_seen_is_shown(token, label):
    assert visible(token) == label


@CASES
@given(anything)
def test_a_label_has_a_width_and_can_be_printed(token):
    label = visible(token)
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
    label = visible(token)
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


def test_only_what_runs_from_right_to_left_needs_an_isolate():
    assert right_to_left("أحب")
    assert right_to_left("a שלום")
    assert not right_to_left("été 苹果 123 ⏎")
    assert isolate("أحب") == "\u2068أحب\u2069"


def test_lines_keep_their_spaces_and_their_direction_to_themselves():
    assert readable("New  York \x1b\t") == "New  York ␛␉"
    assert readable("") == ""
    assert heading("i love", "أحب") == "i love → \u2068أحب\u2069"
    assert alone("أحب") == "\u2068أحب\u2069"
    assert alone(" ") == "␣"


def contrast(a, b):
    """The contrast of two colors, as WCAG 2 defines it."""

    def channel(part):
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    light, dark = sorted(
        (0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b) for r, g, b in (a, b)),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_ramp_goes_from_violet_to_yellow_and_is_cut_outside():
    assert ramp(0) == ramp(-0.01) == (68, 1, 84)
    assert ramp(0.5) == (33, 145, 140)
    assert ramp(1) == ramp(1.01) == (253, 231, 37)
    # half way between the first two anchors: (68 + 59) / 2, (1 + 82) / 2, (84 + 139) / 2
    assert all(abs(x - y) <= 0.5 for x, y in zip(ramp(0.125), (63.5, 41.5, 111.5), strict=True))


def test_more_weight_is_always_lighter():
    black = (0, 0, 0)
    contrasts = [contrast(ramp(step / 200), black) for step in range(201)]
    assert contrasts == sorted(contrasts)
    assert len(set(contrasts)) == 201


def test_letters_stand_out_on_every_color():
    for step in range(1001):
        background = ramp(step / 1000)
        assert contrast(background, ink(background)) >= 4.5


def test_percentages_are_rounded_and_nothing_is_nothing():
    assert [percent(x) for x in (0.0, 0.004, 0.006, 0.123, 1.0)] == ["", "", "1", "12", "100"]


def test_colors_are_written_as_pages_have_them():
    assert css((68, 1, 84)) == "#440154"


def test_of_256_colors_the_nearest_is_taken_and_letters_stand_out_on_it():
    # 16 + 36 r + 6 g + b, with steps at 0, 95, 135, 175, 215 and 255
    assert indexed((0, 0, 0)) == (16, (0, 0, 0))
    assert indexed((255, 255, 255)) == (231, (255, 255, 255))
    assert indexed((253, 231, 37)) == (16 + 36 * 5 + 6 * 4 + 0, (255, 215, 0))
    assert indexed((33, 145, 140)) == (16 + 36 * 0 + 6 * 2 + 2, (0, 135, 135))
    for step in range(1001):
        background = indexed(ramp(step / 1000))[1]
        assert contrast(background, ink(background)) >= 4.5
