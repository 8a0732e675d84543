"""What each setting is for, read from where it is defined: the string under its field.

`--help`, the comments in a TOML file and `docs/settings.md` all come from here; none is kept twice.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, get_origin

from regard.choices import either
from regard.config.checks import choices, must_be, types_of
from regard.config.settings import KINDS, Settings


class Entry(NamedTuple):
    """One setting, in words."""

    name: str
    """Its name within its section."""

    type: str
    """What it must be."""

    default: str | None
    """What it is where nothing is said, as TOML writes it; None where it must be said."""

    text: str
    """What it is for."""


class Place(NamedTuple):
    """Where a section stands, under which `kind` where it has several, and what it holds."""

    path: str
    kind: str | None
    section: type[Any]


def document(section: type[Any]) -> list[Entry]:
    """Return every setting of a section, in order."""
    hints, texts = types_of(section), _texts(section)
    return [
        Entry(field.name, _type(hints[field.name]), _default(field), texts.get(field.name, ""))
        for field in fields(section)
    ]


def places(section: type[Any] = Settings, path: str = "") -> Iterator[Place]:
    """Walk through all sections inside a section, each kind of each."""
    for name, hint in types_of(section).items():
        for kind, inner in KINDS.get(hint, {None: hint}).items():
            if is_dataclass(inner):
                yield Place(path + name, kind, inner)
                yield from places(inner, f"{path}{name}.")


def toml_literal(value: Any) -> str:
    """Return a setting's value as TOML writes it, which for what settings hold is as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def summary(section: type[Any]) -> str:
    """Return what a section is, on one line."""
    return " ".join((section.__doc__ or "").split())


def settings_markdown() -> str:
    """Return `docs/settings.md`: a table for every section."""
    head = [
        "# Settings",
        "",
        "Every setting of regard. In a TOML file a setting stands under its section, and the",
        "command line sets it by its full name, as `--set train.seed=2`. What has no default must",
        "be said. Where a section has several kinds, its `kind` says which one it is.",
        "",
        "This page is written by `regard.config.documentation` from the classes that hold the",
        "settings; a change belongs there.",
    ]
    # a section that several kinds, or both sides, have is told once
    paths: dict[tuple[str | None, type[Any]], list[str]] = {}
    for place in places():
        paths.setdefault((place.kind, place.section), []).append(f"`[{place.path}]`")
    tables = [
        line
        for (kind, section), names in paths.items()
        for line in _table(", ".join(dict.fromkeys(names)), kind, section)
    ]
    return "\n".join([*head, *tables, ""])


def _table(names: str, kind: str | None, section: type[Any]) -> Iterator[str]:
    yield from ("", f"## {names}" + (f" with `kind = {toml_literal(kind)}`" if kind else ""), "")
    yield from (summary(section), "")
    yield from ("| setting | must be | default | what it is for |", "|---|---|---|---|")
    for entry in document(section):
        default = "" if entry.default is None else f"`{entry.default}`"
        yield f"| `{entry.name}` | {entry.type} | {default} | {entry.text} |"


def _type(hint: Any) -> str:
    """Say what a setting must be, with all the names that a list may hold."""
    if get_origin(hint) is tuple:
        return f"a list of {either(choices(hint))}"
    return must_be(hint)


def _default(field: Field[Any]) -> str | None:
    if field.default is MISSING:
        return None
    if not is_dataclass(field.default):
        return toml_literal(field.default)
    # a section whose settings all have defaults
    return "{}"


def _texts(section: type[Any]) -> dict[str, str]:
    """Return the string under each field, of the section and of those that it extends."""
    bases = [base for base in reversed(section.__mro__) if is_dataclass(base)]
    return {
        name: text
        for base in bases
        for name, text in _texts_of_file(base.__module__).get(base.__name__, {}).items()
    }


@cache
def _texts_of_file(module: str) -> dict[str, dict[str, str]]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):
        # a config of one's own that was typed at a prompt has no file
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: dict(_documented(node.body)) for node in classes}


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())
