"""Given targets forced through a model: their scores, where it looked, and what moved it."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import InputError
from regard.inference.batch_invariance import TiledBatch
from regard.inference.prepare import prepare_for_inference
from regard.inference.step_decoder import ReferenceStepDecoder
from regard.models.seq2seq import Seq2Seq
from regard.special_tokens import BOS, EOS

HELD = 2**23
"""Most logits and weights of a tile that are held at once: those of copies are not kept."""

COPIES = 8
"""Rows of a backward pass: what additive attention keeps grows with each of them."""


@torch.inference_mode()
def forced(
    models: Sequence[Seq2Seq], source: Sequence[int], words: Sequence[int]
) -> tuple[tuple[float, ...], Float[np.ndarray, "T L H S"] | None]:
    """Return the score of each given word and of EOS, and the first model's weights.

    In the geometry of the search, so that company does not count.
    """
    device = models[0].device
    decoders = [prepare_for_inference(model).reference for model in models]
    fed = torch.tensor([[BOS, *words]] * decoders[0].tile_rows, device=device)
    limits = [m.max_target_length for m in models if m.max_target_length is not None]
    if limits and fed.shape[1] > min(limits):
        raise InputError(
            f"a target has {len(words):,} symbols, but the model has places for "
            f"{min(limits) - 1:,}; a shorter one would do"
        )
    target = torch.tensor([*words, EOS], device=device)
    unrolled = [_unrolled(decoder, source, fed, target) for decoder in decoders]
    each = torch.stack([scores for scores, _ in unrolled])
    # the mean of probabilities, as in the search
    log_probs = each.logsumexp(dim=0) - math.log(len(models))
    weights = unrolled[0][1]
    return tuple(log_probs.tolist()), None if weights is None else weights.cpu().numpy()


def _unrolled(
    decoder: ReferenceStepDecoder,
    source: Sequence[int],
    fed: Int[Tensor, "R T"],
    target: Int[Tensor, "T"],
) -> tuple[Float[Tensor, "T"], Float[Tensor, "T L H S"] | None]:
    """Score a target piece by piece, and keep the first row alone: the others are its copies."""
    model, batch = decoder.model, TiledBatch.start(decoder, [source])
    state, memory = batch.states[0], batch.memories[0]
    layers, heads = decoder.attention_shape or (0, 0)
    width = len(model.target_embedding.weight) + layers * heads * len(source)
    piece = max(1, HELD // (len(fed) * width))
    scores, weights = [], []
    for first in range(0, len(target), piece):
        here = slice(first, first + piece)
        state, scored = model.unroll(state, fed[:, here], memory)
        log_probs = scored.logits[0].float().log_softmax(dim=-1)
        scores.append(log_probs.gather(1, target[here, None])[:, 0])
        if scored.weights is not None:
            # a view would keep all rows
            weights.append(scored.weights[0, ..., : len(source)].float().clone())
    return torch.cat(scores), torch.cat(weights) if weights else None


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
    device = model.device
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
