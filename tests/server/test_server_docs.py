"""The examples of the API reference are what the server answers."""

from pathlib import Path

import pytest

from regard.server import schemas
from regard.server.openapi import EXAMPLES

NEAR = {"abs": 1e-4, "rel": 1e-3}


@pytest.fixture(scope="module")
def digits():
    """Return the model file whose answers are the examples."""
    return Path(__file__).parents[1] / "compat" / "bahdanau2015.regard"


@pytest.mark.parametrize("kind", ["Translate", "Rescore"])
def test_an_example_is_the_response_to_its_request(serve, digits, kind):
    client = serve({"digits": digits})
    answer = client.post(f"/v1/{kind.lower()}", json=EXAMPLES[f"{kind}Request"]).json()
    expected = EXAMPLES[f"{kind}Response"]
    assert answer.keys() == expected.keys()
    [line], [expected_line] = answer["translations"], expected["translations"]
    assert line.keys() == expected_line.keys()
    for name in ("score", "rank_score", "token_scores"):
        assert line[name] == pytest.approx(expected_line[name], **NEAR)
    for row, expected_row in zip(
        line.get("attention", []), expected_line.get("attention", []), strict=True
    ):
        assert row == pytest.approx(expected_row, **NEAR)
    assert (line["text"], line["tokens"]) == (expected_line["text"], expected_line["tokens"])


def test_examples_of_lists_and_errors_have_the_fields_of_the_server(serve, digits):
    client = serve({"digits": digits})
    models = client.get("/v1/models").json()
    assert models["limits"].keys() == EXAMPLES["ModelsResponse"]["limits"].keys()
    [model], [example] = models["models"], EXAMPLES["ModelsResponse"]["models"]
    assert {**model, "summary": None} == {**example, "summary": None}
    assert client.get("/healthz").json() == EXAMPLES["HealthStatus"]
    assert client.get("/readyz").json() == EXAMPLES["ReadyStatus"]
    refusal = client.post("/v1/translate", json={"txet": "1234"}).json()
    assert refusal == EXAMPLES["ProblemDetails"]
    for name, example in EXAMPLES.items():
        schema = {"RescoreResponse": "TranslateResponse", "ReadyStatus": "HealthStatus"}.get(name)
        getattr(schemas, schema or name).model_validate(example)
