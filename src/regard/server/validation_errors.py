"""Turns pydantic's list of validation errors into one sentence."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from regard.server import messages

MAX_CHARACTERS = 60
"""Characters of a field's name or content that a sentence repeats."""


def validation_message(error: ValidationError, fields: Iterable[str]) -> str:
    """Describe the first error at its deepest place; an unknown field goes first."""
    errors = error.errors(include_url=False)
    if errors[0]["type"] == "json_invalid":
        return messages.invalid_json(errors[0]["ctx"]["error"])
    if not errors[0]["loc"]:
        return messages.BODY_NOT_OBJECT
    unknown = [one for one in errors if one["type"] == "extra_forbidden"]
    first = unknown[0] if unknown else errors[0]
    # a union reports one error for each type that does not fit
    same_field = [(_place(x["loc"]), x) for x in errors if x["loc"][0] == first["loc"][0]]
    place, deepest = max(same_field, key=lambda pair: len(pair[0]))
    name = _path(place)
    if unknown:
        known = fields if len(place) == 1 else ("source", "target")
        return messages.unknown_field(
            name, get_close_matches(str(place[-1]), known, n=1, cutoff=0)[0]
        )
    if deepest["type"] == "missing":
        return messages.missing_field(name)
    expected = [
        messages.expectation(x["type"], x.get("ctx", {}))
        for where, x in same_field
        if where == place
    ]
    return messages.wrong_field(name, _quote(deepest["input"]), expected)


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Remove the parts that name a type of a union: they are no part of the path."""
    tags = ("str", "[key]")
    inner = [part for part in loc[1:] if part not in tags and not str(part).startswith("list[")]
    return (loc[0], *inner)


def _path(place: tuple[int | str, ...]) -> str:
    inner = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place[1:])
    return _shorten(f"{place[0]}{inner}")


def _quote(content: Any) -> str:
    try:
        return _shorten(json.dumps(content, ensure_ascii=False))
    except (TypeError, ValueError):
        return "…"


def _shorten(text: str) -> str:
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
