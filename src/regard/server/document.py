"""The OpenAPI document: every route, every status it may answer with, and the schema of each."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from regard.server.limits import Limits
from regard.server.problems import MEDIA_TYPE
from regard.server.schemas import SCHEMAS

REFERENCE = "#/components/schemas/{model}"
WHY = {
    413: "Too much: bytes, lines, or more than an answer may hold.",
    415: "Not JSON in UTF-8.",
    421: "Meant for another host.",
    422: "What cannot be, in a sentence that says what would do.",
    429: "Too much waits already.",
    500: "Something went wrong inside.",
    503: "The server is stopping.",
    504: "Not done in time.",
}
OF_WORK = (413, 415, 422, 429, 503, 504)
RETRY = {
    "Retry-After": {"description": "Seconds.", "required": True, "schema": {"type": "integer"}}
}


def answers(schema: str, *problems: int, hosts: bool = True) -> dict[int | str, dict[str, Any]]:
    """Say what a route answers with: JSON of a schema, or problems; `hosts`: not under any name."""
    responses: dict[int | str, dict[str, Any]] = {200: content(schema, "What was asked for.")}
    for status in sorted({500, *((421,) if hosts else ()), *problems}):
        responses[status] = content("Problem", WHY[status], MEDIA_TYPE)
        if status in (429, 503) and problems != (503,):
            responses[status]["headers"] = RETRY
    return responses


def content(schema: str, description: str, media: str = "application/json") -> dict[str, Any]:
    """Describe an answer of a schema, by the schema's name."""
    reference = {"$ref": REFERENCE.format(model=schema)}
    return {"description": description, "content": {media: {"schema": reference}}}


def takes(schema: str, example: dict[str, Any]) -> dict[str, Any]:
    """Say which body a route takes."""
    body = content(schema, "", "application/json")["content"]
    body["application/json"]["example"] = example
    return {"requestBody": {"required": True, "content": body}}


def document(app: FastAPI, limits: Limits) -> dict[str, Any]:
    """Return the document of an app, with its own limits in the schemas."""
    openapi = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    _, schemas = models_json_schema(
        [(model, "validation") for model in SCHEMAS], ref_template=REFERENCE
    )
    definitions = schemas["$defs"]
    _bound(definitions, limits)
    openapi["components"] = {"schemas": definitions}
    return openapi


def _bound(schemas: dict[str, Any], limits: Limits) -> None:
    """Write the limits into the schemas of requests."""
    fields = schemas["TranslateRequest"]["properties"]
    pairs = schemas["RescoreRequest"]["properties"]["pairs"]
    pair = schemas["Pair"]["properties"]
    for text in (fields["text"], fields["prefix"], pair["target"]):
        for kind in text["anyOf"]:
            _strings(kind)["maxLength"] = limits.characters
    pair["source"]["maxLength"] = limits.characters
    fields["banned"]["items"]["maxLength"] = limits.characters
    pairs["maxItems"] = limits.lines
    next(kind for kind in fields["text"]["anyOf"] if kind["type"] == "array")["maxItems"] = (
        limits.lines
    )


def _strings(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of text in one of text, of lists of it, or of lists that may hold null."""
    if "items" in schema:
        return _strings(schema["items"])
    return schema["anyOf"][0] if "anyOf" in schema else schema
