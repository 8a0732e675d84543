"""Tokens that are cut once: the counts and the ids that a tokenizer and its vocabulary give."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.token_indexer import count_characters, make_token_indexer
from regard.text.subwords import train_subwords
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters, Phonemes, Tagged, Whitespace, Words
from regard.text.vocabulary import Vocabulary

LINES = ["walk V;PST", "été, “aː tˤ”", "a  b\u2003c", "", "过去 x", "a␛b ▁ ▅", "walk walk V;PST"]


def tokenizers():
    yield from (Characters(), Words(), Whitespace(), Tagged(), Phonemes("NFC"))
    for kind in ("unigram", "bpe"):
        # 过去, ▅ and “ are no pieces
        yield train_subwords(["walk walked talk", "a b c t x été ː"] * 9, 30, kind, 1)


@pytest.mark.parametrize("tokenizer", list(tokenizers()), ids=lambda x: type(x).__name__)
def test_counts_and_ids_are_those_of_the_tokenizer(tokenizer):
    indexer = make_token_indexer(tokenizer)
    blocks = [indexer.index(lines) for lines in (LINES[:3], [], LINES[3:])]
    for block in blocks:
        indexer.count(block.indexes)
    tokens = [tokenizer.tokenize(line) for line in LINES]
    assert [n for block in blocks for n in block.lengths] == list(map(len, tokens))
    counts = Counter(token for line in tokens for token in line)
    assert indexer.counts() == counts
    side = TextProcessor("NFC", tokenizer, Vocabulary.from_counts(counts, 12))
    table = indexer.ids(side.vocabulary)
    ids = np.concatenate([table[block.indexes] for block in blocks])
    assert ids.tolist() == [i for line in tokens for i in side.vocabulary.encode(line)]


@given(st.text(max_size=30))
def test_characters_are_counted(text):
    assert count_characters(text) == Counter(text)
