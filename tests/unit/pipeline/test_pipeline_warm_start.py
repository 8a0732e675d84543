"""A run that starts from a model: what it takes over, what it adds, and what may not differ."""

import pytest
import torch
from pipeline_cases import QUICK, digits, quick, tsv

import regard
from regard.errors import ConfigError, ModelFileError
from regard.pipeline.warm_start import _fits
from regard.text.vocabulary import Vocabulary

LETTERS = [(f"{word} {word}", word.upper()) for word in ("ab", "ba", "abc", "cab", "bca", "ca")] * 4


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that has learned a little of digits."""
    out = tmp_path_factory.mktemp("start") / "old.regard"
    quick(out=out)
    return out


def tuned(start, pairs=None, **settings):
    pairs = LETTERS if pairs is None else pairs
    return regard.train(pairs, start_from=start, **{**QUICK, **settings})


def weights(translator):
    return {name: part.detach().clone() for name, part in translator.models[0].named_parameters()}


def refusal(kind, *given, **options):
    with pytest.raises(kind) as caught:
        tuned(*given, **options)
    return str(caught.value)


def test_tokens_keep_their_ids_and_new_ones_are_appended(model):
    old, new = regard.load(model), tuned(model)
    before, after = (x.members[0].source.vocabulary.tokens for x in (old, new))
    assert after[: len(before)] == before
    assert set(after[len(before) :]) >= {"a", "b", "c"}
    assert new.settings.model == old.settings.model
    assert new.settings.text == old.settings.text


def test_phonemes_are_tokenized_as_by_the_initial_model(tmp_path):
    out = tmp_path / "old.regard"
    quick([("an", "ǎː n"), ("na", "n ǎː")] * 10, out=out, text={"target": "phonemes"})
    new = tuned(out, [("en", "ěʰ n"), ("ne", "n ěʰ")] * 10)
    side = regard.load(out).members[0].target
    assert set(side.vocabulary.tokens[4:]) == {"a", "n", "◌\u030c", "◌ː"}
    assert new.members[0].target.tokenizer == side.tokenizer
    added = new.members[0].target.vocabulary.tokens[len(side.vocabulary) :]
    assert set(added) == {"e", "◌ʰ"}


def test_weights_are_inherited_and_new_tokens_have_new_rows(model):
    before = weights(regard.load(model))
    after = weights(tuned(model, learning_rate=1e-9, warmup_steps=0))
    assert before.keys() == after.keys()
    for name, old in before.items():
        assert torch.allclose(after[name][: len(old)], old, atol=1e-6), name
    grown = [name for name, old in before.items() if len(old) < len(after[name])]
    assert {"source_embedding.weight", "target_embedding.weight"} <= set(grown)
    assert all(after[name][len(before[name]) :].abs().sum() > 0 for name in grown)


def test_a_warm_start_has_a_lower_default_learning_rate(model):
    old = regard.load(model).settings.train.learning_rate
    assert tuned(model).settings.train.learning_rate == pytest.approx(old / 4)
    assert tuned(model, learning_rate=0.5).settings.train.learning_rate == 0.5


@pytest.mark.parametrize("part", ["embeddings", "encoder", "decoder", "readout"])
def test_frozen_parameters_stay_and_the_rest_learns(model, part):
    start = weights(regard.load(model))
    after = weights(tuned(model, digits(), freeze=(part,), learning_rate=0.1, warmup_steps=0))
    prefixes = {"embeddings": ("source_emb", "target_emb"), "encoder": ("encoder", "summary")}
    mine = prefixes.get(part, (part,))
    frozen = [name for name in start if name.startswith(mine)]
    assert frozen
    for name, old in start.items():
        assert torch.equal(old, after[name]) == (name in frozen), name


@pytest.mark.parametrize(("part", "new"), [("embeddings", 7), ("readout", 3)])
def test_embeddings_of_new_tokens_cannot_be_frozen(model, part, new):
    assert refusal(ConfigError, model, freeze=("encoder", part)) == (
        f"train: freeze is {part}; {new} tokens are new to the model that training starts from and "
        "would never be trained. Freeze other parts."
    )
    tuned(model, freeze=("encoder",), max_steps=1)


def test_a_model_records_its_warm_start(model):
    told = tuned(model).summary["start_from"]
    assert len(told) == 64
    assert told == tuned(model, digits()).summary["start_from"]
    assert "start_from" not in quick().summary


def test_an_incompatible_warm_start_is_refused(model, tmp_path):
    words = refusal(ConfigError, model, text={"source": "words"})
    assert words == (
        "settings: text.source is words; it must be characters, as in the model that training "
        "starts from. Leave it out."
    )
    assert "something must be trained. Freeze fewer parts." in refusal(
        ConfigError, model, digits(), freeze=("embeddings", "encoder", "decoder", "readout")
    )
    assert "must be embeddings, encoder, decoder or readout" in refusal(
        ConfigError, model, freeze=("encode",)
    )
    assert "Leave one of them out." in refusal(ConfigError, model, preset="cho2014")
    assert "no such file" in refusal(ModelFileError, tmp_path / "none.regard")


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ({"encoder": {"hidden_size": 99}}, "model.encoder.hidden_size: 7 → 99"),
        ({"source": {"scaled": True}}, "model.source.scaled: false → true"),
        ({"decoder": {"initial_state": "zero"}}, 'model.decoder.initial_state: "tanh" → "zero"'),
    ],
)
def test_a_model_that_differs_from_the_initial_one_is_refused(model, said, change):
    assert refusal(ConfigError, model, model=said) == (
        f"settings: {change}; the weights are those of the model that training starts from. Leave "
        "it out."
    )


def test_layers_of_the_model_that_is_started_from_are_not_left_out(tmp_path):
    deep = tmp_path / "deep.regard"
    regard.train(LETTERS, out=deep, **QUICK, model={"encoder": {"num_layers": 2}})
    said = refusal(ConfigError, deep, model={"encoder": {"num_layers": 1}})
    assert "model.encoder.num_layers: 2 → 1" in said
    copying = tmp_path / "copying.regard"
    regard.train(LETTERS, out=copying, **QUICK, model={"readout": {"pointer_generator": True}})
    said = refusal(ConfigError, copying, model={"readout": {"pointer_generator": False}})
    assert "model.readout.pointer_generator: true → false" in said


def test_a_value_that_is_not_a_section_gets_the_usual_error(model):
    assert "model is 3; it must be a dict of settings." in refusal(ConfigError, model, model=3)


def test_dropout_and_copying_may_be_changed_in_a_warm_start(model):
    said = {"encoder": {"dropout": 0.25}, "readout": {"pointer_generator": True}}
    new = tuned(model, model=said, learning_rate=1e-9, warmup_steps=0)
    assert new.settings.model.encoder.dropout == 0.25
    assert new.settings.model.readout.pointer_generator
    after = weights(new)
    for name, old in weights(regard.load(model)).items():
        assert torch.allclose(after[name][: len(old)], old, atol=1e-6), name


def test_learned_positions_are_not_truncated(tmp_path):
    out = tmp_path / "placed.regard"
    placed = {"positions": "learned", "max_length": 40}
    regard.train(LETTERS, out=out, **QUICK, model={"source": placed})
    said = refusal(ConfigError, out, model={"source": {"max_length": 32}})
    assert "has another size than in the model that training starts from" in said


def test_a_run_resumes_with_its_own_initial_model_alone(model, tmp_path):
    out, other = tmp_path / "m.regard", tmp_path / "other.regard"
    pairs = tsv(tmp_path / "p.tsv", LETTERS)
    first = tuned(model, pairs, out=out)
    again = tuned(model, pairs, out=out, resume=True)
    assert weights(first).keys() == weights(again).keys()
    quick(out=other, seed=2)
    assert "began from another model" in refusal(ConfigError, other, pairs, out=out, resume=True)


def test_a_vocabulary_is_extended_by_tokens():
    one, other = (Vocabulary.build([line]) for line in (["b", "b", "a"], ["c", "a"]))
    assert one.union(other).tokens[4:] == ("b", "a", "c")
    assert one.union(one) == one


def test_a_model_without_copying_may_learn_to_copy(model):
    before, after = (
        weights(regard.load(model)),
        tuned(model, model={"readout": {"pointer_generator": True}}),
    )
    assert after.settings.model.readout.pointer_generator
    assert {name for name in weights(after) if name not in before} == {
        "readout.pointer.score.W.weight",
        "readout.pointer.gate.weight",
        "readout.pointer.gate.bias",
    }


def test_only_parameters_with_a_row_per_token_may_grow():
    old, new = torch.zeros(2, 3), torch.zeros(4, 3)
    assert _fits("target_embedding.weight", old, new)
    assert not _fits("target_embedding.weight", new, old)
    assert not _fits("encoder.weight", old, new)
    assert not _fits("target_embedding.weight", old, torch.zeros(4, 2))
