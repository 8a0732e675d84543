"""What came of a line, as JSON: weights so that a float32 reads back exactly."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from regard.server.problems import to_json
from regard.translator import Translation, Translator


class Wanted(NamedTuple):
    """What was asked for besides the text and its scores."""

    attention: bool
    influence: bool


def line_json(translator: Translator, answer: Translation, wanted: Wanted) -> bytes:
    """Write what was asked for and is there; a blank line was given to no model."""
    moved = translator.influence(answer) if wanted.influence and answer.source_tokens else None
    return to_json(shown(answer, wanted, moved))


def shown(
    answer: Translation, wanted: Wanted, moved: Float[np.ndarray, "T S"] | None
) -> dict[str, Any]:
    """Return the parts of a translation, as decision 0004 names them."""
    there = wanted.attention and answer.layers is not None
    told = answer.to_json(attention=there)
    if there and answer.layers is not None and answer.layers.shape[1] * answer.layers.shape[2] > 1:
        told["layers"] = answer.layers.tolist()
    if moved is not None:
        told["influence"] = moved.tolist()
    return told
