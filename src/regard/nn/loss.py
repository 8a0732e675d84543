"""What training makes small: −Σ log p(y_t | y_<t, x), with some of the blame spread evenly."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional


def summed_loss(
    logits: Float[Tensor, "*B V"],
    target: Int[Tensor, "*B"],
    mask: Bool[Tensor, "*B"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Σ_t (1−ε)·(−log p(y_t)) + ε·mean_v(−log p(v)) over the visible words."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    flat = functional.cross_entropy(
        logits.to(wide).flatten(0, -2),
        target.flatten(),
        label_smoothing=smoothing,
        reduction="none",
    )
    return flat.masked_fill(~mask.flatten(), 0.0).sum()
