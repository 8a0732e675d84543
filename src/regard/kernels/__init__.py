"""Ops: each has one definition in `reference.py`, perhaps a faster equal, and one choice runs."""

from regard.kernels.choose import CHOICES
from regard.kernels.reference import elman_step, gru_after_step, gru_before_step, lstm_step

masked_softmax = CHOICES["masked_softmax"].run
additive_scores = CHOICES["additive_scores"].run
coverage_scores = CHOICES["coverage_scores"].run
scaled_dot_attention = CHOICES["scaled_dot_attention"].run
elman_scan = CHOICES["elman_scan"].run
gru_before_scan = CHOICES["gru_before_scan"].run
gru_after_scan = CHOICES["gru_after_scan"].run
lstm_scan = CHOICES["lstm_scan"].run

__all__ = [
    "CHOICES",
    "additive_scores",
    "coverage_scores",
    "elman_scan",
    "elman_step",
    "gru_after_scan",
    "gru_after_step",
    "gru_before_scan",
    "gru_before_step",
    "lstm_scan",
    "lstm_step",
    "masked_softmax",
    "scaled_dot_attention",
]
