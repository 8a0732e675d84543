"""Unknown tokens of a line: where they are, and what the model knows instead."""

import pytest

from regard.text.subwords import train_subwords
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters, Phonemes, Tagged, Words
from regard.text.unknown_tokens import UnknownToken, unknown_tokens
from regard.text.vocabulary import Vocabulary


def report(line, *known, tokenizer=None, form="NFC"):
    """Return the unknown tokens of a line, for a vocabulary of the tokens of known lines."""
    tokenizer = tokenizer or Characters()
    vocabulary = Vocabulary.build(map(tokenizer.tokenize, known))
    processor = TextProcessor(form, tokenizer, vocabulary)
    tokens = processor.tokenize(line)
    return unknown_tokens(tokens, vocabulary.encode(tokens), processor)


def test_unknown_tokens_have_their_positions():
    assert report("aqbq", "ab") == (UnknownToken(1, "q"), UnknownToken(3, "q"))
    assert report("abba", "ab") == ()


@pytest.mark.parametrize(
    ("line", "known", "similar", "difference"),
    [
        ("W", "w", "w", "case"),
        ("w", "W", "W", "case"),
        ("\uff37", "W", "W", "width"),
        ("\uff37", "w", "w", "width"),
        ("ｱ", "ア", "ア", "width"),
        ("W", "\uff37", "\uff37", "width"),
        ("!", "\uff01", "\uff01", "width"),
        ("ﬁ", "fi", "fi", "form"),
        ("é", "e\u0301", "e\u0301", "form"),
    ],
)
def test_a_known_spelling_is_named_with_its_difference(line, known, similar, difference):
    assert report(line, known, form="none") == (UnknownToken(0, line, similar, difference),)


def test_words_tags_marks_and_subwords_are_compared_as_text():
    (word,) = report("The Cat", "the cat The", tokenizer=Words())
    assert word == UnknownToken(1, "Cat", "cat", "case")
    (tag,) = report("walk v;PST", "walk V;PST", tokenizer=Tagged())
    assert tag == UnknownToken(4, " v", " V", "case")
    (phoneme,) = report("A ː", "a ː", tokenizer=Phonemes())
    assert phoneme == UnknownToken(0, "A", "a", "case")
    lines = ["the cat sat on the mat"] * 20
    subwords = train_subwords(lines, 20, "unigram", 1)
    (piece,) = report("the MAT", *lines, tokenizer=subwords)
    assert (piece.token, piece.similar, piece.difference) == ("MAT", "mat", "case")


def test_a_word_of_known_letters_is_still_unknown():
    assert report("tac", "c a t cat", tokenizer=Words()) == (UnknownToken(0, "tac"),)
