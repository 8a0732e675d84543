"""What a translator gives back: samples that are samples, texts once, and no raw Python error."""

import pytest
from translator_cases import LINES, refusal

from regard.errors import ConfigError, InputError
from regard.search import SearchRequest, search
from regard.translator import Translator
from search_options import wanted
from small_models import SOURCE, TARGET, saved, side


def test_a_sample_is_drawn_once_also_by_a_model_that_keeps_five_hypotheses():
    five = Translator(saved("luong2015", beam_size=5))

    def drawn(**settings):
        found = five.translate(LINES, temperature=1.5, **settings)
        return [x.token_scores for x in found]

    assert drawn() == drawn(beam_size=1) != drawn(beam_size=5)
    assert drawn(nbest=3) == drawn(nbest=3, beam_size=3)
    # nobody has to say that it draws: the model's own setting does
    warm = Translator(saved("luong2015", beam_size=5, temperature=1.5))
    assert [x.token_scores for x in warm.translate(LINES)] == drawn()
    greedy = five.translate(LINES, beam_size=5)
    cold = warm.translate(LINES, temperature=0)
    assert [x.token_scores for x in cold] == [x.token_scores for x in greedy]


def test_top_k_and_top_p_require_sampling(translator):
    would = "but temperature is 0, which samples nothing. Use temperature = 1."
    ask = translator.translate
    assert refusal(ConfigError, ask, "a", top_k=3) == f"search: top_k is 3, {would}"
    assert refusal(ConfigError, ask, "a", top_p=0.5, temperature=0) == (
        f"search: top_p is 0.5, {would}"
    )
    assert refusal(ConfigError, ask, "a", top_p=0.5, top_k=3) == (
        f"search: top_k is 3, {would}\nsearch: top_p is 0.5, {would}"
    )
    # of all words nothing is left out, and what a model keeps for when it draws is no mistake
    assert ask("a", top_k=0, top_p=1.0).text == ask("a").text
    own = Translator(saved("luong2015", top_k=3))
    assert own.translate("a").text == ask("a").text
    assert Translator(saved("luong2015", temperature=1.0)).translate("a", top_k=3).tokens


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
def test_the_rank_is_the_score_divided_by_a_power_of_the_length(translator, length_penalty):
    for found in translator.translate(LINES, nbest=4, length_penalty=length_penalty):
        for one in found.alternatives:
            expected = sum(one.token_scores) / (len(one.tokens) + 1) ** length_penalty
            assert one.rank_score == pytest.approx(expected)
        ranks = [one.rank_score for one in found.alternatives]
        assert ranks == sorted(ranks, reverse=True)
        assert found.rank_score == ranks[0]
        assert found.score == sum(found.token_scores)


def test_rescoring_ranks_by_the_models_own_length_penalty():
    half = Translator(saved("luong2015", length_penalty=0.5))
    (found,) = half.rescore([("abc", "klm")])
    assert found.rank_score == pytest.approx(sum(found.token_scores) / 2)


def test_the_best_of_several_tokenizations_of_a_text_is_an_alternative():
    # "kl" can be written as one symbol and as two
    sides = side(SOURCE), side([*TARGET, "kl"])
    model = saved("luong2015", sides=sides)
    banned = [token for token in TARGET if token not in "kl"]
    asked = {"nbest": 12, "beam_size": 12, "max_length": 3, "min_length": 1}
    fewer = 0
    for line in LINES:
        found = Translator(model).translate(line, banned=banned, unknown="mark", **asked)
        words = frozenset(model.target.vocabulary.encode(banned))
        request = SearchRequest(tuple(model.source.encode(line)))
        (every,) = search([model.model], [request], wanted(**asked, banned=words))
        written = [
            "".join(model.target.vocabulary.decode(x.token_ids)).replace("<unk>", "�")
            for x in every
        ]
        ways = {
            text: [x for x, y in zip(every, written, strict=True) if y == text] for text in written
        }
        assert [x.text for x in found.alternatives] == list(ways)
        for one in found.alternatives:
            assert one.rank_score == max(x.score / len(x.scores) for x in ways[one.text])
        fewer += len(found.alternatives) < len(every)
    assert fewer


def test_lines_that_are_not_iterable_are_refused(translator):
    assert refusal(InputError, translator.translate, None) == (
        "lines is of type NoneType; it must be text or a list of lines."
    )
    assert refusal(InputError, translator.rescore, 3) == (
        "pairs is of type int; it must be a list like [(source, target)]."
    )


@pytest.mark.parametrize("candidates", [-1, 1.5, "2"])
def test_candidates_are_counted(translator, candidates):
    assert refusal(InputError, translator.translate, "abc", candidates=candidates) == (
        f"candidates is {candidates!r}; it must be a whole number, at least 0."
    )


@pytest.mark.parametrize("pin", [{"a": 2}, {0: "b"}, {0.5: 1}, {0: None}])
def test_a_pin_consists_of_numbers(translator, pin):
    assert refusal(InputError, translator.translate, "abc", pin=pin) == (
        f"pin is {pin}; it must map a step, from 0, to a source token from 0 to 2."
    )


def test_pins_map_steps_to_tokens(translator):
    assert refusal(InputError, translator.translate, "abc", pin=[(0, 2)]) == (
        "pin is of type list; it must map steps to source tokens, like {0: 2}."
    )


def test_a_pair_alone_is_no_list_of_pairs(translator):
    would = "it must be (source, target)."
    for pair in (("abc", "cba"), ("ab", "kl"), "abc"):
        assert refusal(InputError, translator.rescore, pair) == (f"pair 1 is of type str; {would}")
    assert refusal(InputError, translator.rescore, [("a", "k"), ("a", "k", "l")]) == (
        f"pair 2 has 3 parts; {would}"
    )
    assert refusal(InputError, translator.rescore, [("a", "k"), ("a", None)]) == (
        "The target of pair 2 is of type NoneType; it must be text or a list."
    )
    assert translator.rescore([["abc", "klm"]])[0].text == "klm"


def test_batched_requests_are_translated_as_single_ones():
    translator = Translator(saved())
    ways = [
        {},
        {"beam_size": 3, "nbest": 2},
        {"prefix": "kl"},
        {"pin": {0: 1}},
        {"beam_size": 3, "nbest": 2, "tree": True},
        {"temperature": 1.0, "seed": 4},
        {"candidates": 2},
    ]
    lines = ["abc", " ", "jihgfedcba", "ff"]
    asked = [(line, way) for line in lines for way in ways]
    told = []
    together = translator.translate_prepared(
        [one for line, way in asked for one in translator.prepare([line], **way)], told.append
    )
    assert sum(told) == len(asked)
    for (line, way), answer in zip(asked, together, strict=True):
        alone = translator.translate(line, **way)
        assert answer.to_json() == alone.to_json()
        assert (answer.layers is None) == (alone.layers is None)
        assert answer.layers is None or (answer.layers == alone.layers).all()
