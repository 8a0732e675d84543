"""What came of a line, as JSON: weights so that a float32 reads back exactly."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from regard.server.problems import to_json
from regard.translator import Translation, Translator

ZERO, NUMBER = 4, 16
"""Bytes of a zero and its comma, and fewer than nearly any other weight has."""


class AnswerOptions(NamedTuple):
    """What an answer holds besides the text and its scores."""

    attention: bool
    influence: bool
    layers: bool = False

    @property
    def heaviest(self) -> str | None:
        """What makes an answer long, more than all else."""
        return next((name for name in ("layers", *self._fields) if getattr(self, name)), None)


def line_json(
    translator: Translator, answer: Translation, options: AnswerOptions, room: int
) -> bytes | None:
    """Write what was asked for and is there; None where that takes more than `room` bytes.

    Rows are written one by one: whoever writes JSON lets no other thread run meanwhile, and a
    server that hears nobody for a second looks dead.
    """
    parts = [to_json(_fields(answer, options))[:-1]]
    size = len(parts[0]) + 1
    for name, array in _arrays(translator, answer, options):
        if size + _least(array) > room:
            return None
        rows = b",".join(to_json(row.tolist()) for row in array)
        parts.append(b',"%s":[%s]' % (name.encode(), rows))
        size += len(parts[-1])
    return b"".join((*parts, b"}")) if size <= room else None


def _fields(answer: Translation, options: AnswerOptions) -> dict[str, Any]:
    """Return the parts of a translation, as decision 0004 names them, but for arrays."""
    fields = answer.to_json(attention=False)
    if options.attention and (apart := _apart(answer)) is not None:
        fields["looks"] = dict(zip(("layers", "heads"), apart.shape[1:3], strict=True))
    return fields


def _arrays(
    translator: Translator, answer: Translation, options: AnswerOptions
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays by name, in the order of what they cost; a blank line was given to no model."""
    if options.attention and answer.attention is not None:
        yield "attention", answer.attention
    if options.layers and (apart := _apart(answer)) is not None:
        yield "layers", apart
    if options.influence and answer.source_tokens:
        yield "influence", translator.influence(answer)


def _apart(answer: Translation) -> np.ndarray | None:
    """Return every look of each step, where there is more than one."""
    several = answer.layers is not None and answer.layers.shape[1] * answer.layers.shape[2] > 1
    return answer.layers if several else None


def _least(array: np.ndarray) -> int:
    """Return how many bytes an array takes at least, before any of them is written."""
    return ZERO * array.size + (NUMBER - ZERO) * int(np.count_nonzero(array))
