"""Scores and weights of a recurrence with attention, step by step, and their gradients.

Two scores: additive, with the query W s, and dot, with the query s. The caller pools the values.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from regard.kernels.types import ScoreParameters

_softmax_backward = torch.ops.aten._softmax_backward_data
_tanh_backward = torch.ops.aten.tanh_backward


class Scorer(ABC):
    """Scores one query per row at each step; its buffers are allocated once."""

    query_size: int
    """How many columns the query has on the tape: none if the state itself is the query."""

    dv: Float[Tensor, "A"] | None = None

    def __init__(self, keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"]) -> None:
        self.keys = keys
        self.hidden = ~mask
        self.scores = keys.new_empty(keys.shape[:2])
        self.lowest = torch.finfo(keys.dtype).min

    def weigh(self, query: Float[Tensor, "B A"], out: Float[Tensor, "B S"]) -> None:
        """Write a step's weights: the softmax over visible positions, or zeros without any."""
        self._score(query)
        self.scores.masked_fill_(self.hidden, self.lowest)
        torch.softmax(self.scores, dim=-1, out=out)
        out.masked_fill_(self.hidden, 0.0)

    def begin_backward(
        self,
        values: Float[Tensor, "B S N"],
        weights: Float[Tensor, "B T S"],
        dweights: Float[Tensor, "B T S"] | None,
    ) -> None:
        """Prepare the backward pass; `dweights` is the gradient of the weights as outputs."""
        self.values = values.mT
        self.weights = weights.unbind(dim=1)
        self.dweights = None if dweights is None else dweights[:, :, None].unbind(dim=1)
        self.dstep_weights = weights.new_empty(weights.shape[0], 1, weights.shape[2])
        self._begin_backward(weights)

    def step_backward(
        self,
        t: int,
        dcontext: Float[Tensor, "B N"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        """Compute the query's gradient from the context's: written, or added to a state's.

        dα = value · dcontext      dscore = α∘(dα − Σ α∘dα), zero if the weight is, so if hidden
        """
        torch.bmm(dcontext[:, None], self.values, out=self.dstep_weights)
        if self.dweights is not None:
            self.dstep_weights.add_(self.dweights[t])
        weights = self.weights[t]
        dscores = _softmax_backward(self.dstep_weights[:, 0], weights, -1, weights.dtype)
        self._query_backward(t, dscores, query, dquery)

    @abstractmethod
    def keys_gradient(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        """Return the gradient of the keys, once all steps are done."""

    @abstractmethod
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        """Write `scores`."""

    @abstractmethod
    def _begin_backward(self, weights: Float[Tensor, "B T S"]) -> None:
        """Start the sums over steps."""

    @abstractmethod
    def _query_backward(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        """Write or add the query's gradient, and add the step's terms to the sums."""


@final
class AdditiveScorer(Scorer):
    """score = vᵀ tanh(q + key); the backward pass computes tanh again instead of saving it.

    No tensor is larger than B·S·A numbers.
    """

    def __init__(
        self, keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"], v: Float[Tensor, "A"]
    ) -> None:
        super().__init__(keys, mask)
        self.query_size = keys.shape[-1]
        self.v = v
        self.tanh = keys.new_empty(keys.shape)
        self.tanh_rows = self.tanh.flatten(0, 1)

    def _write_tanh(self, query: Float[Tensor, "B A"]) -> None:
        """Write tanh(q + key) to `tanh`."""
        torch.add(self.keys, query[:, None], out=self.tanh).tanh_()

    @override
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        self._write_tanh(query)
        torch.mv(self.tanh_rows, self.v, out=self.scores.view(-1))

    @override
    def _begin_backward(self, weights: Float[Tensor, "B T S"]) -> None:
        self.dkeys = torch.zeros_like(self.tanh)
        self.dv = self.dv_sum = torch.zeros_like(self.v)
        self.dq = torch.empty_like(self.tanh[:, 0])

    @override
    def _query_backward(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        self._write_tanh(query)
        self.dv_sum.addmv_(self.tanh_rows.T, dscores.flatten())
        # dscore · (1 − tanh²); v is the same for all steps: the sums are multiplied by it
        _tanh_backward(dscores[..., None], self.tanh, grad_input=self.tanh)
        self.dkeys.add_(self.tanh)
        torch.sum(self.tanh, dim=1, out=self.dq)
        torch.mul(self.dq, self.v, out=dquery)

    @override
    def keys_gradient(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        return self.dkeys * self.v


@final
class DotScorer(Scorer):
    """score = s · key"""

    query_size = 0

    @override
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        torch.bmm(query[:, None], self.keys.mT, out=self.scores[:, None])

    @override
    def _begin_backward(self, weights: Float[Tensor, "B T S"]) -> None:
        self.dscores = torch.empty_like(weights)

    @override
    def _query_backward(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        self.dscores[:, t] = dscores
        dquery[:, None].baddbmm_(dscores[:, None], self.keys)

    @override
    def keys_gradient(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        return self.dscores.mT @ queries


def make_scorer(
    keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"], score: ScoreParameters
) -> Scorer:
    """Return the scorer that the parameters belong to."""
    return DotScorer(keys, mask) if score.v is None else AdditiveScorer(keys, mask, score.v)
