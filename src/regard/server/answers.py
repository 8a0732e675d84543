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
    told: dict[str, Any] = {
        "source": answer.source,
        "text": answer.text,
        "score": answer.score,
        "rank_score": answer.rank_score,
        "tokens": answer.tokens,
        "source_tokens": answer.source_tokens,
        "token_scores": answer.token_scores,
    }
    if wanted.attention and answer.layers is not None and answer.attention is not None:
        told["attention"] = answer.attention.tolist()
        if answer.layers.shape[1] * answer.layers.shape[2] > 1:
            told["layers"] = answer.layers.tolist()
    if moved is not None:
        told["influence"] = moved.tolist()
    if answer.candidates:
        told["candidates"] = answer.candidates
    if answer.alternatives:
        told["alternatives"] = [
            {
                "text": one.text,
                "tokens": one.tokens,
                "token_scores": one.token_scores,
                "score": one.score,
                "rank_score": one.rank_score,
            }
            for one in answer.alternatives
        ]
    if answer.tree:
        told["tree"] = [vars(branch) for branch in answer.tree]
    if answer.notes:
        told["notes"] = answer.notes
    return told
