"""What can be asked of a translator: alternatives, constraints, a vote, a second opinion."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from translator_cases import LINES, refusal

import regard
from regard.config.renamed_settings import RenamedSettingWarning
from regard.errors import ConfigError, InputError
from regard.saved_model import save_model
from regard.search import NEG_INF, Constraint
from regard.text.tokenizers import Whitespace
from regard.translator import Translator, select_device
from small_models import LOOKS, SIZES, SOURCE, TARGET, saved, side


def test_alternatives_are_sorted_and_unique(translator):
    for line in LINES:
        found = translator.translate(line, nbest=4, min_length=2)
        scores = [x.score / len(x.token_scores) for x in found.alternatives]
        assert scores == sorted(scores, reverse=True)
        assert len({x.tokens for x in found.alternatives}) == len(scores) == 4
        assert found.alternatives[0].tokens == found.tokens
        assert not found.alternatives[0].alternatives
        for one in found.alternatives:
            assert one.attention.shape == (len(one.tokens) + 1, len(line))
    assert translator.translate("abc").alternatives == ()
    assert translator.translate("abc", beam_size=4).alternatives == ()


def test_the_beam_is_at_least_as_wide_as_nbest():
    three = Translator(saved("luong2015", beam_size=3))
    wide = three.translate("abc", nbest=2, min_length=2).alternatives
    assert [x.text for x in wide] == [
        x.text for x in three.translate("abc", nbest=2, beam_size=3, min_length=2).alternatives
    ]
    assert len(three.translate("abc", nbest=5, min_length=2).alternatives) == 5
    assert refusal(ConfigError, three.translate, "abc", nbest=4, beam_size=2) == (
        "search: nbest is 4; it must be at most beam_size = 2. Set beam_size = 4."
    )


def test_candidates_are_the_likeliest_tokens_at_each_position(translator):
    found = translator.translate("abc", candidates=3)
    assert len(found.candidates) == len(found.token_scores)
    for place, (token, score) in enumerate(
        zip([*found.tokens, "</s>"], found.token_scores, strict=True)
    ):
        tokens, scores = zip(*found.candidates[place], strict=True)
        assert len(set(tokens)) == 3
        assert sorted(scores, reverse=True) == list(scores)
        # greedy writes the likeliest, except an end that was forced; <unk> was copied over
        if place < len(found.tokens):
            assert scores[0] == score
            assert tokens[0] in (token, "<unk>")
    assert translator.translate("abc").candidates == ()


def test_the_tree_has_every_hypothesis_of_the_search(translator):
    found = translator.translate("abc", beam_size=3, nbest=2, tree=True, max_length=4)
    ends = [branch for branch in found.tree if branch.token == "</s>" and branch.in_nbest]
    assert len(ends) == 2
    paths = {}
    for number, branch in enumerate(found.tree):
        before = () if branch.parent is None else paths[branch.parent]
        paths[number] = (*before, branch)
    scores = [tuple(b.score for b in path) for path in paths.values() if path[-1] in ends]
    assert set(scores) == {x.token_scores for x in found.alternatives}
    for path in paths.values():
        assert path[-1].total == pytest.approx(sum(b.score for b in path), abs=1e-5)
    assert len(found.tree) > sum(branch.in_nbest for branch in found.tree)
    assert found.alternatives[1].tree == ()
    assert translator.translate("abc").tree == ()


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_prefix_is_what_every_output_begins_with(translator, beam_size):
    as_text = translator.translate(LINES, prefix="tuk", beam_size=beam_size)
    as_tokens = translator.translate(LINES, prefix=["t", "u", "k"], beam_size=beam_size)
    for one, other in zip(as_text, as_tokens, strict=True):
        assert one.tokens[:3] == ("t", "u", "k")
        assert one.token_scores == other.token_scores
    assert translator.translate("abc", prefix="tuk", max_length=2).text == "tuk"


def test_a_prefix_is_tokenized_as_targets_are():
    sides = side(SOURCE), side([*TARGET, "rr"], Whitespace())
    translator = Translator(saved("luong2015", sides=sides))
    assert translator.translate("abc", prefix="rr k", max_length=3).tokens[:2] == ("rr", "k")


def test_tokens_outside_the_vocabulary_cannot_be_prefixes_or_banned(translator):
    sentence = "'x', which is no token of the targets. Use one that is."
    assert refusal(InputError, translator.translate, "a", prefix="kx") == f"prefix is {sentence}"
    assert refusal(InputError, translator.translate, "a", banned=["x"]) == f"banned is {sentence}"


@pytest.mark.parametrize("name", LOOKS)
def test_a_pinned_step_has_all_weight_on_its_source_token(name):
    translator = Translator(saved(name))
    free = translator.translate("abcde", min_length=4)
    pinned = translator.translate("abcde", min_length=4, pin={1: 3, 2: 0})
    expected = np.zeros((2, *LOOKS[name], 5))
    expected[0, ..., 3] = expected[1, ..., 0] = 1
    assert np.array_equal(pinned.layers[1:3], expected)
    assert np.array_equal(pinned.layers[0], free.layers[0])
    assert pinned.token_scores[0] == free.token_scores[0]
    # what it saw decides what it writes, and where it looks from then on
    T = min(len(pinned.token_scores), len(free.token_scores))
    assert pinned.token_scores[1] != free.token_scores[1]
    assert np.abs(pinned.layers[3:T] - free.layers[3:T]).max() > 1e-4


def test_a_pin_outside_the_source_is_refused(translator):
    problem = "it must map a step, from 0, to a source token from 0 to 2."
    for pin in ({0: 3}, {0: -1}, {-1: 0}):
        ((step, token),) = pin.items()
        assert refusal(InputError, translator.translate, "abc", pin=pin) == (
            f"pin is {{{step}: {token}}}; {problem}"
        )
    without = Translator(saved("sutskever2014"))
    assert refusal(InputError, without.translate, "abc", pin={0: 0}) == (
        "pin needs a model with attention, which this one does not have. Remove pin."
    )


def test_banned_tokens_are_never_generated(translator):
    written = {token for x in translator.translate(LINES, min_length=5) for token in x.tokens}
    banned = sorted(written & set(TARGET))[:2]
    assert banned
    for beam_size in (1, 3):
        found = translator.translate(LINES, banned=banned, min_length=5, beam_size=beam_size)
        assert all(x.tokens and not set(banned) & set(x.tokens) for x in found)


def test_an_output_may_have_to_be_as_long_as_its_source(translator):
    for beam_size in (1, 3):
        found = translator.translate([*LINES, "z" * 17], same_length=True, beam_size=beam_size)
        assert [len(x.tokens) for x in found] == [3, 10, 2, 1, 5, 17]
        assert all("stopped" not in note for x in found for note in x.notes)


def test_unknown_tokens_are_copied_by_attention_or_marked():
    unknown = {"banned": list(TARGET), "min_length": 5, "max_length": 5}
    for name in LOOKS:
        found = Translator(saved(name)).translate("aXbYc", **unknown)
        looked = found.attention[:5].argmax(axis=1)
        assert found.tokens == tuple("aXbYc"[place] for place in looked)
        assert Translator(saved(name)).translate("aXbYc", unknown="mark", **unknown).text == "�����"
    assert Translator(saved("cho2014")).translate("aXbYc", **unknown).text == "�����"
    assert refusal(ConfigError, Translator(saved()).translate, "a", unknown="drop") == (
        "search: unknown is 'drop'; it must be copy or mark."
    )


def test_a_source_that_is_too_long_is_truncated_and_noted(translator):
    long, cut = translator.translate(["abcdefghij" * 2 + "j" * 10, "abcdefghij" * 2])
    assert long.source_tokens == cut.source_tokens == tuple("abcdefghij" * 2)
    assert long.token_scores == cut.token_scores
    assert long.source == "abcdefghij" * 2 + "j" * 10
    note = "The source has 30 tokens; only the first 20 were read."
    assert long.notes[0] == note
    assert all("only the first" not in note for note in cut.notes)


def test_a_model_with_fewer_positions_reads_no_more_than_those():
    short = saved("vaswani2017")
    short = replace(
        short,
        settings=replace(short.settings, data=replace(short.settings.data, max_source_length=99)),
    )
    found = Translator(short).translate("a" * 50)
    assert len(found.source_tokens) == 40
    assert found.notes[0].startswith("The source has 50 tokens; only the first 40 ")


def test_an_output_at_its_maximum_length_is_noted(translator):
    stopped = translator.translate("abc", max_length=3, min_length=3)
    assert stopped.notes == ("The output was stopped at the maximum length, 3 tokens.",)
    ended = Translator(saved("cho2014")).translate("ghij")
    assert len(ended.tokens) < 9
    assert ended.notes == ()


def test_a_source_of_unknown_tokens_alone_is_translated_and_noted(translator):
    found = translator.translate("XYZ", max_length=2)
    assert (
        found.notes[0]
        == "All tokens of the source are unknown to the model; the output is a guess."
    )
    assert len(found.token_scores) == len(found.tokens) + 1
    assert not any("guess" in note for note in translator.translate("XaZ").notes)


def test_an_ensemble_averages_probabilities():
    one, other = saved("luong2015", seed=1), saved("vaswani2017", seed=2)
    found = Translator(one, other).translate(LINES, min_length=2)
    for line, both in zip(LINES, found, strict=True):
        apart = [
            np.exp(Translator(m).rescore([(line, both.tokens)])[0].token_scores)
            for m in (one, other)
        ]
        np.testing.assert_allclose(np.exp(both.token_scores), np.mean(apart, axis=0), atol=1e-5)
        # where it looked is what the first model shows
        alone = Translator(one).rescore([(line, both.tokens)])[0]
        np.testing.assert_allclose(both.layers, alone.layers, atol=1e-5)
        again = Translator(one, other).rescore([(line, both.tokens)])[0]
        np.testing.assert_allclose(both.token_scores, again.token_scores, atol=1e-5)


def test_models_with_different_vocabularies_cannot_be_an_ensemble(tmp_path):
    save_model(tmp_path / "a", saved())
    save_model(tmp_path / "b", saved("cho2014"))
    save_model(tmp_path / "c", saved(sides=(side(SOURCE), side("xyz"))))
    together = regard.load(tmp_path / "a", tmp_path / "b")
    assert len(together.models) == 2
    assert refusal(InputError, regard.load, *(tmp_path / x for x in "abc")) == (
        "Model 3 has other vocabularies than model 1; the models of an ensemble must share them. "
        "Use models trained on the same pairs."
    )
    assert refusal(InputError, together.save, tmp_path / "d") == (
        "An ensemble has no file of its own. Save each model."
    )


def test_invalid_settings_are_refused_with_a_message(translator):
    assert refusal(ConfigError, translator.translate, "a", beam=3, depth=1) == (
        "search: Unknown setting beam. The settings are beam_size, nbest, length_penalty, stop, "
        "max_length, "
        "min_length, same_length, constraint, temperature, top_k, top_p, seed, batch_size.\n"
        "search: Unknown setting depth. The settings are beam_size, nbest, length_penalty, stop, "
        "max_length, "
        "min_length, same_length, constraint, temperature, top_k, top_p, seed, batch_size."
    )
    assert refusal(ConfigError, translator.translate, "a", beam_size=0, top_p=2.0) == (
        "search: beam_size is 0; it must be a whole number, at least 1.\n"
        "search: top_p is 2.0; it must be a number, above 0 and at most 1."
    )
    assert refusal(ConfigError, translator.translate, "a", nbest="2") == (
        "search: nbest is 2; it must be a whole number, at least 1."
    )


def test_unset_options_are_the_models_own_settings():
    own = Translator(saved("luong2015", beam_size=3, length_penalty=0.5, min_length=4))
    plain = Translator(saved("luong2015"))
    said = {"beam_size": 3, "length_penalty": 0.5, "min_length": 4}
    for line in LINES:
        expected = plain.translate(line, **said)
        assert own.translate(line).token_scores == expected.token_scores
        assert own.translate(line, beam_size=None).token_scores == expected.token_scores
    assert any(
        own.translate(line, beam_size=1).tokens != own.translate(line).tokens for line in LINES
    )


class Shouts(Constraint):
    """No token of the last four letters."""

    def restrict(self, log_probs, requests, position, written):
        log_probs[..., self.target.encode("rstu")] = NEG_INF


def test_a_constraint_of_a_loaded_module_needs_no_import(translator):
    lines = [*LINES, "ihgf"]
    free = translator.translate(lines, min_length=5)
    ways = {"min_length": 5, "constraint": f"{__name__}:Shouts"}
    found = translator.translate(lines, **ways)
    assert set("rstu") & {token for one in free for token in one.tokens}
    assert not set("rstu") & {token for one in found for token in one.tokens}
    assert [translator.translate(x, **ways).text for x in lines] == [x.text for x in found]
    # else no two calls would be searched together
    assert translator.search_options(**ways) == translator.search_options(**ways)
    for name, problem in (
        (
            "antigravity:fly",
            "constraint is antigravity:fly, but the module antigravity is not imported. "
            "Import it first.",
        ),
        (
            f"{__name__}:Missing",
            f"constraint is {__name__}:Missing, but the module {__name__} has no such class.",
        ),
        (
            f"{__name__}:Translator",
            f"constraint is {__name__}:Translator; it must be a class that extends "
            "regard.search.Constraint.",
        ),
    ):
        said = refusal(ConfigError, translator.translate, "a", constraint=name)
        assert said == f"search: {problem}"
    assert "antigravity" not in sys.modules


def test_an_old_name_of_a_setting_works_with_a_warning(translator):
    for line in ("abab", "aab"):
        with pytest.warns(RenamedSettingWarning, match="search.constraint = .repetition_pattern"):
            old = translator.translate(line, same_pattern=True)
        assert old.tokens == translator.translate(line, constraint="repetition_pattern").tokens
        with pytest.warns(RenamedSettingWarning, match="search.same_pattern is now"):
            off = translator.translate(line, same_pattern=False)
        assert off.tokens == translator.translate(line).tokens


def test_options_can_be_checked_without_a_line():
    own = Translator(saved("luong2015", beam_size=3, length_penalty=0.5))
    options = own.search_options(nbest=5, banned=["k"], candidates=2, tree=True)
    assert options.config == replace(own.settings.search, nbest=5, beam_size=5)
    assert (options.num_candidates, options.keep_tree) == (2, True)
    assert options.banned == {own.target.vocabulary.encode(["k"])[0]}
    assert own.search_options(temperature=1.0).config.beam_size == 1
    sentence = "prefix is 'x', which is no token of the targets. Use one that is."
    assert refusal(InputError, own.search_options, prefix="x") == sentence
    assert refusal(InputError, own.search_options, candidates=-1) == (
        "candidates is -1; it must be a whole number, at least 0."
    )


def test_samples_depend_on_the_seed(translator):
    def drawn(seed):
        found = translator.translate(LINES, temperature=1.5, seed=seed)
        return [x.text for x in found]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("name", SIZES)
def test_rescoring_returns_the_scores_of_the_search(name, beam_size):
    translator = Translator(saved(name))
    found = translator.translate(LINES, beam_size=beam_size, unknown="mark", min_length=1)
    again = translator.rescore((x.source, x.text) for x in found)
    for one, other in zip(found, again, strict=True):
        assert (one.source, one.text, one.tokens) == (other.source, other.text, other.tokens)
        assert one.source_tokens == other.source_tokens
        np.testing.assert_allclose(one.token_scores, other.token_scores, atol=1e-5)
        if name in LOOKS:
            np.testing.assert_allclose(one.layers, other.layers, atol=1e-5)
        else:
            assert other.layers is None


def test_a_target_may_be_tokens_and_may_be_empty(translator):
    sides = side(SOURCE), side([*TARGET, "kl"], Whitespace())
    symbols = Translator(saved("luong2015", sides=sides))
    apart, joined = symbols.rescore([("abc", ["k", "l"]), ("abc", ["kl"])])
    assert (apart.text, joined.text) == ("k l", "kl")
    assert apart.score != joined.score
    (nothing,) = translator.rescore([("abc", "")])
    assert (nothing.tokens, len(nothing.token_scores)) == ((), 1)
    assert nothing.attention.shape == (1, 3)


def test_an_invalid_scoring_request_is_refused(translator):
    assert refusal(InputError, translator.rescore, [("abc", "k"), (" ", "k")]) == (
        "source 2 is blank; it must contain text. Remove the pair."
    )
    assert refusal(InputError, translator.rescore, [(3, "k")]) == (
        "source 1 is of type int; it must be text."
    )
    places = Translator(saved("gehring2017"))
    assert len(places.rescore([("abc", "k" * 39)])[0].tokens) == 39
    assert refusal(InputError, places.rescore, [("abc", "k" * 40)]) == (
        "A target has 40 tokens; the model has positions for 39. Shorten it."
    )


@pytest.mark.parametrize("name", ["meta", "tpu", "cuda:99", ""])
def test_a_device_must_be_available(name, tmp_path):
    save_model(tmp_path / "m", saved())
    said = refusal(ConfigError, regard.load, tmp_path / "m", device=name)
    assert said.startswith(f"settings: device is {name}; it must be one of this machine: cpu")
    assert str(select_device("cpu")) == "cpu"
