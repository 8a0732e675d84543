"""Ops: each has a definition in `reference.py`; the fastest implementation that can runs."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from regard.kernels import reference
from regard.kernels.dispatch import Alternatives, Call, Decision, Implementation, Op
from regard.kernels.precision import (
    PRECISIONS,
    PrecisionRequest,
    bfloat16_instructions,
    has_bfloat16,
)
from regard.kernels.registry import OPS, adadelta
from regard.kernels.sequences import last_visible, reverse
from regard.kernels.steps import gru_after_gates, gru_after_step, gru_before_gates, lstm_gates
from regard.kernels.types import (
    CellName,
    CellWeights,
    RecurrentAttentionOutput,
    ScoreParameters,
)

P = ParamSpec("P")
R = TypeVar("R")


def _dispatched(definition: Callable[P, R]) -> Callable[P, R]:
    """Return the op of a definition; it has the definition's signature."""
    return OPS[definition.__name__].run


linear = _dispatched(reference.linear)
dropout = _dispatched(reference.dropout)
masked_softmax = _dispatched(reference.masked_softmax)
additive_scores = _dispatched(reference.additive_scores)
coverage_scores = _dispatched(reference.coverage_scores)
scaled_dot_attention = _dispatched(reference.scaled_dot_attention)
additive_attention = _dispatched(reference.additive_attention)
elman_scan = _dispatched(reference.elman_scan)
gru_before_scan = _dispatched(reference.gru_before_scan)
gru_after_scan = _dispatched(reference.gru_after_scan)
bidirectional_gru_before_scan = _dispatched(reference.bidirectional_gru_before_scan)
bidirectional_gru_after_scan = _dispatched(reference.bidirectional_gru_after_scan)
lstm_scan = _dispatched(reference.lstm_scan)
look_then_move = _dispatched(reference.look_then_move)
move_then_look = _dispatched(reference.move_then_look)
linear_loss = _dispatched(reference.linear_loss)

__all__ = [
    "OPS",
    "PRECISIONS",
    "Alternatives",
    "Call",
    "CellName",
    "CellWeights",
    "Decision",
    "Implementation",
    "Op",
    "PrecisionRequest",
    "RecurrentAttentionOutput",
    "ScoreParameters",
    "adadelta",
    "additive_attention",
    "additive_scores",
    "bfloat16_instructions",
    "bidirectional_gru_after_scan",
    "bidirectional_gru_before_scan",
    "coverage_scores",
    "dropout",
    "elman_scan",
    "gru_after_gates",
    "gru_after_scan",
    "gru_after_step",
    "gru_before_gates",
    "gru_before_scan",
    "has_bfloat16",
    "last_visible",
    "linear",
    "linear_loss",
    "look_then_move",
    "lstm_gates",
    "lstm_scan",
    "masked_softmax",
    "move_then_look",
    "reverse",
    "scaled_dot_attention",
]
