"""The normalization forms: what they compose, what they leave, what is refused."""

import unicodedata

import pytest
from hypothesis import given
from text_cases import CASES, lines

from regard.errors import ConfigError
from regard.text.normalization import normalize

ACUTE = "\u0301"


def test_nfc_composes_and_leaves_the_rest():
    assert normalize(f"e{ACUTE}", "NFC") == "é"
    assert normalize("ﬁ\xa0①", "NFC") == "ﬁ\xa0①"


def test_nfkc_also_removes_compatibility_forms():
    assert normalize(f"e{ACUTE}ﬁ\xa0①", "NFKC") == "éfi 1"


def test_nfd_decomposes_letters_and_korean_syllables():
    assert normalize("é한", "NFD") == f"e{ACUTE}\u1112\u1161\u11ab"


def test_none_leaves_a_line_as_it_is():
    assert normalize(f"e{ACUTE}ﬁ", "none") == f"e{ACUTE}ﬁ"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "none"])
def test_separators_inside_a_line_stay_inside_it(form):
    assert normalize("a\u2028b\x85c", form) == "a\u2028b\x85c"


@CASES
@given(lines)
def test_nfc_preserves_canonical_equivalence_and_is_idempotent(line):
    once = normalize(line, "NFC")
    assert unicodedata.normalize("NFD", once) == unicodedata.normalize("NFD", line)
    assert normalize(once, "NFC") == once


@pytest.mark.parametrize("form", ["NFX", "nfc", "", None, ["NFC"]])
def test_another_form_is_refused(form):
    with pytest.raises(ConfigError) as caught:
        normalize("a", form)
    assert str(caught.value) == (
        f"text: normalization is {form!r}; it must be NFC, NFD, NFKC or none."
    )
