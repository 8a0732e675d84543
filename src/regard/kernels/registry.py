"""Every op and its implementations, with the reasons for and against each.

An implementation that needs another package is imported when it first runs.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim import Optimizer

from regard.kernels import fused_torch, reference
from regard.kernels.cpu import (
    additive_attention,
    dropout,
    gru_scan,
    linear_loss,
    recurrent_attention,
)
from regard.kernels.dispatch import Call, Implementation, Op
from regard.kernels.messages import EXACT, NEEDS_CUDA, NOTHING_FASTER


def _needs_triton(call: Call) -> str | None:
    if call.device != "cuda":
        return NEEDS_CUDA
    if call.dtype not in (torch.float32, torch.bfloat16):
        return f"computes in float32 and bfloat16, not {str(call.dtype).removeprefix('torch.')}"
    return None if find_spec("triton") else "is not installed; install it with: pip install triton"


def _needs_low_precision(call: Call) -> str | None:
    if why_not := _needs_triton(call):
        return why_not
    if call.dtype == torch.float32 and call.precision == "float32":
        return "is no faster than PyTorch in float32; set train.precision to tf32 or bfloat16"
    return None


def _needs_odd_width(call: Call) -> str | None:
    if call.device != "cuda" or call.precision != "bfloat16":
        return f"{NEEDS_CUDA} and train.precision = bfloat16"
    aligned = call.arguments and call.arguments[0].shape[-1] % fused_torch.ALIGNED_WIDTH == 0
    return "the width needs no padding" if aligned else None


def _needs_cpu(call: Call) -> str | None:
    return None if call.device == "cpu" else "is for a CPU"


def _needs_weight_dropout(call: Call) -> str | None:
    if call.keywords.get("dropout"):
        return _needs_cpu(call)
    return "is for dropout on the attention weights"


def _needs_gru_and_additive_score(call: Call) -> str | None:
    if call.keywords.get("cell") == "lstm":
        return "does not support LSTMs"
    score = call.keywords.get("score")
    if score is not None and score.v is None:
        return "supports only the additive score"
    return _needs_triton(call)


def triton(
    name: str, module: str, why_not: Callable[[Call], str | None] = _needs_triton
) -> Implementation:
    """Return an implementation in Triton, whose module is imported when it first runs."""

    def run(*arguments: Any, **keywords: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **keywords)

    return Implementation(run, "Triton", "written for a GPU", why_not)


def _only(run: Callable[..., Any], name: str, reason: str) -> Op:
    return Op((Implementation(run, name, reason),))


def _custom_autograd(run: Callable[..., Any], reason: str, *faster: Implementation) -> Op:
    return Op((*faster, Implementation(run, "custom autograd", reason)))


_TRITON = "regard.kernels.triton"
_PLAIN = "plain PyTorch", NOTHING_FASTER
_RESET = "PyTorch's GRU resets after the product"
_LOOP = "only what the state needs is in the loop"

OPS = {
    "linear": Op(
        (
            Implementation(
                fused_torch.padded_linear,
                "padded",
                "products of odd widths are slow",
                _needs_odd_width,
            ),
            Implementation(functional.linear, "torch.nn.functional.linear", EXACT),
        )
    ),
    "dropout": Op(
        (
            Implementation(
                dropout.dropout,
                "two random bytes per number",
                "PyTorch draws the numbers one by one",
                _needs_cpu,
            ),
            Implementation(reference.dropout, "torch.nn.functional.dropout", EXACT),
        )
    ),
    "masked_softmax": _only(reference.masked_softmax, *_PLAIN),
    "additive_scores": _only(reference.additive_scores, *_PLAIN),
    "coverage_scores": _only(reference.coverage_scores, *_PLAIN),
    "scaled_dot_attention": Op(
        (
            Implementation(
                dropout.scaled_dot_attention,
                "two random bytes per weight",
                "PyTorch fuses nothing if weights are dropped",
                _needs_weight_dropout,
            ),
            Implementation(fused_torch.scaled_dot_attention, "scaled_dot_product_attention", EXACT),
        )
    ),
    "additive_attention": _custom_autograd(
        additive_attention.additive_attention,
        "tile by tile; tanh is not saved",
        triton("additive_attention", f"{_TRITON}.additive_attention"),
    ),
    "elman_scan": _only(fused_torch.elman_scan, "torch.rnn_tanh", EXACT),
    "gru_before_scan": _custom_autograd(
        gru_scan.gru_before_scan, _RESET, triton("gru_before_scan", f"{_TRITON}.gru_scan")
    ),
    "gru_after_scan": _only(fused_torch.gru_after_scan, "torch.gru", EXACT),
    "bidirectional_gru_before_scan": _custom_autograd(
        gru_scan.bidirectional_gru_before_scan,
        _RESET,
        triton("bidirectional_gru_before_scan", f"{_TRITON}.gru_scan"),
    ),
    "bidirectional_gru_after_scan": Op(
        (
            triton("bidirectional_gru_after_scan", f"{_TRITON}.gru_scan", _needs_low_precision),
            Implementation(fused_torch.bidirectional_gru_after_scan, "torch.gru", EXACT),
        )
    ),
    "lstm_scan": _only(fused_torch.lstm_scan, "torch.lstm", EXACT),
    "look_then_move": _custom_autograd(
        recurrent_attention.look_then_move,
        _LOOP,
        triton("look_then_move", f"{_TRITON}.recurrent_attention", _needs_gru_and_additive_score),
    ),
    "move_then_look": _custom_autograd(recurrent_attention.move_then_look, _LOOP),
    "linear_loss": _custom_autograd(
        linear_loss.linear_loss,
        "the logits of a chunk at a time",
        triton("linear_loss", f"{_TRITON}.linear_loss"),
    ),
    "adadelta": Op(
        (
            triton("Adadelta", f"{_TRITON}.adadelta"),
            Implementation(torch.optim.Adadelta, "torch.optim.Adadelta", EXACT),
        )
    ),
}


def adadelta(parameters: list[nn.Parameter], **settings: float) -> Optimizer:
    """Return the optimizer for the device of the parameters."""
    call = Call(parameters[0].device.type, parameters[0].dtype)
    optimizer: Optimizer = OPS["adadelta"].select(call).run(parameters, **settings)
    return optimizer
