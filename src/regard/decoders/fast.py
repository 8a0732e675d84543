"""When a recurrent decoder's whole line is one op of `kernels`, and what that op is given.

What no op computes goes step by step; a decoder can say why.
"""

from jaxtyping import Float
from torch import Tensor

from regard.kernels import Asking
from regard.nn.attention import Attention
from regard.nn.scores import (
    BilinearScore,
    DotScore,
    ScaledDotScore,
    TanhScore,
)
from regard.nn.stack import Stack

KNOWN = BilinearScore | DotScore | ScaledDotScore | TanhScore
"""The scores that a recurrence of `kernels` can ask by."""


def slow_because(stack: Stack, attention: Attention) -> str | None:
    """Say why a decoder of these parts must go step by step; None where it need not."""
    if len(stack.layers) > 1:
        return f"it has {len(stack.layers)} layers"
    if stack.layers[0].op is None:
        return f"its cell is {type(stack.layers[0]).__name__}"
    if attention.covers:
        return "its score sees coverage"
    if not isinstance(attention.score, KNOWN):
        return f"its score is {type(attention.score).__name__}"
    if attention.window is not None:
        return "it looks through a window"
    return "its weights are dropped in training" if attention.drops else None


def asking(
    attention: Attention, keys: Float[Tensor, "B S A"]
) -> tuple[Asking, Float[Tensor, "B S A"]]:
    """Return how a state asks, and the keys it asks: a scale is put into them, once."""
    score = attention.score
    if isinstance(score, TanhScore):
        return Asking(score.query_weight, score.v), keys
    scaled = isinstance(score, ScaledDotScore)
    return Asking(None, None), keys * keys.shape[-1] ** -0.5 if scaled else keys
