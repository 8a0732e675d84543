"""Additive attention of many queries at once, tile by tile, with a custom backward pass.

A tile is some sentences times some queries, small enough to stay in a cache. The tensor [B,T,S,A],
which plain PyTorch builds and saves, never exists. A second derivative is not supported.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.kernels.casting import autocast_disabled, cast_for_autocast
from regard.kernels.reference import masked_softmax

TILE = 2**18
"""Maximum number of tanh values of a tile: a mebibyte in float32."""


def additive_attention(
    query: Float[Tensor, "B T A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S N"],
    *,
    v: Float[Tensor, "A"],
    mask: Bool[Tensor, "B S"],
) -> tuple[Float[Tensor, "B T N"], Float[Tensor, "B T S"]]:
    """`reference.additive_attention`; saves its inputs and B·T·S weights, computes tanh twice."""
    q, k, v, values = cast_for_autocast(query, keys, v, values)
    with autocast_disabled(q):
        weights = _AdditiveWeights.apply(mask, q, k, v)
        return weights @ values, weights


class _AdditiveWeights(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mask: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q.new_empty(*q.shape[:2], k.shape[1])
        for rows, queries in _tiles(q, k):
            scores[rows, queries] = _tanh_of_sum(q[rows, queries], k[rows]) @ v
        weights = masked_softmax(scores, mask[:, None])
        ctx.save_for_backward(q, k, v, weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dweights: Tensor) -> tuple[Tensor | None, ...]:
        """dscore = α∘(dα − Σ α∘dα)      d(q + k) = dscore · v∘(1 − tanh²), summed over either."""
        q, k, v, weights = ctx.saved_tensors
        with autocast_disabled(q):
            dscores = torch.ops.aten._softmax_backward_data(dweights, weights, -1, weights.dtype)
            dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
            for rows, queries in _tiles(q, k):
                tanh, dscore = _tanh_of_sum(q[rows, queries], k[rows]), dscores[rows, queries]
                dv += dscore.flatten() @ tanh.flatten(0, 2)
                dsum = torch.ops.aten.tanh_backward(dscore[..., None], tanh, grad_input=tanh)
                dq[rows, queries] = dsum.sum(dim=2)
                dk[rows] += dsum.sum(dim=1)
            return None, dq.mul_(v), dk.mul_(v), dv


def _tanh_of_sum(q: Float[Tensor, "b t A"], k: Float[Tensor, "b S A"]) -> Float[Tensor, "b t S A"]:
    return torch.add(q[:, :, None], k[:, None]).tanh_()


def _tiles(q: Float[Tensor, "B T A"], k: Float[Tensor, "B S A"]) -> Iterator[tuple[slice, slice]]:
    """Return the slices of tiles of at most TILE numbers, but of one query at least."""
    (B, T, _), numbers_per_query = q.shape, k.shape[1] * k.shape[2]
    queries = min(T, max(1, TILE // max(1, numbers_per_query)))
    rows = min(B, max(1, TILE // max(1, numbers_per_query * queries)))
    for b in range(0, B, rows):
        for t in range(0, T, queries):
            yield slice(b, b + rows), slice(t, t + queries)
