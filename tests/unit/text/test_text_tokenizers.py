"""Splitting and joining: what the tokens are, and that no line is lost on the way."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES, lines, tokens

from regard.text.escapes import escape, unescape
from regard.text.normalization import FORMS, normalize
from regard.text.tokenizers import (
    Characters,
    Phonemes,
    Tagged,
    Tokenizer,
    Whitespace,
    Words,
    tokenizer_from_json,
)

FAMILY = "👨\u200d👩\u200d👧"


def test_characters_are_code_points_in_reading_order():
    assert Characters().tokenize("我 e\u0301!") == ["我", " ", "e", "\u0301", "!"]
    assert Characters().detokenize(["a", " ", "b"]) == "a b"


def test_tokens_are_separated_by_runs_of_spaces():
    assert Whitespace().tokenize("  HH AH0  L OW1 ") == ["HH", "AH0", "L", "OW1"]
    assert Whitespace().detokenize(["HH", "AH0"]) == "HH AH0"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("b ɛ\u0300ː r s", "b ɛ ◌\u0300 ◌ː r s"),
        # an accent that is written into its letter is a mark too
        ("ǎː n", "a ◌\u030c ◌ː n"),
        ("t͡ʃʰ a", "t͡ʃ ◌ʰ a"),
        ("t\u032a͡s\u032a", "t\u032a͡s ◌\u032a"),
        ("ⁿdʷ ˈaɪ", "ⁿd ◌ʷ ˈaɪ"),
        # a tone that stands by itself is no mark on anything
        ("m a ˧˨", "m a ˧˨"),
        ("ma˧˨ कि", "ma ◌˧ ◌˨ क ◌ि"),
        ("HH AH0", "HH AH0"),
        ("◌ː ␛ː", "␛1 ◌ː ␛0 ◌ː"),
        ("  a  b ", "a b"),
    ],
)
def test_diacritics_of_phonemes_are_separate_tokens(line, expected):
    assert Phonemes().tokenize(line) == expected.split()
    assert Phonemes().detokenize(expected.split()) == " ".join(line.split())


def test_phonemes_are_restored_in_their_unicode_form():
    composed, apart = "ǎː", "a\u030cː"
    assert (
        Phonemes("NFC").tokenize(composed)
        == Phonemes("NFD").tokenize(apart)
        == ["a", "◌\u030c", "◌ː"]
    )
    assert Phonemes("NFC").detokenize(["a", "◌\u030c", "◌ː"]) == composed
    assert Phonemes("NFD").detokenize(["a", "◌\u030c", "◌ː"]) == apart
    # what shall be left as it is, is not taken apart
    assert Phonemes("none").tokenize(f"{composed} {apart}") == ["ǎ", "◌ː", "a", "◌\u030c", "◌ː"]


@CASES
@given(lines, st.sampled_from(FORMS))
def test_any_phonemes_are_restored(line, form):
    line = normalize(" ".join(line.split()), form)
    split = Phonemes(form).tokenize(line)
    assert Phonemes(form).detokenize(split) == " ".join(line.split())
    assert all(token.split() == [token] for token in split)


@CASES
@given(st.lists(st.sampled_from(["◌", "◌ː", "␛", "␛1", "a", "ː", "◌\u030c", "�"])) | tokens)
def test_any_sequence_of_phoneme_tokens_can_be_joined(said):
    joined = Phonemes().detokenize(said)
    assert joined == " ".join(joined.split())


def test_a_diacritic_without_a_base_is_a_token():
    assert Phonemes().detokenize(["◌ː", "a"]) == "ː a"
    assert Phonemes().detokenize(["a", "�", "◌ː"]) == "a �ː"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("Hello, world!", "Hello ￭, world ￭!"),
        ("“Yes,” he said.", "“￭ Yes ￭, ￭” he said ￭."),
        ("Wait ... (what?)", "Wait . ￭. ￭. (￭ what ￭? ￭)"),
        ("l'homme, 3.14", "l ￭'￭ homme ￭, 3 ￭.￭ 14"),
        ("a - b", "a - b"),
        ("a-b", "a ￭-￭ b"),
        ("snake_case", "snake_case"),
        ("我爱吃苹果。", "我爱吃苹果 ￭。"),
        ("مرحبا، عالم", "مرحبا ￭، عالم"),
    ],
)
def test_words_and_punctuation_are_split_and_joiners_mark_missing_spaces(line, expected):
    assert Words().tokenize(line) == expected.split()
    assert Words().detokenize(expected.split()) == line


@pytest.mark.parametrize(
    "word",
    [
        "cafe\u0301",
        "نِعْمَ",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dषि",
        "so\xadft",
        FAMILY,
        "❤\ufe0f",
        "\u0301a",
    ],
)
def test_combining_characters_stay_with_their_base(word):
    assert Words().tokenize(f"x {word} y") == ["x", word, "y"]
    assert Words().tokenize(f"{word}.")[0] == word


def test_a_joiner_character_of_the_text_is_escaped():
    assert Words().tokenize("a ￭ b") == ["a", "␛1", "b"]
    assert Words().tokenize("a￭b") == ["a", "￭␛1￭", "b"]
    assert Words().tokenize("␛1") == ["␛0￭", "1"]


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\u3000", "\xa0", " \t "])
@pytest.mark.parametrize("tokenizer", [Words(), Whitespace(), Phonemes()])
def test_any_white_space_is_a_space_and_ends_no_line(tokenizer, separator):
    assert tokenizer.tokenize(f"{separator}a{separator}b{separator}") == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("walk V;PST;3;SG", ["w", "a", "l", "k", " V", ";PST", ";3", ";SG"]),
        ("give up V", ["g", "i", "v", "e", " ", "u", "p", " V"]),
        ("a;b N", ["a", ";", "b", " N"]),
        ("go;V", ["g", "o", ";", "V"]),
        ("go V;;PST;", ["g", "o", " V", ";", ";PST", ";"]),
        ("go ;V", ["g", "o", " ", ";V"]),
        ("go V ", ["g", "o", " ", "V", " "]),
        ("go  V", ["g", "o", " ", " V"]),
        ("go\u3000V", ["g", "o", "\u3000", "V"]),
        (" ", [" "]),
        ("", []),
    ],
)
def test_tags_of_the_last_word_are_tokens_with_their_separators(line, expected):
    assert Tagged().tokenize(line) == expected
    assert Tagged().detokenize(expected) == line


@CASES
@given(st.lists(lines | st.sampled_from([" ", ";", "V", "PST", ";;", " ;"]), max_size=8))
def test_letters_and_tags_are_restored_exactly(parts):
    line = "".join(parts)
    split = Tagged().tokenize(line)
    assert Tagged().detokenize(split) == line
    # a tag begins with what divides it, and has no other inside
    assert all(len(x) == 1 or (x[0] in " ;" and not set(x[1:]) & {" ", ";"}) for x in split)
    assert sum(len(x) > 1 for x in split) <= line.rpartition(" ")[2].count(";") + 1


@CASES
@given(lines)
def test_characters_are_restored_exactly_and_others_except_for_white_space(line):
    assert Characters().detokenize(Characters().tokenize(line)) == line
    assert Whitespace().detokenize(Whitespace().tokenize(line)) == " ".join(line.split())
    split = Words().tokenize(line)
    assert Words().detokenize(split) == " ".join(line.split())
    assert all(token.split() == [token] for token in split)


@CASES
@given(st.lists(st.sampled_from(["￭", "␛", "a", ".", "￭.", "(￭", "￭￭", "␛1", "�"])) | tokens)
def test_any_sequence_of_words_can_be_joined(said):
    joined = Words().detokenize(said)
    assert joined == " ".join(joined.split())
    if not any("￭" in token or "␛" in token for token in said):
        assert joined == " ".join(said)


@CASES
@given(lines)
def test_an_escaped_text_has_no_joiner_and_is_restored(line):
    escaped = escape(line, "￭▁")
    assert not {"￭", "▁"} & set(escaped)
    assert unescape(escaped, "￭▁") == line


def test_an_incomplete_escape_stays_as_it_is():
    assert unescape("␛", "￭") == "␛"
    assert unescape("␛2␛x␛1␛0", "￭") == "␛2␛x￭␛"


@pytest.mark.parametrize("form", FORMS)
def test_phoneme_tokenizers_store_their_unicode_form(form):
    written = Phonemes(form).to_json()
    assert written == {"kind": "phonemes", "form": form}
    assert tokenizer_from_json(json.loads(json.dumps(written))) == Phonemes(form)


@pytest.mark.parametrize("tokenizer", [Characters(), Words(), Whitespace(), Tagged()])
def test_a_tokenizer_survives_a_json_round_trip(tokenizer: Tokenizer):
    text = json.dumps(tokenizer.to_json())
    assert text == json.dumps({"kind": tokenizer.kind})
    assert tokenizer_from_json(json.loads(text)) == tokenizer


NAMES = "characters, words, whitespace, tagged, phonemes or subwords"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (["words"], "tokenizer is ['words']; it must be an object with a kind."),
        ({}, f"tokenizer kind is None; it must be {NAMES}."),
        ({"kind": "word"}, f"tokenizer kind is 'word'; it must be {NAMES}."),
        ({"kind": ["words"]}, f"tokenizer kind is ['words']; it must be {NAMES}."),
        (
            {"kind": "words", "model": ""},
            "tokenizer words has the keys ['kind', 'model']; it must have ['kind'].",
        ),
        (
            {"kind": "phonemes"},
            "tokenizer phonemes has the keys ['kind']; it must have ['form', 'kind'].",
        ),
        (
            {"kind": "phonemes", "form": "NFX"},
            "form of phonemes is 'NFX'; it must be NFC, NFD, NFKC or none.",
        ),
        (
            {"kind": "phonemes", "form": ["NFC"]},
            "form of phonemes is ['NFC']; it must be NFC, NFD, NFKC or none.",
        ),
        (
            {"kind": "subwords"},
            "tokenizer subwords has the keys ['kind']; it must have ['kind', 'model'].",
        ),
        (
            {"kind": "subwords", "model": 7},
            "subword model is 7; it must be bytes in base64.",
        ),
        (
            {"kind": "subwords", "model": "a*b="},
            "subword model is 'a*b='; it must be bytes in base64.",
        ),
        (
            {"kind": "subwords", "model": "é"},
            "subword model is 'é'; it must be bytes in base64.",
        ),
        (
            {"kind": "subwords", "model": ""},
            "subword model is empty; it must be a sentencepiece model.",
        ),
    ],
)
def test_invalid_json_of_a_tokenizer_is_refused(value, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        tokenizer_from_json(value)


def test_importing_the_package_imports_nothing_heavy():
    modules = "escapes, normalization, one_hot, subwords, text_processor, tokenizers, vocabulary"
    script = (
        f"import sys\nfrom regard.text import {modules}\n"
        "print(sorted({'torch', 'numpy', 'sentencepiece'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("tokenizer", "line", "expected"),
    [
        (
            Tagged(separators=";(,)"),
            "ev N;ACC(PL;PSS(1,SG))",
            ["e", "v", " N", ";ACC", "(PL", ";PSS", "(1", ",SG", ")", ")"],
        ),
        (Tagged(separators="|"), "go Mood=Ind|Tense=Past", ["g", "o", " Mood=Ind", "|Tense=Past"]),
        (Tagged("first"), "V;PST give up", ["V", ";PST", *" give up"]),
        (Tagged("first", ";()"), "(N);PL ox", ["(N", ")", ";PL", " ", "o", "x"]),
        (Tagged("first"), "V;PST", ["V", ";", "P", "S", "T"]),
        (Tagged(separators="]-^"), "go V-PST^]", ["g", "o", " V", "-PST", "^", "]"]),
    ],
)
def test_tags_have_many_forms(tokenizer, line, expected):
    assert tokenizer.tokenize(line) == expected
    assert tokenizer.detokenize(expected) == line
    assert tokenizer_from_json(json.loads(json.dumps(tokenizer.to_json()))) == tokenizer


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"position": "last"}, "must have ['kind', 'position', 'separators']"),
        (
            {"position": "left", "separators": ";"},
            "tag position is 'left'; it must be last or first",
        ),
        ({"position": ["last"], "separators": ";"}, "tag position is ['last']"),
        ({"position": "last", "separators": ""}, "tag separators is ''; it must be signs"),
        ({"position": "last", "separators": "a;"}, "tag separators is 'a;'; it must be signs"),
        ({"position": "last", "separators": 7}, "tag separators is 7; it must be signs"),
    ],
)
def test_wrong_forms_of_tags_are_refused(keys, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        tokenizer_from_json({"kind": "tagged", **keys})
