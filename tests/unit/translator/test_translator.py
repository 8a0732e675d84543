"""The front door: what a translation holds, for every preset, and whether it is true."""

import json
import math
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from translator_cases import LINES

import regard
from regard.errors import InputError
from regard.models import build
from regard.saved_model import save_model
from regard.special_tokens import BOS, EOS
from regard.text.tokenizers import Whitespace
from regard.translator import Translator
from small_models import LOOKS, SIZES, SOURCE, TARGET, saved, side


def forced(saved, line, words):
    """Score words and EOS by the model itself, of one line alone: [T,V] and [T,L,H,S]."""
    source = torch.tensor([saved.source.encode(line)])
    fed = torch.tensor([[BOS, *words]])
    with torch.no_grad():
        mask = torch.ones_like(source, dtype=torch.bool)
        scored = saved.model(source, mask, fed, need_weights=True)
    log_probs = scored.logits[0].log_softmax(-1).numpy()
    return log_probs, None if scored.weights is None else scored.weights[0].numpy()


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("name", SIZES)
def test_a_translation_has_the_models_tokens_scores_and_attention(name, beam_size):
    model = saved(name)
    for line, found in zip(
        LINES, Translator(model).translate(LINES, beam_size=beam_size), strict=True
    ):
        words = model.target.vocabulary.encode(found.tokens)
        # a symbol that was copied for an unknown one is unknown to the targets
        assert set(found.tokens) <= {*SOURCE, *TARGET, "�"}
        assert found.source == line
        assert found.source_tokens == tuple(line)
        assert found.text == "".join(found.tokens)
        log_probs, weights = forced(model, line, words)
        expected = [log_probs[t, word] for t, word in enumerate([*words, EOS])]
        assert len(found.token_scores) == len(found.tokens) + 1
        np.testing.assert_allclose(found.token_scores, expected, atol=2e-5)
        assert found.score == sum(found.token_scores)
        if name not in LOOKS:
            assert found.attention is found.layers is found.alignment is None
            continue
        T, S = len(found.tokens) + 1, len(line)
        assert found.layers.shape == (T, *LOOKS[name], S)
        np.testing.assert_allclose(found.layers, weights, atol=2e-5)
        mean = sum(found.layers[:, i, h] for i, h in np.ndindex(LOOKS[name])) / math.prod(
            LOOKS[name]
        )
        assert found.attention.shape == (T, S)
        np.testing.assert_allclose(found.attention, mean, atol=1e-6)
        assert found.alignment.source == tuple(line)
        assert found.alignment.target == (*found.tokens, "■")


@pytest.mark.parametrize("name", ["luong2015", "bahdanau2015"])
def test_source_tokens_are_in_reading_order_for_reversed_sources_too(name):
    backwards = saved(name)
    if name == "bahdanau2015":
        config = replace(
            backwards.settings.model,
            encoder=replace(backwards.settings.model.encoder, bidirectional=False),
            summary="last",
        )
        torch.manual_seed(3)
        sizes = len(backwards.source.vocabulary), len(backwards.target.vocabulary)
        backwards = replace(backwards, model=build(config, *sizes).eval())
    backwards.model.encoder.reversed_source = True
    shown = Translator(backwards).translate(LINES)
    # the same weights reading forwards see the line that is written backwards
    backwards.model.encoder.reversed_source = False
    turned = Translator(backwards).translate([line[::-1] for line in LINES])
    for line, one, other in zip(LINES, shown, turned, strict=True):
        assert one.tokens == other.tokens or "a" <= one.text[0] <= "j"
        assert one.source_tokens == tuple(line)
        np.testing.assert_allclose(one.attention, other.attention[:, ::-1], atol=1e-6)


def test_a_line_gives_a_translation_and_a_list_gives_a_list():
    translator = Translator(saved())
    (only,) = translator.translate(["abc"])
    assert translator.translate("abc").text == only.text == str(only)
    assert translator.translate([]) == []
    assert [x.text for x in translator.translate(iter(["abc", "abc"]))] == [only.text] * 2


def test_a_blank_line_has_an_empty_translation_at_its_place():
    translator = Translator(saved())
    told = []
    found = translator.translate(["abc", "", " \t", "\u2028", "cab"], progress=told.append)
    assert [bool(x.tokens) for x in found] == [True, False, False, False, True]
    for blank in found[1:4]:
        assert (blank.text, blank.tokens, blank.source_tokens, blank.notes) == ("", (), (), ())
        assert (blank.score, blank.token_scores, blank.attention) == (0.0, (), None)
        assert "→" in blank._repr_html_()
        json.dumps(blank.to_json())
    assert [x.source for x in found][1:4] == ["", " \t", "\u2028"]
    assert sum(told) == 5


