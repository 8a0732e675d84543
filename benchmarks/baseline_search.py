"""Greedy and beam search in plain PyTorch, a batch at a time, for the models of `baseline`."""

from typing import Any

import torch
from torch import Tensor

BOS, EOS = 1, 2


@torch.inference_mode()
def search(model: Any, source: Tensor, size: int, max_length: int) -> list[list[int]]:
    """Return the best output of each source: token ids without EOS."""
    if size == 1:
        return _greedy(model, source, max_length)
    return _beam(model, source, size, max_length)


def _greedy(model: Any, source: Tensor, max_length: int) -> list[list[int]]:
    memory, state = model.start(source)
    tokens = torch.full_like(source[:, 0], BOS)
    is_finished = torch.zeros_like(tokens, dtype=torch.bool)
    outputs = []
    for _ in range(max_length):
        state, logits = model.step(memory, state, tokens)
        tokens = logits.argmax(1).masked_fill(is_finished, EOS)
        outputs.append(tokens)
        is_finished = is_finished | (tokens == EOS)
        if bool(is_finished.all()):
            break
    return [_strip_eos(line) for line in torch.stack(outputs, 1).tolist()]


def _beam(model: Any, source: Tensor, size: int, max_length: int) -> list[list[int]]:
    """Keep the likeliest hypotheses of each line; a finished one can only repeat EOS."""
    lines = source.shape[0]
    memory, state = model.start(source)
    memory = tuple(part.repeat_interleave(size, 0) for part in memory)
    state = tuple(part.repeat_interleave(size, 0) for part in state)
    tokens = source.new_full((lines * size,), BOS)
    outputs = source.new_empty(lines * size, 0)
    # at first all hypotheses are equal: only one may be extended
    totals = torch.full((lines, size), -torch.inf)
    totals[:, 0] = 0.0
    is_finished = torch.zeros(lines * size, dtype=torch.bool)
    offsets = torch.arange(lines)[:, None] * size
    for _ in range(max_length):
        state, logits = model.step(memory, state, tokens)
        scores = logits.log_softmax(1)
        scores[is_finished] = -torch.inf
        scores[is_finished, EOS] = 0.0
        candidate_totals = totals.view(-1, 1) + scores
        totals, indices = candidate_totals.view(lines, -1).topk(size, 1)
        rows = (offsets + indices // scores.shape[1]).flatten()
        tokens = (indices % scores.shape[1]).flatten()
        state = tuple(part[rows] for part in state)
        outputs = torch.cat([outputs[rows], tokens[:, None]], 1)
        is_finished = is_finished[rows] | (tokens == EOS)
        if bool(is_finished.all()):
            break
    lengths = ((outputs != EOS).sum(1) + 1).view(lines, size)
    best = (totals / lengths).argmax(1) + offsets[:, 0]
    return [_strip_eos(line) for line in outputs[best].tolist()]


def _strip_eos(line: list[int]) -> list[int]:
    return line[: line.index(EOS)] if EOS in line else line
