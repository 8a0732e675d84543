"""Batches of sequences of different lengths: their reversal, and their last positions."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def reverse(x: Float[Tensor, "B S *N"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S *N"]:
    """Reverse the visible part of each row; hidden positions do not move."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    index = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - positions, positions)
    return x.gather(1, index.reshape(*index.shape, *[1] * (x.ndim - 2)).expand_as(x))


def last_visible(
    x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], otherwise: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """Return each row's last visible vector, or `otherwise` if nothing is visible."""
    index = (mask.sum(dim=1) - 1).clamp(min=0)
    last = x.gather(1, index[:, None, None].expand(-1, 1, x.shape[-1]))[:, 0]
    return torch.where(mask.any(dim=1)[:, None], last, otherwise)
