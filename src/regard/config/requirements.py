"""The extensions that settings need: stored in a model file, checked before it is loaded."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from regard import extensions
from regard.choices import printable
from regard.config import messages
from regard.config.checks import named_part, types_of
from regard.extensions import Extension


def requirements(section: Any) -> list[dict[str, str]]:
    """Return every extension that a section needs, except those that come with regard."""
    needed = {
        (one.kind, one.name): {"kind": one.kind, "name": one.name, "module": one.module}
        for one in _extensions_of(section)
        if one.name not in extensions.SHIPPED.get(one.kind, {})
    }
    return list(needed.values())


def missing_extension(required: Any) -> str | None:
    """Say which extension that a file requires is not registered; None if all are."""
    for one in required:
        kind, name, module = (str(one[part]) for part in ("kind", "name", "module"))
        if extensions.find(kind, name) is None:  # type: ignore[arg-type]
            return messages.missing_extension(printable(kind), printable(name), printable(module))
    return None


def _extensions_of(section: Any) -> Iterator[Extension]:
    if (decoder := extensions.decoder_of(section)) is not None:
        yield decoder
    hints = types_of(type(section))
    for field in fields(section):
        setting, part = getattr(section, field.name), named_part(hints[field.name])
        if is_dataclass(setting):
            yield from _extensions_of(setting)
        elif part is not None and setting not in part.own:
            extension = extensions.find(part.kind, setting)
            if extension is not None:
                yield extension
