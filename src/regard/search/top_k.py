"""The best tokens: the likeliest first, and of equal scores the lower id."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

NEG_INF = float("-inf")
"""The log-probability of what is impossible."""


def top_k(
    scores: Float[Tensor, "R V"], k: int
) -> tuple[Float[np.ndarray, "R k"], Int[np.ndarray, "R k"]]:
    """Return the k highest scores of each row and their ids, best first; impossible ones are −∞.

    `torch.topk` may return any of several equal scores. Therefore one more than k is requested. If
    the last score has equals that were left out, the lowest ids among them are used. Only rows
    with equal scores are sorted again.
    """
    k = min(k, scores.shape[1])
    unstable = scores.topk(min(k + 1, scores.shape[1]), dim=-1)
    values, ids = unstable.values.cpu().numpy(), unstable.indices.cpu().numpy()
    equal = (values[:, 1:] == values[:, :-1]) & (values[:, 1:] > NEG_INF)
    for row in equal.any(axis=1).nonzero()[0]:
        last = values[row, k - 1]
        tied = values.shape[1] > k and values[row, k] == last
        if tied and last > NEG_INF:
            equals = torch.nonzero(scores[row] == last)[:, 0].cpu().numpy()
            num_above = int((values[row] > last).sum())
            ids[row, num_above:k] = equals[: k - num_above]
        order = np.lexsort((ids[row, :k], -values[row, :k]))
        ids[row, :k], values[row, :k] = ids[row, order], values[row, order]
    return values[:, :k], ids[:, :k]


def top_k_pairs(scores: Float[Tensor, "R V"], k: int) -> list[list[tuple[int, float]]]:
    """Return (id, score) of the k highest scores of each row, without impossible ones."""
    values, ids = top_k(scores, k)
    return [
        [(token_id, score) for token_id, score in zip(*row, strict=True) if score > NEG_INF]
        for row in zip(ids.tolist(), values.tolist(), strict=True)
    ]