def test_a_blank_line_has_one_empty_alternative():
    for line, found in zip("a c", Translator(saved()).translate(list("a c"), nbest=3), strict=True):
        first = found.alternatives[0]
        assert (first.source, first.text, first.rank_score) == (line, found.text, found.rank_score)
        assert first.alternatives == ()
        assert len(found.alternatives) == (1 if line == " " else 3)
    assert Translator(saved()).translate(" ").alternatives == ()


def test_the_attention_of_equal_lines_is_the_same_in_any_batch():
    translator = Translator(saved("vaswani2017"))
    alone = translator.translate("gjgjg", beam_size=3)
    among = translator.translate([*LINES, "a" * 20], beam_size=3, batch_size=2)[4]
    assert alone.token_scores == among.token_scores
    assert np.array_equal(alone.layers, among.layers)


def test_a_translation_is_json():
    translator = Translator(saved())
    plain = translator.translate("abc")
    shown = json.loads(json.dumps(plain.to_json()))
    assert shown == {
        "source": "abc",
        "text": plain.text,
        "score": plain.score,
        # the penalty is 1
        "rank_score": pytest.approx(plain.score / len(plain.token_scores)),
        "tokens": list(plain.tokens),
        "source_tokens": ["a", "b", "c"],
        "token_scores": list(plain.token_scores),
        "attention": plain.attention.tolist(),
        "notes": ["The output was stopped at the maximum length, 9 tokens."],
    }
    full = translator.translate("abc", nbest=2, candidates=2, tree=True, max_length=3)
    shown = json.loads(json.dumps(full.to_json()))
    assert shown["alternatives"] == [
        {
            "text": x.text,
            "score": x.score,
            "rank_score": x.rank_score,
            "tokens": list(x.tokens),
            "token_scores": list(x.token_scores),
        }
        for x in full.alternatives
    ]
    assert shown["candidates"][0][0] == list(full.candidates[0][0])
    assert shown["tree"][0].keys() == {"parent", "token", "score", "total", "in_nbest"}
    assert (
        json.loads(json.dumps(Translator(saved("cho2014")).translate("abc").to_json()))["attention"]
        is None
    )


def test_a_notebook_shows_the_line_and_every_weight_and_no_markup_of_the_text():
    sides = side([*SOURCE, "<b>"], Whitespace()), side([*TARGET, "<i>"], Whitespace())
    translator = Translator(saved(sides=sides))
    found = translator.translate("a <b> c", prefix=["<i>"], max_length=4)
    html = found._repr_html_()
    assert "a &lt;b&gt; c → <b>&lt;i&gt; " in html
    assert "<i>" not in html
    for row in range(len(found.tokens) + 1):
        for weight in found.attention[row]:
            assert f": {weight:.6f}" in html
    without = Translator(saved("cho2014", sides=sides)).translate("<b>", prefix=["<i>"])
    assert without._repr_html_().startswith('<p dir="auto">&lt;b&gt; → <b>&lt;i&gt; ')


def test_loading_unpickles_nothing(tmp_path):
    path, seen = tmp_path / "m.regard", []
    save_model(path, saved())
    # a hook can never be taken away, but does no harm
    sys.addaudithook(lambda event, _: seen.append(event) if "pickle" in event else None)
    pickle.loads(pickle.dumps(math.sqrt))
    assert seen == ["pickle.find_class"]
    found = regard.load(path).translate("abc")
    assert seen == ["pickle.find_class"]
    assert found.token_scores == Translator(saved()).translate("abc").token_scores


def test_a_loaded_and_saved_model_is_the_same_file(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    save_model(first, saved())
    regard.load(str(first)).save(str(second))
    assert first.read_bytes() == second.read_bytes()


def test_a_line_that_is_not_a_string_is_refused_by_its_number():
    with pytest.raises(InputError) as caught:
        Translator(saved()).translate(["abc", None])
    assert str(caught.value) == "line 2 is of type NoneType; it must be text."


def test_both_sides_of_a_model_are_accessible():
    model = saved()
    translator = Translator(model)
    assert (translator.source, translator.target) == (model.source, model.target)
    assert translator.source.tokenize("cab") == ["c", "a", "b"]
    # behind four that every vocabulary begins with
    assert translator.target.encode("kl") == [4, 5]


def test_a_decomposed_letter_is_the_composed_one():
    sides = side("éa"), side(TARGET)
    translator = Translator(saved("luong2015", sides=sides))
    composed, decomposed = translator.translate(["\u00e9a", "e\u0301a"])
    assert composed.token_scores == decomposed.token_scores
    assert decomposed.source_tokens == ("\u00e9", "a")
    assert decomposed.source == "e\u0301a"
