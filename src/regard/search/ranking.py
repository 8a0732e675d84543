"""Which words come first: the likeliest, equals by the lower id; or one drawn at random."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.search.request import Options

NEVER = float("-inf")


def best(scores: Float[Tensor, "R V"], count: int) -> list[list[tuple[int, float]]]:
    """Return each row's highest scores with their ids, best first; what is impossible is left out.

    `topk` takes any of equals, so it is asked for one more: if that equals the last one wanted, all
    that equal it are looked up, and the lowest ids taken.
    """
    count = min(count, scores.shape[1])
    values, ids = scores.topk(min(count + 1, scores.shape[1]), dim=-1)
    found = []
    for row, pairs in enumerate(map(list, map(zip, ids.tolist(), values.tolist()))):
        last = pairs[count - 1][1]
        if len(pairs) > count and pairs[count][1] == last > NEVER:
            equals = torch.nonzero(scores[row] == last)[:, 0].tolist()
            pairs = [p for p in pairs if p[1] > last] + [(word, last) for word in equals]
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        found.append([pair for pair in pairs[:count] if pair[1] > NEVER])
    return found


def draw(
    log_probs: Float[np.ndarray, "V"], options: Options, generator: np.random.Generator
) -> int:
    """Draw a word from p^(1/temperature), among the top k and the top p."""
    order = np.argsort(-log_probs, kind="stable")
    probs = np.exp((log_probs[order] - log_probs[order[0]]) / options.temperature)
    if options.top_k:
        probs[options.top_k :] = 0.0
    probs /= probs.sum()
    if options.top_p < 1:
        probs[1:][probs.cumsum()[:-1] >= options.top_p] = 0.0
        probs /= probs.sum()
    place = int(np.searchsorted(probs.cumsum(), generator.random(), side="right"))
    return int(order[min(place, int(np.count_nonzero(probs)) - 1)])
