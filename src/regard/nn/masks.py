"""What may be seen: True is visible, everywhere. Masks hide; none of them scores."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.kernels import last_visible, masked_softmax, reverse

__all__ = ["causal_mask", "last_visible", "masked_softmax", "reverse", "source_mask"]


def source_mask(lengths: Int[Tensor, "B"], max_length: int) -> Bool[Tensor, "B S"]:
    """Return which positions belong to each line."""
    return torch.arange(max_length, device=lengths.device) < lengths[:, None]


def causal_mask(num_queries: int, num_keys: int, device: torch.device) -> Bool[Tensor, "T S"]:
    """Return which keys each query may see: itself and what came before.

    The queries are the last of the keys, so that a step over a cache is the last row of the whole.
    """
    visible = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return visible.tril(num_keys - num_queries)
