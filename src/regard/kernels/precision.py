"""What numbers a device multiplies itself, and what `train.precision` becomes on it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from regard.kernels.dispatch import Alternatives, Implementation
from regard.kernels.messages import NEEDS_CUDA, setting_is


def bfloat16_instructions() -> list[str]:
    """Return the instructions by which this CPU multiplies bfloat16; without any it emulates it.

    A torch that cannot tell counts as none.
    """
    capabilities: Callable[[], Mapping[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    available = capabilities()
    return [name for name in ("avx512_bf16", "amx_bf16") if available.get(name)]


def has_bfloat16(device: str) -> bool:
    """Whether a device multiplies bfloat16 itself; a CPU that emulates it takes far longer."""
    return device != "cpu" or bool(bfloat16_instructions())


class PrecisionRequest(NamedTuple):
    """`train.precision`, and the device that is to follow it."""

    setting: str
    device: str


def _why_not_bfloat16(request: PrecisionRequest) -> str | None:
    if request.setting != "bfloat16":
        return setting_is("train.precision", request.setting)
    return None if has_bfloat16(request.device) else "this CPU would emulate it"


def _why_not_tf32(request: PrecisionRequest) -> str | None:
    if request.device != "cuda":
        return NEEDS_CUDA
    return None if request.setting == "tf32" else setting_is("train.precision", request.setting)


def _autocast(enabled: bool) -> Callable[[str], torch.autocast]:
    return lambda device: torch.autocast(device, torch.bfloat16, enabled=enabled)


PRECISIONS = Alternatives[PrecisionRequest](
    (
        Implementation(
            _autocast(True), "bfloat16", "the device multiplies it itself", _why_not_bfloat16
        ),
        Implementation(_autocast(False), "tf32", "tensor cores take 11 bits", _why_not_tf32),
        Implementation(_autocast(False), "float32", "every product is exact to 24 bits"),
    )
)
"""What a training update computes in; `run` makes the autocast context of a device."""
