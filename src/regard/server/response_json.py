"""Translations as JSON; every float32 weight reads back exactly."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from regard.translator import Translation, Translator

ZERO_BYTES, NUMBER_BYTES = 4, 16
"""The size of a zero with its comma, and a lower estimate of that of any other weight."""


class ResponseFields(NamedTuple):
    """The arrays that a response holds besides the text and its scores."""

    attention: bool
    influence: bool
    layers: bool = False
    self_attention: bool = False

    @property
    def largest(self) -> str | None:
        """The requested array that takes the most bytes."""
        return next(
            (name for name in ("self_attention", "layers", *self._fields) if getattr(self, name)),
            None,
        )


def encode_json(content: Any) -> bytes:
    """Write JSON as compact UTF-8; NaN and infinity are errors, since JSON has neither."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(errors="replace")


def translation_json(
    translator: Translator, translation: Translation, fields: ResponseFields, max_bytes: int
) -> bytes | None:
    """Write the requested fields that exist; None if they take more than `max_bytes`.

    Rows are encoded one by one. The JSON encoder holds the GIL, so one call for a large array would
    block the event loop and every other client.
    """
    parts = [encode_json(_small_fields(translation, fields))[:-1]]
    size = len(parts[0]) + 1
    for name, array in _arrays(translator, translation, fields):
        if size + _min_bytes(array) > max_bytes:
            return None
        rows = b",".join(encode_json(row.tolist()) for row in array)
        parts.append(b',"%s":[%s]' % (name.encode(), rows))
        size += len(parts[-1])
    return b"".join((*parts, b"}")) if size <= max_bytes else None


def _small_fields(translation: Translation, fields: ResponseFields) -> dict[str, Any]:
    """Return every field but the arrays, named as in decision 0004."""
    content = translation.to_json(attention=False)
    if fields.attention and (layers := _layers_and_heads(translation)) is not None:
        content["attention_shape"] = dict(zip(("layers", "heads"), layers.shape[1:3], strict=True))
    return content


def _arrays(
    translator: Translator, translation: Translation, fields: ResponseFields
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays by name, the cheapest first; a blank line never reached the model."""
    if fields.attention and translation.attention is not None:
        yield "attention", translation.attention
    if fields.layers and (layers := _layers_and_heads(translation)) is not None:
        yield "layers", layers
    if fields.self_attention:
        sides = translator.self_attention(translation)._asdict()
        for side, weights in sides.items():
            if weights is not None:
                yield f"{side}_self_attention", weights
    if fields.influence and translation.source_tokens:
        yield "influence", translator.influence(translation)


def _layers_and_heads(translation: Translation) -> np.ndarray | None:
    """Return the attention of each layer and head, if there is more than one."""
    layers = translation.layers
    several = layers is not None and layers.shape[1] * layers.shape[2] > 1
    return layers if several else None


def _min_bytes(array: np.ndarray) -> int:
    """Return a lower bound on the size of an array's JSON, before any of it is written."""
    return ZERO_BYTES * array.size + (NUMBER_BYTES - ZERO_BYTES) * int(np.count_nonzero(array))
