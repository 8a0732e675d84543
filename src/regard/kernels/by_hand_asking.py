"""How a state asks, step by step and back: scores, weights, and the gradients of both.

Two ways: additive, where the query is W s, and dot, where it is s itself. Neither pools.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from regard.kernels.reference import Asking

_softmax_back = torch.ops.aten._softmax_backward_data
_tanh_back = torch.ops.aten.tanh_backward


class Ask(ABC):
    """Queries come one step at a time; the buffers they need are made once."""

    width: int
    """How many columns the query takes beside the gates: none where the state itself asks."""

    dv: Float[Tensor, "A"] | None = None

    def __init__(self, keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"]) -> None:
        self.keys = keys
        self.hidden = ~mask
        self.scores = keys.new_empty(keys.shape[:2])
        self.lowest = torch.finfo(keys.dtype).min

    def weigh(self, query: Float[Tensor, "B A"], out: Float[Tensor, "B S"]) -> None:
        """Write a step's weights: the softmax over what is visible, zero where nothing is."""
        self._score(query)
        self.scores.masked_fill_(self.hidden, self.lowest)
        torch.softmax(self.scores, dim=-1, out=out)
        out.masked_fill_(self.hidden, 0.0)

    def begin_back(
        self,
        found: Float[Tensor, "B S N"],
        weights: Float[Tensor, "B T S"],
        dweights: Float[Tensor, "B T S"] | None,
    ) -> None:
        """Prepare the way back; `dweights` is what comes in through the weights themselves."""
        self.found = found.mT
        self.weights = weights.unbind(dim=1)
        self.given = None if dweights is None else dweights[:, :, None].unbind(dim=1)
        self.dlooked = weights.new_empty(weights.shape[0], 1, weights.shape[2])
        self._begin_back(weights)

    def back(
        self,
        t: int,
        dpooled: Float[Tensor, "B N"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        """Go from the pooled vector's gradient to the query's: written, or added to a state's.

        dα = found · dpooled      dscore = α∘(dα − Σ α∘dα), zero where a weight is, so if hidden
        """
        torch.bmm(dpooled[:, None], self.found, out=self.dlooked)
        if self.given is not None:
            self.dlooked.add_(self.given[t])
        weights = self.weights[t]
        dscores = _softmax_back(self.dlooked[:, 0], weights, -1, weights.dtype)
        self._query_back(t, dscores, query, dquery)

    @abstractmethod
    def keys_back(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        """Return the gradient of the keys, once all steps are back."""

    @abstractmethod
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        """Write `scores`."""

    @abstractmethod
    def _begin_back(self, weights: Float[Tensor, "B T S"]) -> None:
        """Start the sums over steps."""

    @abstractmethod
    def _query_back(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        """Write or add the query's gradient, and what else a step knows."""


@final
class Additive(Ask):
    """score = vᵀ tanh(q + key); on the way back tanh is computed again, not kept.

    B·S·A numbers are all that is ever made of it.
    """

    def __init__(
        self, keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"], v: Float[Tensor, "A"]
    ) -> None:
        super().__init__(keys, mask)
        self.width = keys.shape[-1]
        self.v = v
        self.inside = keys.new_empty(keys.shape)
        self.rows = self.inside.flatten(0, 1)

    def _bend(self, query: Float[Tensor, "B A"]) -> None:
        """Write tanh(q + key) to `inside`."""
        torch.add(self.keys, query[:, None], out=self.inside).tanh_()

    @override
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        self._bend(query)
        torch.mv(self.rows, self.v, out=self.scores.view(-1))

    @override
    def _begin_back(self, weights: Float[Tensor, "B T S"]) -> None:
        self.dkeys = torch.zeros_like(self.inside)
        self.dv = self.by_v = torch.zeros_like(self.v)
        self.dq = torch.empty_like(self.inside[:, 0])

    @override
    def _query_back(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        self._bend(query)
        self.by_v.addmv_(self.rows.T, dscores.flatten())
        # dscore · (1 − tanh²); v is the same for all steps, and waits for the sums
        _tanh_back(dscores[..., None], self.inside, grad_input=self.inside)
        self.dkeys.add_(self.inside)
        torch.sum(self.inside, dim=1, out=self.dq)
        torch.mul(self.dq, self.v, out=dquery)

    @override
    def keys_back(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        return self.dkeys * self.v


@final
class Dot(Ask):
    """score = s · key"""

    width = 0

    @override
    def _score(self, query: Float[Tensor, "B A"]) -> None:
        torch.bmm(query[:, None], self.keys.mT, out=self.scores[:, None])

    @override
    def _begin_back(self, weights: Float[Tensor, "B T S"]) -> None:
        self.dscores = torch.empty_like(weights)

    @override
    def _query_back(
        self,
        t: int,
        dscores: Float[Tensor, "B S"],
        query: Float[Tensor, "B A"],
        dquery: Float[Tensor, "B A"],
    ) -> None:
        self.dscores[:, t] = dscores
        dquery[:, None].baddbmm_(dscores[:, None], self.keys)

    @override
    def keys_back(self, queries: Float[Tensor, "B T D"]) -> Float[Tensor, "B S A"]:
        return self.dscores.mT @ queries


def make_ask(keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"], asking: Asking) -> Ask:
    """Return the way to ask that the parameters belong to."""
    return Dot(keys, mask) if asking.v is None else Additive(keys, mask, asking.v)
