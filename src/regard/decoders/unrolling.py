"""Whether one op of `kernels` computes a recurrent decoder, and the arguments of the op.

Other decoders unroll step by step, and can say why.
"""

from jaxtyping import Float
from torch import Tensor

from regard.decoders import messages
from regard.kernels import OPS, Call, Decision, ScoreParameters
from regard.nn.attention import Attention
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.scores import (
    BilinearScore,
    DotScore,
    ScaledDotScore,
    TanhScore,
)

SUPPORTED_SCORES = BilinearScore | DotScore | ScaledDotScore | TanhScore
"""The scores of the recurrences in `kernels`."""


def why_not_fused(stack: RecurrentStack, attention: Attention) -> str | None:
    """Return why a decoder of these parts unrolls step by step; None if one op computes it."""
    if len(stack.layers) > 1:
        return messages.layers(len(stack.layers))
    if stack.layers[0].op is None:
        return messages.cell_is(type(stack.layers[0]).__name__)
    if attention.uses_coverage:
        return messages.COVERAGE
    if not isinstance(attention.score, SUPPORTED_SCORES):
        return messages.score_is(type(attention.score).__name__)
    if attention.window is not None:
        return messages.LOCAL_WINDOW
    return messages.DROPPED_WEIGHTS if attention.weight_dropout_active else None


def score_parameters(
    attention: Attention, keys: Float[Tensor, "B S A"]
) -> tuple[ScoreParameters, Float[Tensor, "B S A"]]:
    """Return a score's parameters, and its keys multiplied by its scale."""
    scaled = isinstance(attention.score, ScaledDotScore)
    return _parameters(attention), keys * keys.shape[-1] ** -0.5 if scaled else keys


def explain_recurrence(
    op: str, stack: RecurrentStack, attention: Attention, call: Call
) -> Decision:
    """Return which implementation of a recurrence runs for these parts, and why."""
    keywords = {"cell": stack.layers[0].op, "score": _parameters(attention)}
    return OPS[op].explain(call._replace(keywords=keywords))


def _parameters(attention: Attention) -> ScoreParameters:
    score = attention.score
    if isinstance(score, TanhScore):
        return ScoreParameters(score.query_weight, score.v)
    return ScoreParameters(None, None)
