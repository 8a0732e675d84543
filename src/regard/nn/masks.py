"""Masks: True is visible, everywhere."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.kernels import last_visible, masked_softmax, reverse

__all__ = ["causal_mask", "last_visible", "masked_softmax", "reverse", "source_mask"]


def source_mask(lengths: Int[Tensor, "B"], max_length: int) -> Bool[Tensor, "B S"]:
    """Return which positions belong to each sequence."""
    return torch.arange(max_length, device=lengths.device) < lengths[:, None]


def causal_mask(num_queries: int, num_keys: int, device: torch.device) -> Bool[Tensor, "T S"]:
    """Return which keys each query may attend to: itself and those before it.

    The queries are the last of the keys; a step over a cache is therefore the last row.
    """
    visible = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return visible.tril(num_keys - num_queries)
