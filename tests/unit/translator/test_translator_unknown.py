"""An unknown symbol keeps its identity, whatever is printed in its place."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regard.models import PRESETS
from regard.text.unknown_tokens import UnknownToken
from regard.translator import Translator, forced_decoding
from small_models import SOURCE, saved, side


@pytest.fixture(scope="module")
def unsure():
    """Return a model that writes its unknown symbol, and targets spelled as its sources are."""
    return Translator(saved("bahdanau2015", seed=3, sides=(side(SOURCE), side(SOURCE))))


@pytest.fixture(scope="module")
def copied(unsure):
    """Return a translation of copies, each of which is also a symbol of the targets."""
    found = unsure.translate("abcj", beam_size=2)
    assert found.unknown == (True,) * 9
    assert set(found.tokens) <= set(SOURCE)
    return found


def test_the_influence_on_a_copy_is_that_on_the_unknown_token(unsure, copied):
    marked = unsure.translate("abcj", beam_size=2, unknown="mark")
    assert marked.text == "�" * 9
    assert np.array_equal(unsure.influence(copied), unsure.influence(marked))
    spelled = replace(copied, unknown=())
    assert not np.allclose(unsure.influence(copied), unsure.influence(spelled), atol=1e-3)


def test_a_translation_rescores_to_its_own_score(unsure, copied):
    (again,) = unsure.rescore([copied])
    np.testing.assert_allclose(again.token_scores, copied.token_scores, atol=1e-5)
    assert (again.tokens, again.text) == (copied.tokens, copied.text)
    assert again.unknown == copied.unknown
    (by_tokens,) = unsure.rescore([("abcj", copied.known_tokens)])
    assert by_tokens.token_scores == again.token_scores
    assert (by_tokens.text, by_tokens.unknown) == ("�" * 9, copied.unknown)
    (letters,) = unsure.rescore([("abcj", copied.tokens)])
    assert letters.unknown == (False,) * 9
    assert letters.score < copied.score - 1


def test_a_prefix_may_have_the_unknown_token(unsure, copied):
    assert copied.known_tokens == (None,) * 9
    again = unsure.translate("abcj", prefix=copied.known_tokens[:4])
    np.testing.assert_allclose(again.token_scores[:4], copied.token_scores[:4], atol=1e-5)
    assert (again.tokens[:4], again.unknown[:4]) == (copied.tokens[:4], (True,) * 4)
    mixed = unsure.translate("abcj", prefix=["c", None, "c"], max_length=3)
    assert mixed.unknown == (False, True, False)
    assert mixed.known_tokens == ("c", None, "c")


def test_the_old_name_of_the_known_tokens_still_works_and_names_the_new_one(copied):
    with pytest.warns(DeprecationWarning, match="known_tokens"):
        assert copied.symbols == copied.known_tokens


def test_json_marks_unknown_tokens_if_there_are_any(unsure, copied):
    assert json.loads(json.dumps(copied.to_json()))["unknown"] == [True] * 9
    several = unsure.translate("abcj", prefix=["c", None], max_length=2, nbest=2).to_json()
    assert several["unknown"] == several["alternatives"][0]["unknown"] == [False, True]
    plain = unsure.translate("abcj", prefix=["c"], max_length=1, nbest=2).to_json()
    assert "unknown" not in plain
    assert "unknown" not in plain["alternatives"][0]


def test_a_banned_token_is_not_copied_either(unsure, copied):
    banned = copied.tokens[0]
    found = unsure.translate("abcj", beam_size=2, banned=[banned])
    assert any(found.unknown)
    assert banned not in found.tokens
    looked = found.attention.argmax(axis=1)
    for token, unknown, place in zip(found.tokens, found.unknown, looked, strict=False):
        if unknown:
            assert token == ("�" if "abcj"[place] == banned else "abcj"[place])
    assert "�" in found.tokens


@pytest.mark.parametrize("name", PRESETS)
def test_a_long_target_is_scored_in_chunks_of_bounded_memory(name, monkeypatch):
    translator = Translator(saved(name))
    pair = ("abcde", "klmnopqrstu" * 3)
    (whole,) = translator.rescore([pair])
    num_logits = []
    hook = translator.models[0].readout.register_forward_hook(
        lambda module, arguments, logits: num_logits.append(logits.numel())
    )
    monkeypatch.setattr(forced_decoding, "MAX_NUMBERS", 7000)
    (found,) = translator.rescore([pair])
    hook.remove()
    assert len(num_logits) > 2
    assert max(num_logits) <= 7000
    np.testing.assert_allclose(found.token_scores, whole.token_scores, atol=1e-5)
    if whole.layers is None:
        assert found.layers is None
    else:
        np.testing.assert_allclose(found.layers, whole.layers, atol=1e-5)


def test_unknown_source_tokens_are_named_in_a_translation_and_its_json():
    translator = Translator(saved("bahdanau2015"))
    answer = translator.translate("Abz")
    case, other = UnknownToken(0, "A", "a", "case"), UnknownToken(2, "z")
    assert answer.unknown_source == (case, other)
    fields = json.loads(json.dumps(answer.to_json()))
    assert fields["unknown_source"][1] == {
        "position": 2,
        "token": "z",
        "similar": None,
        "difference": None,
    }
    (scored,) = translator.rescore([answer])
    assert scored.unknown_source == answer.unknown_source
    assert "unknown_source" not in translator.translate("ab").to_json()
