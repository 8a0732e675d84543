"""A vocabulary counts, numbers and spells; specials are known by their places."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES, HARD

from regard.errors import ConfigError, InputError
from regard.special_tokens import BOS, EOS, PAD, UNKNOWN
from regard.text.vocabulary import SPECIAL_TOKENS, Vocabulary

texts = st.lists(st.lists(st.sampled_from(HARD) | st.text(max_size=2), max_size=7), max_size=5)


def test_special_tokens_have_fixed_ids():
    tokens = Vocabulary.build([]).tokens
    assert tokens == ("<pad>", "<unk>", "<s>", "</s>")
    written = [tokens[i] for i in (PAD, UNKNOWN, BOS, EOS)]
    assert written == ["<pad>", "<unk>", "<s>", "</s>"]


def test_the_most_frequent_come_first_and_ties_go_by_code_point():
    built = Vocabulary.build([["b", "é", "a", "z"], ["z", "苹", "b", "z"]])
    assert built.tokens[4:] == ("z", "b", "a", "é", "苹")


def test_the_order_of_lines_does_not_matter():
    lines = [["b", "a"], ["c", "a"], ["c", "d"]]
    assert Vocabulary.build(lines) == Vocabulary.build(reversed(lines))


def test_the_bound_counts_the_specials_and_cuts_the_rarest():
    built = Vocabulary.build([["a", "b", "b", "c", "c", "c"]], max_size=6)
    assert built.tokens[4:] == ("c", "b")
    assert len(built) == 6
    assert len(Vocabulary.build([["a"]], max_size=1000)) == 5


@pytest.mark.parametrize("max_size", [4, 0, -1])
def test_a_size_without_room_for_tokens_is_refused(max_size):
    with pytest.raises(ConfigError) as caught:
        Vocabulary.build([["a"]], max_size)
    assert str(caught.value) == (
        f"text: max_size is {max_size}; it must be at least 5: 4 special tokens and one of the "
        f"text."
    )


def test_ids_and_tokens_are_inverse_maps():
    vocabulary = Vocabulary((*SPECIAL_TOKENS, "a", "b"))
    assert vocabulary.encode(["b", "a", "b"]) == [5, 4, 5]
    assert vocabulary.decode([5, 4, 5]) == ["b", "a", "b"]
    assert vocabulary.decode([2, 1, 3, 0]) == ["<s>", "<unk>", "</s>", "<pad>"]
    assert vocabulary.decode(np.array([4, 1])) == ["a", "<unk>"]


def test_a_token_outside_the_vocabulary_is_unknown():
    vocabulary = Vocabulary((*SPECIAL_TOKENS, "a"))
    assert vocabulary.encode(["A", "a", ""]) == [1, 4, 1]
    assert "a" in vocabulary
    assert "A" not in vocabulary
    assert 4 not in vocabulary


def test_a_token_spelled_like_a_special_token_is_ordinary():
    vocabulary = Vocabulary.build([["<s>", "<unk>", "<s>"]])
    assert vocabulary.encode(["<s>", "<unk>", "</s>"]) == [4, 5, UNKNOWN]
    assert "<s>" in vocabulary
    assert "</s>" not in vocabulary
    assert vocabulary.decode([2, 4]) == ["<s>", "<s>"]
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary


@pytest.mark.parametrize("i", [-1, 5, 6])
def test_an_id_out_of_range_is_refused(i):
    with pytest.raises(InputError, match=f"^id is {i}; it must be at least 0 and below 5.$"):
        Vocabulary((*SPECIAL_TOKENS, "a")).decode([4, i])


def test_a_rare_token_is_unknown():
    lines = ["abca", "ab", "d"]
    assert Vocabulary.build(lines, min_count=2).tokens[4:] == ("a", "b")
    assert Vocabulary.build(lines, min_count=3).tokens[4:] == ("a",)
    assert Vocabulary.build(lines, max_size=5, min_count=2).tokens[4:] == ("a",)
    assert Vocabulary.build(lines, min_count=2).encode("cad") == [1, 4, 1]
    assert Vocabulary.build([], min_count=2).tokens == SPECIAL_TOKENS


def test_a_vocabulary_of_the_unknown_token_alone_is_refused():
    with pytest.raises(ConfigError) as caught:
        Vocabulary.build(["abca", "ab"], min_count=4)
    assert str(caught.value) == (
        "text: min_count is 4, but the most frequent token of a side occurs 3 times. Set "
        "min_count = 3 or less."
    )


@CASES
@given(texts)
def test_every_token_of_the_text_survives_encoding_and_json(lines):
    vocabulary = Vocabulary.build(lines)
    counts = Counter(token for line in lines for token in line)
    assert len(vocabulary) == 4 + len(counts)
    for line in lines:
        ids = vocabulary.encode(line)
        assert vocabulary.decode(ids) == line
        assert all(i > 3 for i in ids)
    ranks = [counts[token] for token in vocabulary.tokens[4:]]
    assert ranks == sorted(ranks, reverse=True)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"a": 1}, "vocabulary is of type dict; it must be a list of strings."),
        ("abcd", "vocabulary is of type str; it must be a list of strings."),
        (None, "vocabulary is of type NoneType; it must be a list of strings."),
        ([*SPECIAL_TOKENS, 7], "vocabulary[4] is of type int; it must be a string."),
        (
            [*SPECIAL_TOKENS, "b", None],
            "vocabulary[5] is of type NoneType; it must be a string.",
        ),
        ([*SPECIAL_TOKENS, "b", ["b"]], "vocabulary[5] is of type list; it must be a string."),
        (
            [*SPECIAL_TOKENS, "b", "é", "é"],
            r"vocabulary[6] is '\xe9'; it must be a new token, but vocabulary[5] is the same.",
        ),
        (
            [*SPECIAL_TOKENS, "a\ud800"],
            r"vocabulary[4] is 'a\ud800'; it must be text that UTF-8 can encode.",
        ),
        ([], "vocabulary must begin with the special tokens <pad> <unk> <s> </s>."),
        (
            ["<pad>", "<s>", "<unk>", "</s>", "a"],
            "vocabulary must begin with the special tokens <pad> <unk> <s> </s>.",
        ),
        (
            [*SPECIAL_TOKENS[:3], "a", "</s>"],
            "vocabulary must begin with the special tokens <pad> <unk> <s> </s>.",
        ),
    ],
)
def test_invalid_json_of_a_vocabulary_is_refused(value, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Vocabulary.from_json(value)


def test_a_vocabulary_built_from_a_list_is_checked_too():
    with pytest.raises(ValueError, match=r"special tokens <pad> <unk> <s> </s>\.$"):
        Vocabulary(("a", "b"))


def test_a_token_of_a_million_characters_is_abbreviated_in_the_error():
    with pytest.raises(ValueError, match=r"vocabulary\[4\] is the same\.$") as caught:
        Vocabulary((*SPECIAL_TOKENS, "a" * 10**6, "a" * 10**6))
    assert len(str(caught.value)) < 120


def test_tokens_are_identified_by_spelling():
    one, other = Vocabulary.build(["aabc<s>"]), Vocabulary.build(["ccbx"])
    known = dict(zip(one.tokens, one.ids_in(other), strict=True))
    assert other.tokens[known["c"]] == "c"
    assert other.tokens[known["b"]] == "b"
    assert known["a"] == PAD
    ids = one.ids_in(other)
    # what the source's side does not know cannot be written by the target's
    assert [ids[i] for i in (PAD, UNKNOWN, BOS, EOS)] == [PAD] * 4
    assert len(ids) == len(one)
