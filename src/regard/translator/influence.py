"""Influence: how much each source token mattered for each target token, by gradient."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.models.seq2seq import Seq2Seq
from regard.special_tokens import BOS, EOS

NUM_COPIES = 8
"""Rows of a backward pass; the memory of additive attention grows with each."""


def influence(
    model: Seq2Seq, source: Sequence[int], token_ids: Sequence[int]
) -> Float[np.ndarray, "T S"]:
    """Return ‖∂ log p(y_t | y_<t, x) / ∂ e(x_s)‖ for each target and source token, EOS last.

    A row is divided by its sum; a row of zeros becomes uniform.
    """
    positions = range(len(token_ids) + 1)
    norms = torch.cat(
        [
            _gradient_norms(model, source, token_ids, positions[t : t + NUM_COPIES])
            for t in positions[::NUM_COPIES]
        ]
    )
    shares = norms / norms.sum(dim=-1, keepdim=True)
    return shares.nan_to_num(1 / len(source)).cpu().numpy()


def _gradient_norms(
    model: Seq2Seq, source: Sequence[int], token_ids: Sequence[int], positions: Sequence[int]
) -> Float[Tensor, "B S"]:
    """Score each position in its own copy of the line: one backward pass has all gradients."""
    device = model.device
    previous = torch.tensor([[BOS, *token_ids]] * len(positions), device=device)
    ids = torch.tensor([list(source)] * len(positions), device=device)
    embedded: list[Tensor] = []

    def detach(module: object, arguments: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    # recurrent layers of cuDNN have gradients only in training mode
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        # removed before a tied embedding reads the target
        hook = model.source_embedding.register_forward_hook(detach)
        try:
            memory, state = model.start(ids, torch.ones_like(ids, dtype=torch.bool))
        finally:
            hook.remove()
        logits = model.unroll(state, previous, memory, need_weights=False)[1].logits
        log_probs = logits.float().log_softmax(dim=-1)
        target = [*token_ids, EOS]
        scores = [log_probs[row, t, target[t]] for row, t in enumerate(positions)]
        (gradient,) = torch.autograd.grad(torch.stack(scores).sum(), embedded)
    return gradient.float().norm(dim=-1)
