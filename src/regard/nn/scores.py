"""Score functions: how well a query matches each key.

Every score maps a query [B,T,D] and prepared keys to scores [B,T,S]; B may be several axes
(sequences, heads). `nn/attention.py` masks and normalizes the scores.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from regard import kernels
from regard.errors import InputError
from regard.nn import messages
from regard.nn.initialization import normal_parameter


class ScoreFunction(nn.Module, ABC):
    """The interface of scores: `prepare` once per source, `forward` once per step."""

    @abstractmethod
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        """Compute what depends only on the source."""

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        """Score every query against every prepared key."""


class TanhScore(ScoreFunction):
    """score(q, k) = vᵀ tanh(q + k), with projected queries and keys."""

    v: nn.Parameter

    @property
    @abstractmethod
    def query_weight(self) -> Float[Tensor, "A D"]:
        """The projection of queries."""

    def score_projected(
        self, q: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        """Score queries that have been multiplied by `query_weight`."""
        return kernels.additive_scores(q, keys, v=self.v)


@final
class AdditiveScore(TanhScore):
    """Additive score (Bahdanau et al. 2015, A.1.2).

    score(q, k) = vᵀ tanh(W_q q + W_k k)

    With coverage (Tu et al. 2016) it also depends on the sum of the key's earlier weights:
    score(q, k) = vᵀ tanh(W_q q + W_k k + w_c Σ_{t′<t} α_t′)
    """

    def __init__(
        self, query_size: int, key_size: int, align_size: int, coverage: bool = False
    ) -> None:
        super().__init__()
        self.W_q = nn.Linear(query_size, align_size, bias=False)
        self.W_k = nn.Linear(key_size, align_size, bias=False)
        self.v = normal_parameter(align_size)
        self.w_c = normal_parameter(align_size) if coverage else None

    @property
    @override
    def query_weight(self) -> Float[Tensor, "A D"]:
        return self.W_q.weight

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return self.W_k(keys)

    @override
    def forward(
        self,
        query: Float[Tensor, "*B T D"],
        keys: Float[Tensor, "*B S A"],
        coverage: Float[Tensor, "*B T S"] | None = None,
    ) -> Float[Tensor, "*B T S"]:
        if self.w_c is None or coverage is None:
            return self.score_projected(self.W_q(query), keys)
        q = self.W_q(query)
        return kernels.coverage_scores(q, keys, v=self.v, coverage=coverage, w=self.w_c)


@final
class ConcatScore(TanhScore):
    """Concat score (Luong et al. 2015, §3.1).

    score(q, k) = vᵀ tanh(W [q; k])

    With W = [W_q W_k] it is the additive score, and is computed that way.
    """

    def __init__(self, query_size: int, key_size: int, align_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.W = nn.Linear(query_size + key_size, align_size, bias=False)
        self.v = normal_parameter(align_size)

    @property
    @override
    def query_weight(self) -> Float[Tensor, "A D"]:
        return self.W.weight[:, : self.query_size]

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return nn.functional.linear(keys, self.W.weight[:, self.query_size :])

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        return self.score_projected(nn.functional.linear(query, self.query_weight), keys)


@final
class DotScore(ScoreFunction):
    """score(q, k) = qᵀ k (Luong et al. 2015, §3.1)."""

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return keys

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        return query @ keys.mT


@final
class ScaledDotScore(ScoreFunction):
    """score(q, k) = qᵀ k / √K, K the width of both (Vaswani et al. 2017, eq. 1)."""

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return keys

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        return query @ keys.mT * query.shape[-1] ** -0.5


@final
class BilinearScore(ScoreFunction):
    """score(q, k) = qᵀ W k (Luong et al. 2015, §3.1, "general")."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.W = nn.Linear(key_size, query_size, bias=False)

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return self.W(keys)

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        return query @ keys.mT


@final
class GaussianScore(ScoreFunction):
    """score(q, k) = −½ ‖w (q − k)‖², w fixed or learned.

    Its softmax is the Nadaraya–Watson estimator with a Gaussian kernel of width 1/w.
    """

    w: Tensor

    def __init__(self, w: float = 1.0, learned: bool = False) -> None:
        super().__init__()
        if learned:
            self.w = nn.Parameter(torch.tensor(float(w)))
        else:
            self.register_buffer("w", torch.tensor(float(w)))

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        return keys

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        # the difference itself: ‖q‖² − 2qᵀk + ‖k‖² is inexact for near keys
        difference = self.w * (query[..., :, None, :] - keys[..., None, :, :])
        return -0.5 * difference.square().sum(dim=-1)


@final
class LocationScore(ScoreFunction):
    """The s-th score is the s-th row of W times q, whatever the key (Luong et al. 2015, §3.1)."""

    def __init__(self, query_size: int, max_length: int) -> None:
        super().__init__()
        self.W = nn.Linear(query_size, max_length, bias=False)

    @override
    def prepare(self, keys: Float[Tensor, "*B S M"]) -> Float[Tensor, "*B S A"]:
        if keys.shape[-2] > self.W.out_features:
            length, max_length = keys.shape[-2], self.W.out_features
            raise InputError(messages.source_beyond_location_score(length, max_length))
        return keys

    @override
    def forward(
        self, query: Float[Tensor, "*B T D"], keys: Float[Tensor, "*B S A"]
    ) -> Float[Tensor, "*B T S"]:
        return nn.functional.linear(query, self.W.weight[: keys.shape[-2]])
