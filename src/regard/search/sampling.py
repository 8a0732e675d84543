"""Sampling of tokens: temperature, top-k and top-p; each line has a generator of its own."""

import hashlib

import numpy as np
from jaxtyping import Float

from regard.config.settings import SearchConfig
from regard.search.request import SearchRequest


def line_generator(request: SearchRequest, config: SearchConfig) -> np.random.Generator:
    """Return the random generator of a line, which depends only on the seed and the line."""
    digest = hashlib.sha256(repr((config.seed, request.source)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def sample_token(
    log_probs: Float[np.ndarray, "V"], config: SearchConfig, generator: np.random.Generator
) -> int:
    """Sample a token from p^(1/temperature), among the top k and the top p."""
    order = np.argsort(-log_probs, kind="stable")
    probs = np.exp((log_probs[order] - log_probs[order[0]]) / config.temperature)
    if config.top_k:
        probs[config.top_k :] = 0.0
    probs /= probs.sum()
    if config.top_p < 1:
        probs[1:][probs.cumsum()[:-1] >= config.top_p] = 0.0
        probs /= probs.sum()
    rank = int(np.searchsorted(probs.cumsum(), generator.random(), side="right"))
    return int(order[min(rank, int(np.count_nonzero(probs)) - 1)])
