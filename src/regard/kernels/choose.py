"""Which implementation of each op runs, and why: the only file that decides.

It decides at each call by what an implementation can compute (device, type, sizes), never by
timing: a run can be repeated. What needs another package is imported when it is first chosen.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

from regard.kernels import (
    by_hand,
    by_hand_attention,
    by_hand_dropout,
    by_hand_loss,
    by_hand_scan,
    library,
    reference,
)


def bfloat16_instructions() -> list[str]:
    """Return by which instructions a CPU multiplies bfloat16; one that has none imitates it.

    A torch that cannot say is taken to mean none.
    """
    capabilities: Callable[[], Mapping[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    found = capabilities()
    return [name for name in ("avx512_bf16", "amx_bf16") if found.get(name)]


def has_bfloat16(device: str) -> bool:
    """Whether a device multiplies bfloat16 itself; a CPU that must imitate it takes far longer."""
    return device != "cpu" or bool(bfloat16_instructions())


class Call(NamedTuple):
    """What an implementation is asked for; without arguments, whether it would run at all."""

    device: str
    dtype: torch.dtype
    arguments: tuple[Any, ...] = ()


class Candidate(NamedTuple):
    """One implementation: what it is, why it is taken, and what it says to a call it cannot do."""

    run: Callable[..., Any]
    source: str
    reason: str
    refuses: Callable[[Call], str | None] = lambda call: None


class Choice(NamedTuple):
    """One op: the best candidate first, and last one that refuses nothing."""

    candidates: tuple[Candidate, ...]

    @property
    def run(self) -> Callable[..., Any]:
        """The function that runs: the only one, or one that chooses at each call."""
        return self.candidates[0].run if len(self.candidates) == 1 else self._run

    def _run(self, *arguments: Any) -> Any:
        first = next(x for x in arguments if isinstance(x, Tensor))
        call = Call(first.device.type, first.dtype, arguments)
        return self.choose(call).run(*arguments)

    def choose(self, call: Call) -> Candidate:
        """Return the first candidate that does not refuse."""
        return next(x for x in self.candidates if x.refuses(call) is None)

    def explain(self, device: str, dtype: torch.dtype = torch.float32) -> tuple[str, str]:
        """Return what would run on a device, and why: what better ones say, then its own reason."""
        call = Call(device, dtype)
        chosen = self.choose(call)
        better = self.candidates[: self.candidates.index(chosen)]
        said = [f"{x.source}: {x.refuses(call)}" for x in better]
        return chosen.source, "; ".join([*said, chosen.reason])


def _needs_triton(call: Call) -> str | None:
    if call.device != "cuda":
        return "needs a CUDA device"
    if call.dtype not in (torch.float32, torch.bfloat16):
        return f"computes in float32 and bfloat16, not {str(call.dtype).removeprefix('torch.')}"
    return None if find_spec("triton") else "is not installed; pip install triton would do"


def _needs_rough(call: Call) -> str | None:
    exact = not torch.is_autocast_enabled(call.device) and call.dtype == torch.float32
    if exact and torch.get_float32_matmul_precision() == "highest":
        return "is no faster in float32 than the library; precision = tf32 or bfloat16 would do"
    return _needs_triton(call)


def _needs_odd_width(call: Call) -> str | None:
    if call.device != "cuda" or not torch.is_autocast_enabled("cuda"):
        return "needs a CUDA device and precision = bfloat16"
    even = call.arguments and call.arguments[0].shape[-1] % library.EVEN == 0
    return "has nothing to fill up" if even else None


def _needs_cpu(call: Call) -> str | None:
    return None if call.device == "cpu" else "is for a CPU"


def _needs_dropped_weights(call: Call) -> str | None:
    # after queries, keys, values and the mask
    dropped = any(call.arguments[4:])
    return _needs_cpu(call) if dropped else "is for weights that are dropped"


def _needs_additive_gru(call: Call) -> str | None:
    cell, *_, asking, _ = call.arguments or ("gru_before", None, None)
    if cell == "lstm":
        return "knows no LSTM"
    if asking is not None and asking.v is None:
        return "asks by the additive score alone"
    return _needs_triton(call)


def on_cuda(
    name: str,
    module: str = "regard.kernels.cuda.functions",
    refuses: Callable[[Call], str | None] = _needs_triton,
) -> Candidate:
    """Return a candidate of Triton kernels, in a module that is imported when it first runs."""

    def run(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return Candidate(run, "Triton", "written for it", refuses)


def _only(run: Callable[..., Any], source: str, reason: str) -> Choice:
    return Choice((Candidate(run, source, reason),))


def _by_hand(run: Callable[..., Any], why: str, *better: Candidate) -> Choice:
    return Choice((*better, Candidate(run, "backward by hand", why)))


_LIBRARY = "the library computes exactly this function"
_PLAIN = "plain PyTorch", "no faster one yet"

CHOICES = {
    "linear": Choice(
        (
            Candidate(
                library.filled_linear,
                "filled up",
                "products of odd widths are slow",
                _needs_odd_width,
            ),
            Candidate(functional.linear, "torch.nn.functional.linear", _LIBRARY),
        )
    ),
    "dropout": Choice(
        (
            Candidate(
                by_hand_dropout.dropout,
                "two random bytes a number",
                "the library draws numbers one after the other",
                _needs_cpu,
            ),
            Candidate(reference.dropout, "torch.nn.functional.dropout", _LIBRARY),
        )
    ),
    "masked_softmax": _only(reference.masked_softmax, *_PLAIN),
    "additive_scores": _only(reference.additive_scores, *_PLAIN),
    "coverage_scores": _only(reference.coverage_scores, *_PLAIN),
    "scaled_dot_attention": Choice(
        (
            Candidate(
                by_hand_dropout.dropped_attention,
                "two random bytes a weight",
                "the library fuses nothing where it drops",
                _needs_dropped_weights,
            ),
            Candidate(library.scaled_dot_attention, "scaled_dot_product_attention", _LIBRARY),
        )
    ),
    "additive_attention": _by_hand(
        by_hand_attention.additive_attention,
        "in tiles; tanh is not kept",
        on_cuda("additive_attention", "regard.kernels.cuda.additive"),
    ),
    "elman_scan": _only(library.elman_scan, "torch.rnn_tanh", _LIBRARY),
    "gru_before_scan": _by_hand(
        by_hand_scan.gru_before_scan,
        "the library's GRU resets after the product",
        on_cuda("gru_before_scan"),
    ),
    "gru_before_both": _by_hand(
        by_hand_scan.gru_before_both,
        "the library's GRU resets after the product",
        on_cuda("gru_before_both"),
    ),
    "gru_after_both": Choice(
        (
            on_cuda("gru_after_both", refuses=_needs_rough),
            Candidate(library.gru_after_both, "torch.gru", _LIBRARY),
        )
    ),
    "gru_after_scan": _only(library.gru_after_scan, "torch.gru", _LIBRARY),
    "lstm_scan": _only(library.lstm_scan, "torch.lstm", _LIBRARY),
    "look_then_move": _by_hand(
        by_hand.look_then_move,
        "only what the state needs is in the loop",
        on_cuda("look_then_move", refuses=_needs_additive_gru),
    ),
    "move_then_look": _by_hand(by_hand.move_then_look, "only what the state needs is in the loop"),
    "linear_loss": _by_hand(
        by_hand_loss.linear_loss,
        "the logits of a chunk at a time",
        on_cuda("linear_loss", "regard.kernels.cuda.loss"),
    ),
    "adadelta": Choice(
        (
            on_cuda("Adadelta", "regard.kernels.cuda.optimizer"),
            Candidate(torch.optim.Adadelta, "torch.optim.Adadelta", _LIBRARY),
        )
    ),
}


def adadelta(parameters: list[nn.Parameter], **options: float) -> Optimizer:
    """Make the optimizer where the parameters lie."""
    call = Call(parameters[0].device.type, parameters[0].dtype)
    made: Optimizer = CHOICES["adadelta"].choose(call).run(parameters, **options)
    return made
