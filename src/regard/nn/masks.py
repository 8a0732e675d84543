"""What may be seen: True is visible, everywhere. Masks hide; none of them scores."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.kernels import masked_softmax

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


def reverse(x: Float[Tensor, "B S *N"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S *N"]:
    """Turn the visible part of each row back to front; what is hidden stays where it is."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    index = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - positions, positions)
    return x.gather(1, index.reshape(*index.shape, *[1] * (x.ndim - 2)).expand_as(x))


def last_visible(
    x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], otherwise: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """Return each row's last visible vector, or `otherwise` where nothing is visible."""
    index = (mask.sum(dim=1) - 1).clamp(min=0)
    last = x.gather(1, index[:, None, None].expand(-1, 1, x.shape[-1]))[:, 0]
    return torch.where(mask.any(dim=1)[:, None], last, otherwise)
