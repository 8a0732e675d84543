"""Choices: names joined and refused in sentences, and values printed on one short line."""

import pytest

from regard.choices import either, names_of, nearest, printable, unknown_choice
from regard.config.checks import choices, types_of
from regard.config.settings import DataConfig, TextConfig
from regard.text.normalization import FORMS
from regard.text.tokenizers import KINDS


def test_names_are_listed_with_commas_and_or():
    assert either(["a"]) == "a"
    assert either(["a", "b"]) == "a or b"
    assert either(["a", "b", "c"]) == "a, b or c"


def test_an_unknown_name_gets_the_nearest_suggestion():
    assert nearest("wrods", ["characters", "words"]) == "words"
    # nothing is like it, but one of them is nearest
    assert nearest("☃", ["words"]) == "words"
    sentence = unknown_choice("text.source", "wrods", ["characters", "words"])
    assert sentence.startswith("text.source is wrods; it must be ")
    assert "characters or words" in sentence
    assert sentence.endswith("Did you mean words?")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1.5, "1.5"),
        ("", "''"),
        ("a\nb", r"'a\nb'"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_a_value_is_printed_on_one_short_line(value, text):
    assert printable(value) == text


def test_settings_and_text_have_the_same_names():
    assert names_of(types_of(DataConfig)["normalization"]) == FORMS
    learned = {"unigram", "bpe"}
    assert set(choices(types_of(TextConfig)["source"])) - learned == set(KINDS) - {"subwords"}


def test_a_number_of_thousands_of_digits_is_an_ellipsis():
    assert printable(10**5000) == "…"
