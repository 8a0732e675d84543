"""The OpenAPI document: every route, its possible statuses, and their schemas."""

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from regard.server.limits import Limits
from regard.server.messages import RETRY_AFTER, STATUS_DESCRIPTIONS
from regard.server.problem_details import MEDIA_TYPE
from regard.server.schemas import SCHEMAS

EXAMPLES: dict[str, Any] = json.loads(
    Path(__file__).with_name("api_examples.json").read_text(encoding="utf-8")
)
"""An example for each body, by the name of its schema; the model reverses digits."""

REFERENCE = "#/components/schemas/{model}"
WORK_PROBLEMS = (413, 415, 422, 429, 503, 504)
"""Error statuses of the routes that run a model."""

RETRY_AFTER_HEADER = {
    "Retry-After": {"description": RETRY_AFTER, "required": True, "schema": {"type": "integer"}}
}


def responses(
    schema: str, *problems: int, any_host: bool = False, example: str | None = None
) -> dict[int | str, dict[str, Any]]:
    """Describe a route's responses; `any_host`: it does not check the Host header."""
    success = response(schema, STATUS_DESCRIPTIONS[200])
    success["content"]["application/json"]["example"] = EXAMPLES[example or schema]
    responses_by_status: dict[int | str, dict[str, Any]] = {200: success}
    for status in sorted({500, *(() if any_host else (421,)), *problems}):
        responses_by_status[status] = response(
            "ProblemDetails", STATUS_DESCRIPTIONS[status], MEDIA_TYPE
        )
        if status == 422:
            responses_by_status[status]["content"][MEDIA_TYPE]["example"] = EXAMPLES[
                "ProblemDetails"
            ]
        if status in (429, 503) and problems != (503,):
            responses_by_status[status]["headers"] = RETRY_AFTER_HEADER
    return responses_by_status


def response(schema: str, description: str, media: str = "application/json") -> dict[str, Any]:
    """Describe one response by the name of its schema."""
    reference = {"$ref": REFERENCE.format(model=schema)}
    return {"description": description, "content": {media: {"schema": reference}}}


def request_body(schema: str) -> dict[str, Any]:
    """Describe the body of a route."""
    content = response(schema, "")["content"]
    content["application/json"]["example"] = EXAMPLES[schema]
    return {"requestBody": {"required": True, "content": content}}


def openapi_document(app: FastAPI, limits: Limits) -> dict[str, Any]:
    """Return the document of an app, with the server's limits in its schemas."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    _, schemas = models_json_schema(
        [(model, "validation") for model in SCHEMAS], ref_template=REFERENCE
    )
    definitions = schemas["$defs"]
    _apply_limits(definitions, limits)
    document["components"] = {"schemas": definitions}
    return document


def _apply_limits(schemas: dict[str, Any], limits: Limits) -> None:
    """Write the limits into the schemas of requests."""
    fields = schemas["TranslateRequest"]["properties"]
    pairs = schemas["RescoreRequest"]["properties"]["pairs"]
    pair = schemas["RescorePair"]["properties"]
    for text in (fields["text"], fields["prefix"], pair["target"]):
        for kind in text["anyOf"]:
            _string_schema(kind)["maxLength"] = limits.characters
    pair["source"]["maxLength"] = limits.characters
    fields["banned"]["items"]["maxLength"] = limits.characters
    pairs["maxItems"] = limits.lines
    next(kind for kind in fields["text"]["anyOf"] if kind["type"] == "array")["maxItems"] = (
        limits.lines
    )


def _string_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the string in a string, a list of them, or a list with nulls."""
    if "items" in schema:
        return _string_schema(schema["items"])
    return schema["anyOf"][0] if "anyOf" in schema else schema
