"""The page at /docs: the OpenAPI document to read, without a script and from no other host."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

Tree = dict[str, Any]


def page(document: Tree) -> str:
    """Write the document as HTML."""
    title = escape(document["info"]["title"])
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{title}: the API</title>\n<link rel="stylesheet" href="/docs.css">',
            # without it a browser would ask for an icon that is not there
            '<link rel="icon" href="data:,">',
            f"</head>\n<body>\n<h1>{title}</h1>\n<p>{escape(document['info']['description'])}</p>",
            '<p>As a document for programs: <a href="/openapi.json">/openapi.json</a></p>\n<main>',
            *_routes(document),
            "<h2>Schemas</h2>",
            *_schemas(document["components"]["schemas"]),
            "</main>\n</body>\n</html>\n",
        )
    )


def _routes(document: Tree) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            name = f"{method.upper()} {path}"
            yield f"<section>\n<h2><code>{escape(name)}</code></h2>"
            yield f"<p>{escape(route['summary'])}</p>"
            if "requestBody" in route:
                body = route["requestBody"]["content"]["application/json"]
                yield f"<p>Takes {_type(body['schema'])}, as</p>"
                yield f"<pre>{escape(json.dumps(body['example'], ensure_ascii=False))}</pre>"
            rows = [
                (status, _answer(answer["content"]), escape(answer["description"]))
                for status, answer in route["responses"].items()
            ]
            yield _table(("status", "answer", "when"), rows)
            yield "</section>"


def _answer(content: Tree) -> str:
    return "<br>".join(f"{escape(media)}: {_type(one['schema'])}" for media, one in content.items())


def _schemas(schemas: Tree) -> Iterator[str]:
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
        yield _table(("field", "type", "meaning"), rows)
        yield "</section>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    return f"<table>\n<tr>{names}</tr>\n" + "\n".join(lines) + "\n</table>"


def _type(schema: Tree) -> str:
    """Say a type in a few words, with a link to a schema that has a name."""
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


def _bounds(schema: Tree) -> str:
    names = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "maxLength": "at most {:,} characters",
        "maxItems": "at most {:,}",
    }
    found = [words.format(schema[name]) for name, words in names.items() if name in schema]
    return f" ({', '.join(found)})" if found else ""
