"""Which words come first: the likeliest, equals by the lower id; or one drawn at random."""

import hashlib

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config.settings import SearchConfig
from regard.search.request import Request

NEVER = float("-inf")


def ranked(
    scores: Float[Tensor, "R V"], count: int
) -> tuple[Float[np.ndarray, "R k"], Int[np.ndarray, "R k"]]:
    """Return each row's highest scores and their ids, best first; what is impossible is −∞ there.

    `topk` takes any of equals, so it is asked for one more. Only in rows that have equals are they
    put in order: if the last one wanted has equals that were left out, the lowest ids are taken.
    """
    count = min(count, scores.shape[1])
    found = scores.topk(min(count + 1, scores.shape[1]), dim=-1)
    values, ids = found.values.cpu().numpy(), found.indices.cpu().numpy()
    equal = (values[:, 1:] == values[:, :-1]) & (values[:, 1:] > NEVER)
    for row in equal.any(axis=1).nonzero()[0]:
        last = values[row, count - 1]
        tied = values.shape[1] > count and values[row, count] == last
        if tied and last > NEVER:
            equals = torch.nonzero(scores[row] == last)[:, 0].cpu().numpy()
            above = int((values[row] > last).sum())
            ids[row, above:count] = equals[: count - above]
        order = np.lexsort((ids[row, :count], -values[row, :count]))
        ids[row, :count], values[row, :count] = ids[row, order], values[row, order]
    return values[:, :count], ids[:, :count]


def best(scores: Float[Tensor, "R V"], count: int) -> list[list[tuple[int, float]]]:
    """Return each row's highest scores with their ids, best first; what is impossible is left out.

    Of equals the lower id comes first.
    """
    values, ids = ranked(scores, count)
    return [
        [(word, value) for word, value in zip(*row, strict=True) if value > NEVER]
        for row in zip(ids.tolist(), values.tolist(), strict=True)
    ]


def generator(request: Request, config: SearchConfig) -> np.random.Generator:
    """Return what a line's samples are drawn by: it depends on the seed and the line alone."""
    digest = hashlib.sha256(repr((config.seed, request.source)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def draw(
    log_probs: Float[np.ndarray, "V"], config: SearchConfig, generator: np.random.Generator
) -> int:
    """Draw a word from p^(1/temperature), among the top k and the top p."""
    order = np.argsort(-log_probs, kind="stable")
    probs = np.exp((log_probs[order] - log_probs[order[0]]) / config.temperature)
    if config.top_k:
        probs[config.top_k :] = 0.0
    probs /= probs.sum()
    if config.top_p < 1:
        probs[1:][probs.cumsum()[:-1] >= config.top_p] = 0.0
        probs /= probs.sum()
    place = int(np.searchsorted(probs.cumsum(), generator.random(), side="right"))
    return int(order[min(place, int(np.count_nonzero(probs)) - 1)])
