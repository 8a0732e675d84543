"""Ops: each has one definition in `reference.py`, perhaps a faster equal, and one choice runs."""

from regard.kernels.choose import CHOICES, adadelta, bfloat16_instructions, has_bfloat16
from regard.kernels.reference import (
    Asking,
    CellName,
    Looked,
    Weights,
    gru_after_gates,
    gru_after_step,
    gru_before_gates,
    last_visible,
    lstm_gates,
    reverse,
)

dropout = CHOICES["dropout"].run
linear = CHOICES["linear"].run
masked_softmax = CHOICES["masked_softmax"].run
additive_scores = CHOICES["additive_scores"].run
coverage_scores = CHOICES["coverage_scores"].run
scaled_dot_attention = CHOICES["scaled_dot_attention"].run
additive_attention = CHOICES["additive_attention"].run
elman_scan = CHOICES["elman_scan"].run
gru_before_scan = CHOICES["gru_before_scan"].run
gru_before_both = CHOICES["gru_before_both"].run
gru_after_both = CHOICES["gru_after_both"].run
gru_after_scan = CHOICES["gru_after_scan"].run
lstm_scan = CHOICES["lstm_scan"].run
look_then_move = CHOICES["look_then_move"].run
move_then_look = CHOICES["move_then_look"].run
linear_loss = CHOICES["linear_loss"].run

__all__ = [
    "CHOICES",
    "Asking",
    "CellName",
    "Looked",
    "Weights",
    "adadelta",
    "additive_attention",
    "additive_scores",
    "bfloat16_instructions",
    "coverage_scores",
    "dropout",
    "elman_scan",
    "gru_after_both",
    "gru_after_gates",
    "gru_after_scan",
    "gru_after_step",
    "gru_before_both",
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
