"""Which implementation of each op runs, and why: the only file that decides.

It decides once, by what an implementation can compute, never by timing: a run can be repeated.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from regard.kernels import library, reference


class Choice(NamedTuple):
    """One op: the function that runs, where it comes from, and why that one."""

    run: Callable[..., Any]
    source: str
    reason: str


_LIBRARY = "the library computes exactly this function"

CHOICES = {
    "masked_softmax": Choice(reference.masked_softmax, "plain PyTorch", "no faster one yet"),
    "additive_scores": Choice(reference.additive_scores, "plain PyTorch", "no faster one yet"),
    "coverage_scores": Choice(reference.coverage_scores, "plain PyTorch", "no faster one yet"),
    "scaled_dot_attention": Choice(
        library.scaled_dot_attention, "scaled_dot_product_attention", _LIBRARY
    ),
    "elman_scan": Choice(library.elman_scan, "torch.rnn_tanh", _LIBRARY),
    "gru_before_scan": Choice(
        partial(reference.scan, reference.gru_before_step),
        "plain PyTorch",
        "the library's GRU resets after the product",
    ),
    "gru_after_scan": Choice(library.gru_after_scan, "torch.gru", _LIBRARY),
    "lstm_scan": Choice(library.lstm_scan, "torch.lstm", _LIBRARY),
}
