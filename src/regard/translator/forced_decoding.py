"""Forced decoding: the scores and the attention of given targets."""

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
from regard.translator import messages

MAX_NUMBERS = 2**23
"""Maximum number of logits and weights of a tile in memory at once."""


@torch.inference_mode()
def score_target(
    models: Sequence[Seq2Seq], source: Sequence[int], token_ids: Sequence[int]
) -> tuple[tuple[float, ...], Float[np.ndarray, "T L H S"] | None]:
    """Return the score of each given token and of EOS, and the attention of the first model.

    All shapes are those of the search: the scores of a line do not depend on its neighbours.
    """
    device = models[0].device
    decoders = [prepare_for_inference(model).reference for model in models]
    previous = torch.tensor([[BOS, *token_ids]] * decoders[0].tile_rows, device=device)
    limits = [m.max_target_length for m in models if m.max_target_length is not None]
    if limits and previous.shape[1] > min(limits):
        raise InputError(messages.target_too_long(len(token_ids), min(limits) - 1))
    target = torch.tensor([*token_ids, EOS], device=device)
    unrolled = [_unroll(decoder, source, previous, target) for decoder in decoders]
    member_scores = torch.stack([scores for scores, _ in unrolled])
    # an ensemble is the mean of probabilities, as in the search
    log_probs = member_scores.logsumexp(dim=0) - math.log(len(models))
    weights = unrolled[0][1]
    return tuple(log_probs.tolist()), None if weights is None else weights.cpu().numpy()


def _unroll(
    decoder: ReferenceStepDecoder,
    source: Sequence[int],
    previous: Int[Tensor, "R T"],
    target: Int[Tensor, "T"],
) -> tuple[Float[Tensor, "T"], Float[Tensor, "T L H S"] | None]:
    """Score a target piece by piece; return the first row, since the others are copies."""
    model, batch = decoder.model, TiledBatch.start(decoder, [source])
    state, memory = batch.states[0], batch.memories[0]
    layers, heads = decoder.attention_shape or (0, 0)
    width = len(model.target_embedding.weight) + layers * heads * len(source)
    piece = max(1, MAX_NUMBERS // (len(previous) * width))
    scores, weights = [], []
    for first in range(0, len(target), piece):
        part = slice(first, first + piece)
        state, output = model.unroll(state, previous[:, part], memory)
        log_probs = output.logits[0].float().log_softmax(dim=-1)
        scores.append(log_probs.gather(1, target[part, None])[:, 0])
        if output.weights is not None:
            # a view would keep all rows in memory
            weights.append(output.weights[0, ..., : len(source)].float().clone())
    return torch.cat(scores), torch.cat(weights) if weights else None
