"""What a server answers is what the library says, bit for bit, whoever else asks."""

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from server_cases import problem

from regard.config.documentation import document
from regard.config.settings import SearchConfig
from regard.models import PRESETS
from regard.server import response_json
from regard.server.response_json import ResponseFields, encode_json
from regard.translator import Translator
from small_models import LOOKS, SOURCE, saved, side

LINES = ["abc", "jihgfedcba", "", " \t", "a😀c"]
SEARCHES = {
    "as the model has it": {},
    "beam": {"beam_size": 4, "nbest": 3, "length_penalty": 0.5, "candidates": 4, "tree": True},
    "patient beam": {"beam_size": 4, "nbest": 2, "stop": "likeliest"},
    "constraints": {"prefix": ["k", "l"], "banned": ["m", "n"], "min_length": 3, "max_length": 6},
    "text": {"prefix": "kk", "unknown": "mark", "same_length": True},
    "samples": {"temperature": 1.3, "top_k": 5, "top_p": 0.9, "seed": 3, "nbest": 2},
}


def post(client, path="/v1/translate", **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def expected_json(translation, attention=False, influence=None):
    """Write what decision 0004 says of a translation, by hand."""
    expected = {
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "rank_score": translation.rank_score,
        "tokens": list(translation.tokens),
        "source_tokens": list(translation.source_tokens),
        "token_scores": list(translation.token_scores),
    }
    if any(translation.unknown):
        expected["unknown"] = list(translation.unknown)
    if attention and translation.layers is not None:
        weights = translation.layers.astype(np.float64)
        expected["attention"] = translation.layers.mean(axis=(1, 2)).astype(np.float64).tolist()
        if weights.shape[1:3] != (1, 1):
            expected["attention_shape"] = {"layers": weights.shape[1], "heads": weights.shape[2]}
            expected["layers"] = weights.tolist()
    if influence is not None and translation.source_tokens:
        expected["influence"] = influence(translation).astype(np.float64).tolist()
    if translation.candidates:
        expected["candidates"] = [[list(pair) for pair in row] for row in translation.candidates]
    if translation.alternatives:
        expected["alternatives"] = [
            {
                "text": x.text,
                "tokens": list(x.tokens),
                "token_scores": list(x.token_scores),
                "score": x.score,
                "rank_score": x.rank_score,
                **({"unknown": list(x.unknown)} if any(x.unknown) else {}),
            }
            for x in translation.alternatives
        ]
    if translation.tree:
        names = ("parent", "token", "score", "total", "in_nbest")
        expected["tree"] = [{name: getattr(x, name) for name in names} for x in translation.tree]
    if translation.unknown_source:
        names = ("position", "token", "similar", "difference")
        expected["unknown_source"] = [
            {name: getattr(x, name) for name in names} for x in translation.unknown_source
        ]
    if translation.notes:
        expected["notes"] = list(translation.notes)
    return expected


def test_unknown_source_tokens_are_named_with_their_positions(client):
    (answer,) = post(client, text="aBz", model="cho2014")["translations"]
    assert answer["unknown_source"] == [
        {"position": 1, "token": "B", "similar": "b", "difference": "case"},
        {"position": 2, "token": "z", "similar": None, "difference": None},
    ]
    (answer,) = post(client, text="abc", model="cho2014")["translations"]
    assert "unknown_source" not in answer


@pytest.fixture(scope="session")
def expected(translators):
    """Return what the library says of each line, once for all tests, with everything."""

    @cache
    def translations_of(name, search):
        translator = translators[name]
        answers = translator.translate(LINES, **SEARCHES[search])
        return [expected_json(answer, True, translator.influence) for answer in answers]

    return translations_of


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", PRESETS)
def test_a_response_equals_the_librarys_to_the_last_bit(client, expected, name, search):
    options = {"model": name, "attention": True, "layers": True, "influence": True}
    options |= SEARCHES[search]
    response = post(client, text=LINES, **options)
    assert response == {"model": name, "translations": expected(name, search)}


def test_self_attention_is_returned_on_request(client, translators):
    ask = {"text": "abcde", "model": "vaswani2017", "pin": {"1": 2}}
    names = {"encoder_self_attention", "decoder_self_attention"}
    (plain,) = post(client, **ask)["translations"]
    assert not names & plain.keys()
    (got,) = post(client, **ask, self_attention=True)["translations"]
    said = translators["vaswani2017"].translate("abcde", pin={1: 2}, self_attention=True)
    assert got == plain | {name: getattr(said, name).tolist() for name in names}
    assert np.shape(got["encoder_self_attention"]) == (5, 3, 2, 5)
    length = len(got["tokens"]) + 1
    assert np.shape(got["decoder_self_attention"]) == (length, 3, 2, length)
    for name in ("luong2015", "gehring2017"):
        (got,) = post(client, text="abc", model=name, self_attention=True)["translations"]
        assert not names & got.keys()


def test_models_say_whether_they_have_self_attention(client):
    models = {one["name"]: one for one in client.get("/v1/models").json()["models"]}
    sides = models["vaswani2017"]["self_attention"]
    assert sides == {side: {"layers": 3, "heads": 2} for side in ("encoder", "decoder")}
    assert models["luong2015"]["self_attention"] == {"encoder": None, "decoder": None}


@pytest.mark.parametrize("name", LOOKS)
def test_a_pinned_step_attends_to_its_source_token(client, translators, name):
    response = post(client, text="abcde", model=name, layers=True, pin={"0": 4, "2": 1})
    (got,) = response["translations"]
    assert got == expected_json(translators[name].translate("abcde", pin={0: 4, 2: 1}), True)
    assert got["attention"][0] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert got["attention"][2] == [0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", PRESETS)
def test_given_targets_are_scored_as_by_the_library(client, translators, name):
    pairs = [("abc", "klm"), ("jj", ["o", "p", "q"]), ("f", ""), ("abc", ["k", None, "?"])]
    body = [{"source": source, "target": target} for source, target in pairs]
    options = {"pairs": body, "model": name, "layers": True, "influence": True}
    response = post(client, "/v1/rescore", **options)
    for got, pair in zip(response["translations"], pairs, strict=True):
        (expected,) = translators[name].rescore([pair])
        assert got == expected_json(expected, True, translators[name].influence)
        assert len(got["token_scores"]) == len(got["tokens"]) + 1


def test_only_requested_fields_are_in_the_json(client):
    (got,) = post(client, text="abc", max_length=9, min_length=9)["translations"]
    plain = {
        "source",
        "text",
        "score",
        "rank_score",
        "tokens",
        "source_tokens",
        "token_scores",
        "notes",
    }
    assert got.keys() == plain
    (got,) = post(client, text="abc", model="cho2014", attention=True)["translations"]
    assert "attention" not in got
    (got,) = post(client, text="abc", model="bahdanau2015", attention=True)["translations"]
    assert "layers" not in got


def test_layers_and_heads_are_returned_on_request(client, translators):
    translation = translators["vaswani2017"].translate("abc")
    ask = {"text": "abc", "model": "vaswani2017"}
    (mean,) = post(client, **ask, attention=True)["translations"]
    assert mean["attention"] == translation.attention.astype(np.float64).tolist()
    assert mean["attention_shape"] == {"layers": 3, "heads": 2}
    assert "layers" not in mean
    (every,) = post(client, **ask, attention=True, layers=True)["translations"]
    assert every == {**mean, "layers": translation.layers.astype(np.float64).tolist()}
    # every look is attention too
    assert post(client, **ask, layers=True)["translations"] == [every]
    (plain,) = post(client, **ask)["translations"]
    assert not {"attention", "attention_shape", "layers"} & plain.keys()
    for name, fields in (("bahdanau2015", {"attention"}), ("cho2014", set())):
        (got,) = post(client, text="abc", model=name, layers=True)["translations"]
        assert {"attention", "attention_shape", "layers"} & got.keys() == fields


def test_weights_are_written_row_by_row(translators, monkeypatch):
    """Whoever writes JSON lets no other thread run until it is written."""
    written = []

    def spied(value):
        written.append(encode_json(value))
        return written[-1]

    monkeypatch.setattr(response_json, "encode_json", spied)
    translation = translators["vaswani2017"].translate("abcdefghij", min_length=9)
    whole = response_json.translation_json(
        translators["vaswani2017"], translation, ResponseFields(True, True, True), 10**9
    )
    assert json.loads(whole)["layers"] == translation.layers.astype(np.float64).tolist()
    assert len(written) == 1 + 3 * 10
    assert max(map(len, written)) < len(whole) / 8


def test_an_unknown_token_can_be_sent_back_as_a_prefix(serve):
    sides = side(SOURCE), side(SOURCE)
    client = serve({"m": Translator(saved(seed=3, sides=sides))})
    (first,) = post(client, text="abcj", nbest=2, influence=True)["translations"]
    assert first["unknown"] == first["alternatives"][0]["unknown"] == [True] * 9
    assert set(first["tokens"]) <= set(SOURCE)
    prefix = [None] * 9
    (again,) = post(client, text="abcj", prefix=prefix, influence=True)["translations"]
    for name in ("tokens", "token_scores", "unknown", "influence"):
        assert again[name] == first[name]
    pairs = [{"source": "abcj", "target": prefix}]
    (scored,) = post(client, "/v1/rescore", pairs=pairs)["translations"]
    assert scored["token_scores"] == pytest.approx(first["token_scores"], abs=1e-5)
    assert scored["text"] == "�" * 9


def test_a_text_is_one_line_and_an_empty_list_has_no_translations(client):
    assert [x["source"] for x in post(client, text="abc")["translations"]] == ["abc"]
    assert post(client, text=[])["translations"] == []
    assert post(client, "/v1/rescore", pairs=[])["translations"] == []


def test_without_a_name_the_first_model_answers(client):
    first = next(iter(PRESETS))
    assert post(client, text="abc")["model"] == first
    assert post(client, text="abc", model=None)["model"] == first


def test_concurrent_clients_get_the_same_as_a_single_one(client, expected):
    """Different models, lines and options, so that neighbours in a batch are strangers."""
    generator = random.Random(5)
    kinds = [(name, search) for name in PRESETS for search in SEARCHES]
    bodies = []
    for name, search in generator.sample(kinds, len(kinds)):
        lines = generator.choices(LINES, k=generator.randrange(1, 4))
        attention = generator.random() < 0.5
        wanted = {
            "attention": attention,
            "layers": attention,
            "influence": generator.random() < 0.2,
        }
        bodies.append((name, search, {"text": lines, **wanted}))
    with ThreadPoolExecutor(12) as pool:
        every = list(
            pool.map(lambda one: post(client, model=one[0], **SEARCHES[one[1]], **one[2]), bodies)
        )
    # in this thread only now: torch is not run in two
    for (name, search, body), response in zip(bodies, every, strict=True):
        alone = dict(zip(LINES, expected(name, search), strict=True))
        left_out = {"attention", "attention_shape", "layers"} if not body["attention"] else set()
        left_out |= {"influence"} if not body["influence"] else set()
        for line, got in zip(body["text"], response["translations"], strict=True):
            assert got == {key: x for key, x in alone[line].items() if key not in left_out}


def test_models_describe_themselves_and_their_options(client, translators):
    response = client.get("/v1/models").json()
    assert [model["name"] for model in response["models"]] == list(PRESETS)
    for model in response["models"]:
        looks = LOOKS.get(model["name"])
        expected = None if looks is None else {"layers": looks[0], "heads": looks[1]}
        assert model["attention"] == expected
        # ten and eleven letters, and the four symbols that every vocabulary begins with
        assert model["source"] == {"tokenizer": "characters", "symbols": 14, "case": "keep"}
        assert model["target"] == {"tokenizer": "characters", "symbols": 15, "case": "keep"}
        assert model["max_source_length"] == 20
        assert (model["search"]["max_length"], model["summary"]) == (9, {"seed": 1})
        weights = translators[model["name"]].models[0].state_dict().values()
        assert 0 < model["parameters"] <= sum(weight.numel() for weight in weights)
    wanted = {"bytes", "lines", "characters", "seconds", "queue_lines", "batch_lines"}
    wanted |= {"beam_size", "length", "answer_bytes", "stall_seconds"}
    assert wanted == response["limits"].keys()
    assert response["limits"]["lines"] == 256


def test_every_search_setting_can_be_requested_within_its_bounds(client):
    schema = client.get("/openapi.json").json()["components"]["schemas"]["TranslateRequest"]
    fields = schema["properties"]
    entries = {entry.name: entry for entry in document(SearchConfig)}
    assert [name for name in fields if name in entries] == [x for x in entries if x != "batch_size"]
    for name, entry in entries.items():
        if name != "batch_size":
            assert fields[name]["description"].startswith(entry.text)
    assert fields["beam_size"]["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert fields["top_p"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
    assert fields["temperature"]["anyOf"][0] == {"type": "number", "minimum": 0, "maximum": 100}
    assert fields["stop"]["anyOf"][0]["enum"] == ["full", "likeliest"]
    assert fields["same_length"]["anyOf"][0] == {"type": "boolean"}


def test_a_request_may_name_a_constraint_also_by_its_old_name(client):
    ask = {"text": "abcab", "model": "bahdanau2015"}
    new = client.post("/v1/translate", json=ask | {"constraint": "repetition_pattern"}).json()
    (found,) = new["translations"]
    assert [found["tokens"].index(x) for x in found["tokens"]] == [0, 1, 2, 0, 1]
    assert client.post("/v1/translate", json=ask | {"same_pattern": True}).json() == new
    schema = client.get("/openapi.json").json()["components"]["schemas"]["TranslateRequest"]
    assert schema["properties"]["same_pattern"] == {
        "anyOf": [{"type": "boolean"}, {"type": "null"}],
        "default": None,
        "deprecated": True,
        "description": "Old name: true is constraint = repetition_pattern.",
        "title": "Same Pattern",
    }


def test_a_request_imports_nothing(client):
    ask = {"text": "a", "constraint": "antigravity:fly"}
    said = problem(client.post("/v1/translate", json=ask), 422)
    assert said == (
        "search: constraint is antigravity:fly, but the module antigravity is not imported. "
        "Import it first."
    )
    assert "antigravity" not in sys.modules
