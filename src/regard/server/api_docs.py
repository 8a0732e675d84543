"""The page at /docs: the OpenAPI document as HTML, to read and to try, without other hosts.

Paths are relative, so that the page also works behind a proxy that adds a path prefix.
"""

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from regard.server import messages

JsonObject = dict[str, Any]


def api_docs_html(document: JsonObject) -> str:
    """Write an OpenAPI document as HTML."""
    title = escape(document["info"]["title"])
    page_title = messages.API_DOCS_TITLE.format(title=title)
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{page_title}</title>\n<link rel="stylesheet" href="docs.css">',
            '<script type="module" src="docs.js"></script>',
            # without it a browser would request an icon that does not exist
            '<link rel="icon" href="data:,">',
            f"</head>\n<body>\n<h1>{title}</h1>\n<p>{escape(document['info']['description'])}</p>",
            f'<p>{messages.API_DOCS_OPENAPI} <a href="openapi.json">/openapi.json</a></p>',
            f"<noscript><p>{messages.API_DOCS_NO_SCRIPT}</p></noscript>\n<main>",
            *_routes(document),
            f"<h2>{messages.API_DOCS_SCHEMAS}</h2>",
            *_schemas(document["components"]["schemas"]),
            "</main>\n</body>\n</html>\n",
        )
    )


def _routes(document: JsonObject) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            name = f"{method.upper()} {path}"
            yield f"<section>\n<h2><code>{escape(name)}</code></h2>"
            yield f"<p>{escape(route['summary'])}</p>"
            body = None
            if "requestBody" in route:
                body = route["requestBody"]["content"]["application/json"]
                yield f"<p>{messages.API_DOCS_BODY.format(schema=_type(body['schema']))}</p>"
                yield _pre(body["example"])
            yield from _example_answers(route["responses"])
            yield from _try_out(method.upper(), path, body)
            rows = [
                (status, _content(response["content"]), escape(response["description"]))
                for status, response in route["responses"].items()
            ]
            yield _table(messages.API_DOCS_RESPONSE_COLUMNS, rows)
            yield "</section>"


def _example_answers(responses: JsonObject) -> Iterator[str]:
    for status, response in responses.items():
        for one in response["content"].values():
            if "example" in one:
                problem = messages.API_DOCS_PROBLEM.format(status=status)
                yield f"<p>{messages.API_DOCS_ANSWER if status == '200' else problem}</p>"
                yield _pre(one["example"])


def _try_out(method: str, path: str, body: JsonObject | None) -> Iterator[str]:
    """Yield a form that docs.js fills in and shows."""
    route = f'data-method="{escape(method)}" data-path="{escape(path.removeprefix("/"))}"'
    yield f'<div class="try-out" {route} hidden>\n<h3>{messages.API_DOCS_TRY}</h3>'
    if body is not None:
        label = escape(messages.API_DOCS_TRY_BODY.format(name=path))
        example = escape(_json(body["example"]))
        yield f'<label>{label}<textarea spellcheck="false">{example}</textarea></label>'
    yield f'<pre class="command"></pre>\n<button type="button">{messages.API_DOCS_SEND}</button>'
    yield '<p class="status" role="status"></p>'
    yield '<pre class="answer" tabindex="0" hidden></pre></div>'


def _pre(example: Any) -> str:
    return f'<pre tabindex="0">{escape(_json(example))}</pre>'


def _json(example: Any) -> str:
    """Write JSON with a field per line, but each innermost list on one line; docs.js does too."""
    text = json.dumps(example, ensure_ascii=False, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda match: f"[{' '.join(match[0][1:-1].split())}]", text)


def _content(content: JsonObject) -> str:
    return "<br>".join(f"{escape(media)}: {_type(one['schema'])}" for media, one in content.items())


def _schemas(schemas: JsonObject) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        required = schema.get("required", [])
        yield f'<section id="{escape(name)}">\n<h3>{escape(name)}</h3>'
        yield f"<p>{escape(schema.get('description', ''))}</p>"
        rows = [
            (
                f"<code>{escape(field)}</code>{' *' if field in required else ''}",
                _type(one),
                escape(one.get("description", "")),
            )
            for field, one in schema.get("properties", {}).items()
        ]
        yield _table(messages.API_DOCS_FIELD_COLUMNS, rows)
        yield "</section>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    return f"<table>\n<tr>{names}</tr>\n" + "\n".join(lines) + "\n</table>"


def _type(schema: JsonObject) -> str:
    """Describe a type in a few words, with a link to a schema that has a name."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(name))}</code>" for name in schema["enum"])
    kind = str(schema.get("type", "anything"))
    if kind == "array" and "items" in schema:
        return f"list of {_type(schema['items'])}{_bounds(schema)}"
    return escape(kind) + _bounds(schema)


def _bounds(schema: JsonObject) -> str:
    bounds = [
        text.format(schema[name])
        for name, text in messages.API_DOCS_BOUNDS.items()
        if name in schema
    ]
    return f" ({', '.join(bounds)})" if bounds else ""
