"""Greedy and beam search in plain PyTorch, a batch at a time, for the models of `plain`."""

from typing import Any

import torch
from torch import Tensor

BOS, EOS = 1, 2


@torch.inference_mode()
def search(model: Any, source: Tensor, size: int, max_length: int) -> list[list[int]]:
    """Return the best output of each source: ids without the end."""
    if size == 1:
        return _greedy(model, source, max_length)
    return _beam(model, source, size, max_length)


def _greedy(model: Any, source: Tensor, max_length: int) -> list[list[int]]:
    memory, state = model.start(source)
    words = torch.full_like(source[:, 0], BOS)
    done = torch.zeros_like(words, dtype=torch.bool)
    written = []
    for _ in range(max_length):
        state, logits = model.step(memory, state, words)
        words = logits.argmax(1).masked_fill(done, EOS)
        written.append(words)
        done = done | (words == EOS)
        if bool(done.all()):
            break
    return [_cut(line) for line in torch.stack(written, 1).tolist()]


def _beam(model: Any, source: Tensor, size: int, max_length: int) -> list[list[int]]:
    """Keep the likeliest hypotheses of each line; one that has ended only ends again."""
    lines = source.shape[0]
    memory, state = model.start(source)
    memory = tuple(part.repeat_interleave(size, 0) for part in memory)
    state = tuple(part.repeat_interleave(size, 0) for part in state)
    words = source.new_full((lines * size,), BOS)
    written = source.new_empty(lines * size, 0)
    # at first all hypotheses are the same: only one may go on
    totals = torch.full((lines, size), -torch.inf)
    totals[:, 0] = 0.0
    done = torch.zeros(lines * size, dtype=torch.bool)
    first = torch.arange(lines)[:, None] * size
    for _ in range(max_length):
        state, logits = model.step(memory, state, words)
        scores = logits.log_softmax(1)
        scores[done] = -torch.inf
        scores[done, EOS] = 0.0
        each = totals.view(-1, 1) + scores
        totals, places = each.view(lines, -1).topk(size, 1)
        rows = (first + places // scores.shape[1]).flatten()
        words = (places % scores.shape[1]).flatten()
        state = tuple(part[rows] for part in state)
        written = torch.cat([written[rows], words[:, None]], 1)
        done = done[rows] | (words == EOS)
        if bool(done.all()):
            break
    lengths = ((written != EOS).sum(1) + 1).view(lines, size)
    best = (totals / lengths).argmax(1) + first[:, 0]
    return [_cut(line) for line in written[best].tolist()]


def _cut(line: list[int]) -> list[int]:
    return line[: line.index(EOS)] if EOS in line else line
