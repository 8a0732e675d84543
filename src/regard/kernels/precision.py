"""Which precisions a device supports in hardware, and what `train.precision` selects on it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from regard.kernels.dispatch import Alternatives, Implementation
from regard.kernels.messages import NEEDS_CUDA, setting_is


def bfloat16_instructions() -> list[str]:
    """Return this CPU's instructions for bfloat16 products; without any it emulates them.

    A torch version that cannot list them counts as none.
    """
    capabilities: Callable[[], Mapping[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    available = capabilities()
    return [name for name in ("avx512_bf16", "amx_bf16") if available.get(name)]


def has_bfloat16(device: str) -> bool:
    """Whether a device multiplies bfloat16 in hardware; a CPU that emulates it is far slower."""
    return device != "cpu" or bool(bfloat16_instructions())


class PrecisionRequest(NamedTuple):
    """`train.precision`, and the device to train on."""

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
"""The precisions of a training update; `run` returns the autocast context of a device."""
