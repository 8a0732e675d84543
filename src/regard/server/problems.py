"""What is refused, as a problem document (RFC 9457): one sentence that says what would do."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, final

from pydantic import ValidationError
from starlette.responses import Response

from regard.choices import nearest

MEDIA_TYPE = "application/problem+json"
TITLES = {499: "Client Closed Request", 413: "Content Too Large", 422: "Unprocessable Content"}
SHOWN = 60
"""Characters of a wrong value that a sentence repeats."""

BROKEN = "something went wrong inside the server, and its log says what; asking again may do"


@final
class Refused(Exception):  # noqa: N818 (it is an answer, no error)
    """A request that is answered with a problem document."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Write a problem document; a sentence of several lines becomes one."""
    title = TITLES.get(status) or HTTPStatus(status).phrase
    shown = {"type": "about:blank", "title": title, "status": status}
    shown["detail"] = "; ".join(detail.split("\n"))
    return Response(to_json(shown), status, dict(headers or {}), MEDIA_TYPE)


def to_json(value: Any) -> bytes:
    """Write JSON as compact UTF-8; what is no number is refused, since JSON has none."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(errors="replace")


MUST = {
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "a step, counted from 0",
    "greater_than_equal": "at least {ge}",
    "greater_than": "above {gt}",
    "less_than_equal": "at most {le}",
}
"""What a value must be, by what pydantic found it is not."""


def sentence(error: ValidationError, fields: Iterable[str]) -> str:
    """Say what is wrong with a body in one sentence: at its deepest place, a stranger first."""
    found = error.errors(include_url=False)
    if found[0]["type"] == "json_invalid":
        return f"the body is no JSON: {found[0]['ctx']['error']}"
    if not found[0]["loc"]:
        return 'the body is no JSON object, but it must be one; {"text": "…"} would do'
    strangers = [one for one in found if one["type"] == "extra_forbidden"]
    first = strangers[0] if strangers else found[0]
    alike = [(_place(x["loc"]), x) for x in found if x["loc"][0] == first["loc"][0]]
    where, deepest = max(alike, key=lambda pair: len(pair[0]))
    name = _path(where)
    if strangers:
        known = fields if len(where) == 1 else ("source", "target")
        return f"{name} is no field; {nearest(str(where[-1]), known)} would do"
    if deepest["type"] == "missing":
        return f"{name} is missing, but it must be there"
    must = [_must(x) for place, x in alike if place == where]
    return f"{name} = {_shown(deepest['input'])}, but it must be {' or '.join(must)}"


def _must(found: Any) -> str:
    words = MUST.get(found["type"], "another value")
    return words.format(**found.get("ctx", {})).replace("'", "")


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Leave out what names a way to read a value, not where it stands."""
    tags = ("str", "[key]")
    inner = [part for part in loc[1:] if part not in tags and not str(part).startswith("list[")]
    return (loc[0], *inner)


def _path(place: tuple[int | str, ...]) -> str:
    inner = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place[1:])
    return _cut(f"{place[0]}{inner}")


def _shown(value: Any) -> str:
    try:
        return _cut(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):
        return "…"


def _cut(text: str) -> str:
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
