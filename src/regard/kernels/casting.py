"""Autocast for custom autograd functions: they cast their inputs once and run in one type."""

from typing import Any

import torch
from torch import Tensor


def cast_for_autocast(tensor: Tensor, *others: Tensor | None) -> list[Any]:
    """Return all tensors in the type of autocast, or unchanged if it is off."""
    tensors = [tensor, *others]
    if not torch.is_autocast_enabled(tensor.device.type):
        return tensors
    dtype = torch.get_autocast_dtype(tensor.device.type)
    return [None if tensor is None else _cast(tensor, dtype) for tensor in tensors]


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    # autocast leaves double precision alone
    return tensor if tensor.dtype == torch.float64 else tensor.to(dtype)


def autocast_disabled(tensor: Tensor) -> torch.autocast:
    """Return a context in which products run in the types of their factors."""
    return torch.autocast(tensor.device.type, enabled=False)
