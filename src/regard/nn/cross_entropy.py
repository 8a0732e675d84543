"""Cross-entropy −Σ log p(y_t | y_<t, x), with label smoothing and with R-Drop."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional


def label_smoothed_loss(
    logits: Float[Tensor, "*B V"],
    target: Int[Tensor, "*B"],
    mask: Bool[Tensor, "*B"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Σ_t (1−ε)·(−log p(y_t)) + ε·mean_v(−log p(v)) over the visible tokens."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    losses = functional.cross_entropy(
        logits.to(wide).flatten(0, -2),
        target.flatten(),
        label_smoothing=smoothing,
        reduction="none",
    )
    return losses.masked_fill(~mask.flatten(), 0.0).sum()


def rdrop_loss(
    logits: Float[Tensor, "*C V"],
    target: Int[Tensor, "*B"],
    mask: Bool[Tensor, "*B"],
    smoothing: float,
    rdrop_alpha: float,
) -> Float[Tensor, ""]:
    """½ (L_1 + L_2) + ¼ α Σ_t (KL(p_1 ‖ p_2) + KL(p_2 ‖ p_1)): half of R-Drop (Liang et al. 2021).

    The logits come from two passes with different dropout: all sequences of the first pass, then
    all of the second. Half of the published loss is comparable with the loss of one pass.
    """
    targets, masks = torch.cat([target, target]), torch.cat([mask, mask])
    wide = torch.promote_types(logits.dtype, torch.float32)
    first, second = logits.to(wide).log_softmax(dim=-1).chunk(2)
    # both divergences at once: Σ p log(p/q) + Σ q log(q/p) = Σ (p − q)(log p − log q)
    divergence = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)
    divergence = divergence.masked_fill(~mask, 0.0).sum()
    cross_entropy = label_smoothed_loss(logits, targets, masks, smoothing)
    return cross_entropy / 2 + rdrop_alpha / 4 * divergence
