"""One side of a pair: from a line to ids and back."""

import pytest

from regard.errors import ConfigError
from regard.special_tokens import UNKNOWN
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters, Words
from regard.text.vocabulary import Vocabulary


def test_a_line_is_normalized_cut_and_numbered():
    side = TextProcessor("NFC", Characters(), Vocabulary.build([["é", "a"], ["a"]]))
    assert side.tokenize("e\u0301a") == ["é", "a"]
    assert side.encode("e\u0301a!") == [5, 4, UNKNOWN]
    assert side.detokenize(side.vocabulary.decode([5, 4])) == "éa"


def test_a_side_survives_a_json_round_trip():
    side = TextProcessor("none", Words(), Vocabulary.build([["x", "￭,"]]))
    assert TextProcessor.from_json(side.to_json()) == side


@pytest.mark.parametrize("value", [None, [], {}, {"normalization": "NFC", "tokenizer": {}}])
def test_invalid_json_of_a_side_is_refused(value):
    with pytest.raises(ValueError, match="a side must hold normalization, tokenizer and vocab"):
        TextProcessor.from_json(value)


def test_an_unknown_normalization_is_refused():
    side = TextProcessor("NFC", Characters(), Vocabulary.build([["a"]])).to_json()
    with pytest.raises(
        ConfigError, match=r"normalization is 'NFX'; it must be NFC, NFD, NFKC or none\."
    ):
        TextProcessor.from_json({**side, "normalization": "NFX"})
