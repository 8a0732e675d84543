"""Given targets forced through a model: their scores, where it looked, and what moved it."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import InputError
from regard.models.seq2seq import Seq2Seq
from regard.search.layout import laid_out
from regard.search.tiles import ROWS, Tiles
from regard.symbols import BOS, EOS

COPIES = 8
"""Rows of a backward pass: what additive attention keeps grows with each of them."""


@torch.inference_mode()
def forced(
    models: Sequence[Seq2Seq], source: Sequence[int], words: Sequence[int]
) -> tuple[tuple[float, ...], Float[np.ndarray, "T L H S"] | None]:
    """Return the score of each given word and of EOS, and the first model's weights.

    In the geometry of the search, so that company does not count.
    """
    device = models[0].target_embedding.weight.device
    fed = torch.tensor([[BOS, *words]] * ROWS, device=device)
    limits = [m.max_target_length for m in models if m.max_target_length is not None]
    if limits and fed.shape[1] > min(limits):
        raise InputError(
            f"a target has {len(words):,} symbols, but the model has places for "
            f"{min(limits) - 1:,}; a shorter one would do"
        )
    laid = [laid_out(model).model for model in models]
    begun = [Tiles.start(model, [source]) for model in laid]
    found = [
        model.unroll(one.states[0], fed, one.memories[0])[1]
        for model, one in zip(laid, begun, strict=True)
    ]
    each = torch.stack([scored.logits[0].float().log_softmax(dim=-1) for scored in found])
    # the mean of probabilities, as in the search
    log_probs = each.logsumexp(dim=0) - math.log(len(models))
    target = torch.tensor([*words, EOS], device=device)
    scores = log_probs.gather(1, target[:, None])[:, 0].tolist()
    weights = found[0].weights
    shown = None if weights is None else weights[0, ..., : len(source)].float().cpu().numpy()
    return tuple(scores), shown


def influence(
    model: Seq2Seq, source: Sequence[int], words: Sequence[int]
) -> Float[np.ndarray, "T S"]:
    """Return ‖∂ log p(y_t | y_<t, x) / ∂ e(x_s)‖ for each word, EOS last, and each source symbol.

    A row is divided by its sum; where nothing moved a word, everything did alike.
    """
    places = range(len(words) + 1)
    sizes = [_moved(model, source, words, places[t : t + COPIES]) for t in places[::COPIES]]
    size = torch.cat(sizes)
    share = size / size.sum(dim=-1, keepdim=True)
    return share.nan_to_num(1 / len(source)).cpu().numpy()


def _moved(
    model: Seq2Seq, source: Sequence[int], words: Sequence[int], places: Sequence[int]
) -> Float[Tensor, "B S"]:
    """Score the word at each place in a copy of its own: one backward pass has all gradients."""
    device = model.target_embedding.weight.device
    fed = torch.tensor([[BOS, *words]] * len(places), device=device)
    ids = torch.tensor([list(source)] * len(places), device=device)
    embedded: list[Tensor] = []

    def cut(module: object, arguments: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    # cuDNN's recurrences have no gradient outside of training
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        # a tied embedding reads the target too, but later
        hook = model.source_embedding.register_forward_hook(cut)
        try:
            memory, state = model.start(ids, torch.ones_like(ids, dtype=torch.bool))
        finally:
            hook.remove()
        logits = model.unroll(state, fed, memory, need_weights=False)[1].logits
        log_probs = logits.float().log_softmax(dim=-1)
        target = [*words, EOS]
        scores = [log_probs[row, t, target[t]] for row, t in enumerate(places)]
        (gradient,) = torch.autograd.grad(torch.stack(scores).sum(), embedded)
    return gradient.float().norm(dim=-1)
