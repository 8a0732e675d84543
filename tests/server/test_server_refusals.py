"""What a server refuses: one sentence in a problem document, whatever it was sent."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from server_cases import problem

from regard.errors import ConfigError, InputError
from regard.server import Limits, create_app, response_json
from regard.server.response_json import ResponseFields, encode_json
from regard.translator import Translator
from small_models import saved

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"txt": "abc"}, "Unknown field txt. Did you mean text?"),
        ({}, "text is missing; it is required."),
        ({"text": 5}, "text is 5; it must be a string or a list."),
        ({"text": ["a", 3]}, "text[1] is 3; it must be a string."),
        ({"text": None}, "text is null; it must be a string or a list."),
        ({"text": "a", "beam_size": 0}, "beam_size is 0; it must be at least 1"),
        ({"text": "a", "beam_size": "3"}, 'beam_size is "3"; it must be a whole number'),
        ({"text": "a", "beam_size": 2.5}, "beam_size is 2.5; it must be a whole number"),
        ({"text": "a", "beam_size": True}, "beam_size is true; it must be a whole number"),
        ({"text": "a", "attention": 1}, "attention is 1; it must be true or false"),
        ({"text": "a", "unknown": "drop"}, 'unknown is "drop"; it must be copy or mark'),
        ({"text": "a", "candidates": 21}, "candidates is 21; it must be at most 20"),
        ({"text": "a", "top_p": 0}, "top_p is 0; it must be above 0"),
        ({"text": "a", "temperature": 1e-9}, "temperature is 1e-09; it must be 0 or at least"),
        ({"text": "a", "stop": "never"}, 'stop is "never"; it must be full or likeliest'),
        ({"text": "a", "length_penalty": 11}, "length_penalty is 11; it must be at most 10"),
        ({"text": "a", "pin": {"x": 0}}, 'pin.x is "x"; it must be a step, counted from 0'),
        ({"text": "a", "pin": {"0": -1}}, "pin.0 is -1; it must be at least 0"),
        ({"text": "a", "pin": [0]}, "pin is [0]; it must be an object"),
        ({"text": "a", "prefix": ["k", 1]}, "prefix[1] is 1; it must be a string."),
        ({"text": "a", "nbest": 21}, "nbest is 21; it must be at most 20."),
        ({"text": "a", "beam_size": 21}, "beam_size is 21; it must be at most 20."),
        ({"text": "a", "max_length": 513}, "max_length is 513; it must be at most 512."),
        ({"text": "a", "min_length": 10**30}, f"min_length is {10**30}; it must be at most 512"),
        (
            {"text": "a", "prefix": ["k", ""]},
            "The prefix contains an empty token.",
        ),
        ({"text": "a", "nbest": 3, "beam_size": 2}, "search: nbest is 3; it must be at most"),
        ({"text": "a", "banned": ["Z"]}, "banned is 'Z', which is no token of the targets."),
        ({"text": "a", "prefix": "Z"}, "prefix is 'Z', which is no token of the targets."),
        ({"text": [], "prefix": "Z"}, "prefix is 'Z', which is no token of the targets."),
        (
            {"text": "a", "top_k": 3},
            "search: top_k is 3, but temperature is 0, which samples nothing",
        ),
        ({"text": "a", "pin": {"0": 0}}, "pin needs a model with attention"),
        (
            {"text": "a", "model": "x"},
            "model is 'x'; it must be one of the served models: cho2014, ",
        ),
        ([1], "The body must be a JSON object, for example "),
    ],
    ids=str,
)
def test_an_invalid_translation_request_is_refused(client, body, sentence):
    detail = problem(client.post("/v1/translate", json=body), 422)
    assert detail.startswith(sentence)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"pairs": [["a", "b"]]}, 'pairs[0] is ["a", "b"]; it must be an object'),
        ({"pairs": [{"source": "a"}]}, "pairs[0].target is missing; it is required."),
        (
            {"pairs": [{"source": "a", "target": "k", "goal": 1}]},
            "Unknown field pairs[0].goal. Did you mean target?",
        ),
        (
            {"pairs": [{"source": "a", "target": "k"}, {"source": " ", "target": "k"}]},
            "Source 2 is blank; it must contain text. Remove the pair.",
        ),
        ({"pairs": [], "beam_size": 2}, "Unknown field beam_size. Did you mean "),
        (
            {"pairs": [{"source": "a", "target": ["k", ""]}]},
            "The target contains an empty token. Remove it.",
        ),
        (
            {"pairs": [{"source": "a", "target": "k" * 41}], "model": "gehring2017"},
            "A target has 41 tokens; the model has positions for 39. Shorten it.",
        ),
    ],
    ids=str,
)
def test_an_invalid_scoring_request_is_refused(client, body, sentence):
    assert problem(client.post("/v1/rescore", json=body), 422).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "EOF while parsing a value at line 1 column 0"),
        (b'{"text": "a"', "EOF while parsing an object at line 1 column 12"),
        (b'{"text": "a\xff"}', "invalid unicode code point at line 1 column 12"),
        (b"\xff\xfe{\x00}\x00", "expected value at line 1 column 1"),
        (b'{"text": "\\ud800"}', "unexpected end of hex escape at line 1 column 17"),
        (b"[" * 100_000, "recursion limit exceeded at line 1 column 202"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "number out of range at line 1 column 4311"),
    ],
    ids=["nothing", "half", "not UTF-8", "UTF-16", "half a character", "deep", "long number"],
)
def test_invalid_json_is_refused(client, content, sentence):
    answer = client.post("/v1/translate", content=content, headers=JSON)
    assert problem(answer, 422) == f"The body is not valid JSON: {sentence}."


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_nan_and_infinity_are_refused(client, number):
    content = f'{{"text": "a", "temperature": {number}}}'
    detail = problem(client.post("/v1/translate", content=content, headers=JSON), 422)
    assert detail.endswith("; it must be a finite number.")


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, "Content-Type is missing; it must be application/json in UTF-8."),
        ({"Content-Type": "text/plain"}, "Content-Type is text/plain; it must be application/"),
        (
            {"Content-Type": "application/json; charset=latin-1"},
            "Content-Type is application/json;",
        ),
        ({**JSON, "Content-Encoding": "gzip"}, "Content-Encoding is gzip; it must be identity"),
    ],
    ids=str,
)
def test_a_body_without_a_json_content_type_is_refused(client, headers, sentence):
    answer = client.post("/v1/translate", content=b'{"text": "abc"}', headers=headers)
    assert problem(answer, 415).startswith(sentence)


def test_a_json_content_type_may_name_utf_8(client):
    headers = {"Content-Type": "application/json; charset=UTF-8"}
    answer = client.post("/v1/translate", content=b'{"text": "abc"}', headers=headers)
    assert answer.status_code == 200


def test_unknown_paths_and_methods_are_refused(client):
    for path in ("/nothing", "/v1/translate/", "/page/index.html", "/docs/", "/%2e%2e/app.py"):
        assert problem(client.get(path), 404).startswith(
            "There is nothing at this path. See /docs "
        )
    answer = client.get("/v1/translate")
    assert problem(answer, 405) == "GET is not allowed here. Use POST."
    assert answer.headers["allow"] == "POST"
    assert problem(client.delete("/v1/models"), 405) == "DELETE is not allowed here. Use GET."


def test_too_many_lines_are_refused(client):
    answer = client.post("/v1/translate", json={"text": ["a"] * 10_000})
    rest = "it must have at most 256. Split it into several requests."
    assert problem(answer, 413) == f"The request has 10,000 lines; {rest}"
    pairs = [{"source": "a", "target": "k"}] * 257
    answer = client.post("/v1/rescore", json={"pairs": pairs})
    assert problem(answer, 413) == f"The request has 257 pairs; {rest}"


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("translate", {"text": "a" * 4001}, "The line"),
        ("translate", {"text": ["a", "a" * 4001]}, "Line 2"),
        ("translate", {"text": "a", "prefix": ["k"] * 4001}, "The prefix"),
        ("translate", {"text": "a", "banned": ["k"] * 4001}, "The list of banned tokens"),
        ("rescore", {"pairs": [{"source": "a" * 4001, "target": "k"}]}, "The source"),
        ("rescore", {"pairs": [{"source": "a", "target": ["k"] * 4001}]}, "The target"),
    ],
    ids=["line", "second line", "prefix", "banned", "source", "target"],
)
def test_a_line_that_is_too_long_is_refused(client, path, body, where):
    detail = problem(client.post(f"/v1/{path}", json=body), 422)
    assert detail == (f"{where} has 4,001 characters; it must have at most 4,000. Shorten it.")


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("translate", {"text": "a", "prefix": ["k"] * 513}, "The prefix has 513"),
        ("translate", {"text": "a", "prefix": "k" * 4000}, "The prefix has 4,000"),
        ("rescore", {"pairs": [{"source": "a", "target": [""] * 100_000}]}, "The target has 100,"),
        ("rescore", {"pairs": [{"source": "a", "target": [None] * 513}]}, "The target has 513"),
        (
            "rescore",
            {"pairs": [{"source": "a", "target": "k"}, {"source": "a", "target": "k" * 513}]},
            "Target 2 has 513",
        ),
    ],
    ids=["prefix", "prefix as text", "empty tokens", "unknown tokens", "second target"],
)
def test_more_tokens_than_an_output_may_have_are_refused(serve, slow, path, body, where):
    translator, held = slow()
    detail = problem(serve({"m": translator}).post(f"/v1/{path}", json=body), 422)
    assert detail.startswith(where)
    assert detail.endswith(" tokens; it must have at most 512. Shorten it.")
    # the model was not asked
    assert held.batches == []


def test_a_target_as_long_as_the_longest_output_is_scored(serve):
    client = serve(length=30)
    for count, status in ((30, 200), (31, 422)):
        pairs = [{"source": "a", "target": ["k"] * count}]
        assert client.post("/v1/rescore", json={"pairs": pairs}).status_code == status
        ask = {"text": "a", "prefix": ["k"] * count, "max_length": 30}
        assert client.post("/v1/translate", json=ask).status_code == status
    # a model's own length may be larger
    longer = serve({"m": Translator(saved(max_length=31))}, length=30)
    assert longer.post("/v1/rescore", json={"pairs": pairs}).status_code == 200


def test_a_line_of_exactly_the_maximum_length_is_accepted(client):
    (got,) = client.post("/v1/translate", json={"text": "a" * 4000}).json()["translations"]
    assert len(got["source_tokens"]) == 20
    assert got["notes"][0].startswith("The source has 4,000 tokens; only the first 20 ")


def test_a_request_whose_response_would_be_too_large_is_refused(serve, translators):
    client = serve({"vaswani2017": translators["vaswani2017"]}, answer_bytes=3000)
    assert client.post("/v1/translate", json={"text": "abc"}).status_code == 200
    answer = client.post("/v1/translate", json={"text": ["abc"] * 40, "attention": True})
    sentence = "The response is larger than 3,000 bytes. Send fewer lines per request."
    assert problem(answer, 413) == sentence
    assert client.app.state.service.worker.num_queued_lines == 0


@pytest.mark.parametrize(
    ("wanted", "would"),
    [
        ({}, "Send a shorter line."),
        ({"influence": True}, "Send a shorter line, or request it without influence."),
        ({"attention": True}, "Send a shorter line, or request it without attention."),
        ({"attention": True, "layers": True}, "Send a shorter line, or request it without layers."),
    ],
    ids=str,
)
def test_an_error_for_a_single_oversized_line_names_the_remedy(serve, translators, wanted, would):
    client = serve({"vaswani2017": translators["vaswani2017"]}, answer_bytes=200)
    for text in ("abc", ["abc", "b"]):
        answer = client.post("/v1/translate", json={"text": text, **wanted})
        assert problem(answer, 413) == f"The response is larger than 200 bytes. {would}"


def test_an_oversized_response_is_refused_before_it_is_serialized(translators, monkeypatch):
    translator = translators["vaswani2017"]
    translation = translator.translate("abcdefghij", min_length=9)
    whole = response_json.translation_json(
        translator, translation, ResponseFields(True, False, True), 10**9
    )
    assert (
        response_json.translation_json(
            translator, translation, ResponseFields(True, False, True), len(whole)
        )
        == whole
    )
    assert (
        response_json.translation_json(
            translator, translation, ResponseFields(True, False, True), len(whole) - 1
        )
        is None
    )
    rows = []

    def spied(value):
        rows.append(value)
        return encode_json(value)

    monkeypatch.setattr(response_json, "encode_json", spied)
    # 600 weights have two thirds of the bytes
    assert (
        response_json.translation_json(
            translator, translation, ResponseFields(True, False, True), len(whole) // 2
        )
        is None
    )
    assert len(rows) == 1 + 10


def test_internal_errors_appear_in_the_log_only(serve, slow, caplog, eventually):
    translator, held = slow()
    whole = held.translate

    def broken(prepared):
        if any(one.line.text == "bad" for one in prepared):
            raise RuntimeError("secret in /srv/secret.py")
        return whole(prepared)

    held.translate = broken
    client = serve({"m": translator}, seconds=15)
    worker = client.app.state.service.worker
    with caplog.at_level(logging.ERROR, "regard.server"), ThreadPoolExecutor(3) as pool:
        first = pool.submit(client.post, "/v1/translate", json={"text": "a"})
        held.until(1)
        bad = pool.submit(client.post, "/v1/translate", json={"text": ["abc", "bad"]})
        good = pool.submit(client.post, "/v1/translate", json={"text": "abc"})
        eventually(lambda: worker.num_queued_lines == 3)
        held.go.set()
        detail = problem(bad.result(), 500)
        # nobody pays for a neighbour
        assert [first.result().status_code, good.result().status_code] == [200, 200]
    assert detail.startswith("An internal error occurred; the server log has the details.")
    assert "secret in" in caplog.text


def test_an_error_outside_the_queue_is_a_problem_document_too(serve, caplog):
    client = serve()
    client.app.state.service.metrics.exposition = lambda: 1 / 0
    assert problem(client.get("/metrics"), 500).startswith("An internal error occurred")
    assert "ZeroDivisionError" in caplog.text


def test_an_error_of_the_model_is_refused_as_such(serve, slow):
    translator, held = slow()
    held.go.set()

    def refuse(lines):
        raise InputError("a source has 3 symbols, but it must fit into memory")

    held.translate = refuse
    response = serve({"m": translator}).post("/v1/translate", json={"text": "abc"})
    assert problem(response, 422) == "a source has 3 symbols, but it must fit into memory"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_another_host_is_refused(serve, host, status):
    client = serve(hosts={"127.0.0.1", "localhost", "[::1]"})
    for path in ("/healthz", "/readyz", "/metrics"):
        assert client.get(path, headers={"Host": host}).status_code == 200
    for path in ("/v1/models", "/healthz/", "/"):
        answer = client.get(path, headers={"Host": host})
        assert answer.status_code == (404 if (path, status) == ("/healthz/", 200) else status)
    if status == 421:
        sentence = "The Host header does not name this server. Use the server's own address, "
        assert problem(answer, 421) == f"{sentence}or allow the name with --allow-host."


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"lines": 0}, "serve: lines is 0; it must be a whole number, at least 1."),
        ({"bytes": 1.5}, "serve: bytes is 1.5; it must be a whole number, at least 1."),
        ({"seconds": 0}, "serve: seconds is 0; it must be a number, above 0 and below 1000000."),
        (
            {"stall_seconds": 0},
            "serve: stall_seconds is 0; it must be a number, above 0 and below 1000000.",
        ),
        (
            {"lines": 30, "queue_lines": 20},
            "serve: lines is 30; it must be at most queue_lines = 20. Set queue_lines = 30.",
        ),
    ],
)
def test_impossible_limits_are_refused(limits, sentence):
    with pytest.raises(ConfigError) as refused:
        Limits(**limits)
    assert str(refused.value) == sentence


def test_a_server_without_models_is_refused():
    with pytest.raises(InputError) as refused:
        create_app({})
    assert str(refused.value) == "There is no model to serve. Pass at least one model."


def test_a_long_wrong_value_is_abbreviated_in_the_error(client):
    detail = problem(
        client.post("/v1/translate", json={"text": "a", "seed": "\n" + "x" * 999}), 422
    )
    assert len(detail) < 150
    assert json.loads(json.dumps(detail)).isprintable()
