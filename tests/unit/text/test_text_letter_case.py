"""One case for all sources: what is folded, and how tokens get back the case of the line."""

import pytest
from hypothesis import given
from text_cases import CASES, lines

from regard.errors import ConfigError
from regard.text.letter_case import change_case, restore_case, single_case
from regard.text.normalization import normalize
from regard.text.subwords import train_subwords
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters, Subwords, Words
from regard.text.vocabulary import Vocabulary


def processor(*known, case="lower", tokenizer=None):
    tokenizer = tokenizer or Characters()
    return TextProcessor("NFC", tokenizer, Vocabulary.build(map(tokenizer.tokenize, known)), case)


def test_lower_and_upper_case_fold_every_letter_that_has_them():
    assert change_case("Straße Ǆ ΟΔΟΣ 3", "lower", "NFC") == "straße ǆ οδος 3"
    assert change_case("straße ǆ", "upper", "NFC") == "STRASSE Ǆ"
    assert change_case("Straße", "keep", "NFC") == "Straße"


def test_a_dotted_capital_i_is_one_letter_in_lower_case():
    assert change_case("İstanbul", "lower", "NFC") == "istanbul"


def test_a_letter_that_is_composed_in_one_case_only_is_composed():
    assert change_case("J\u030c", "lower", "NFC") == "\u01f0"
    assert change_case("J\u030c", "lower", "NFD") == "j\u030c"


@CASES
@given(lines)
def test_lower_case_is_normalized_and_idempotent(line):
    once = change_case(normalize(line, "NFC"), "lower", "NFC")
    assert normalize(once, "NFC") == once
    assert change_case(once, "lower", "NFC") == once


@pytest.mark.parametrize("case", ["Lower", "", None, ["lower"]])
def test_another_case_is_refused(case):
    with pytest.raises(ConfigError) as caught:
        change_case("a", case, "NFC")
    assert str(caught.value) == f"text: case is {case!r}; it must be keep, lower or upper."


@pytest.mark.parametrize(
    ("characters", "case"),
    [("abcß1 ʰ", "lower"), ("ABC-1", "upper"), ("abC", None), ("123 漢", None), ("ǅ", None)],
)
def test_the_case_of_all_letters_is_recognized(characters, case):
    assert single_case(characters) == case


def test_tokens_get_the_case_of_the_line_back():
    side = processor("washington dc")
    assert side.tokenize("Washington DC") == list("washington dc")
    assert side.original_case(side.tokenize("Washington DC"), "Washington DC") == list(
        "Washington DC"
    )
    words = processor("the “cat”", tokenizer=Words())
    line = "The  “CAT”"
    assert words.original_case(words.tokenize(line), line) == ["The", "“￭", "CAT", "￭”"]
    pieces = processor(tokenizer=train_subwords(["the cat sat on the mat"] * 20, 20, "bpe", 1))
    assert isinstance(pieces.tokenizer, Subwords)
    tokens = pieces.original_case(pieces.tokenize("The CAT"), "The CAT")
    assert "".join(tokens) == "▁The▁CAT"
    assert restore_case(list("οδος"), "ΟΔΟΣ", "lower") == list("ΟΔΟΣ")


def test_tokens_that_cannot_be_aligned_stay_as_the_model_reads_them():
    assert restore_case(list("STRASSE"), "straße", "upper") == list("STRASSE")
    assert restore_case(["\u01f0"], "J\u030c", "lower") == ["\u01f0"]


@CASES
@given(lines)
def test_restored_tokens_are_the_line_itself_or_the_models(line):
    line = normalize(line, "NFC")
    tokens = list(change_case(line, "lower", "NFC"))
    assert restore_case(tokens, line, "lower") in (list(line), tokens)


def test_the_case_is_in_the_json_only_if_it_is_folded():
    side = processor("ab")
    assert side.to_json()["case"] == "lower"
    assert TextProcessor.from_json(side.to_json()) == side
    kept = processor("ab", case="keep")
    assert "case" not in kept.to_json()
    assert TextProcessor.from_json(kept.to_json()) == kept
    with pytest.raises(ConfigError, match="case is 'middle'"):
        TextProcessor.from_json(side.to_json() | {"case": "middle"})
