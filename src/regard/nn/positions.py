"""Positions of tokens: added to embeddings (sinusoidal, learned) or used inside attention.

Positions count from 0. Rotary and relative positions take the queries to be the last of the keys.
"""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.nn import messages
from regard.nn.initialization import normal_parameter


@final
class SinusoidalPositions(nn.Module):
    """P[i,2j] = sin(i / 10000^{2j/D}), P[i,2j+1] = cos(same) (Vaswani et al. 2017, §3.5).

    P[i+δ] is a fixed rotation of P[i], so a shift is a linear map. The table is in float64 until
    the module is cast; the embedding casts it before the sum.
    """

    table: Tensor

    def __init__(self, size: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.register_buffer("table", _table(size, max_length), persistent=False)

    def forward(self, positions: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """Return the vectors of these positions."""
        return self.table[positions]


@final
class LearnedPositions(nn.Module):
    """A learned vector for each position (Gehring et al. 2017, §3.1)."""

    def __init__(self, size: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = normal_parameter(max_length, size)

    def forward(self, positions: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """Return the vectors of these positions."""
        return self.table[positions]


@final
class RotaryPositions(nn.Module):
    """Rotate each adjacent pair of a query or key by its position (Su et al. 2021, §3.2).

    (x_{2j}, x_{2j+1}) is rotated by i · 10000^{−2j/K}: the product of a rotated query and a
    rotated key then depends only on the distance between them.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        if size % 2:
            raise ConfigError("model", [messages.odd_rotary_size(size)])
        self.size = size

    def forward(self, x: Float[Tensor, "*B T K"], offset: int = 0) -> Float[Tensor, "*B T K"]:
        """Rotate x, whose first row is at position `offset`."""
        positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        angles = _angles(positions, self.size)
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


@final
class RelativePositions(nn.Module):
    """A learned key and value for each distance, clipped to ±c (Shaw et al. 2018, eq. 3-5).

    e_ij = q_i · (k_j + a^K_{j−i}) / √K        z_i = Σ_j α_ij (v_j + a^V_{j−i})

    It returns only the terms of the distances; attention adds them to its scores and context.
    """

    def __init__(self, size: int, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.a_K = normal_parameter(2 * max_distance + 1, size)
        self.a_V = normal_parameter(2 * max_distance + 1, size)

    def scores(self, query: Float[Tensor, "*B T K"], num_keys: int) -> Float[Tensor, "*B T S"]:
        """q_i · a^K_{j−i} / √K"""
        rows = self.a_K[self._distances(query.shape[-2], num_keys)]  # [T,S,K]
        return torch.einsum("...tk,tsk->...ts", query, rows) * query.shape[-1] ** -0.5

    def values(self, weights: Float[Tensor, "*B T S"]) -> Float[Tensor, "*B T K"]:
        """Σ_j α_ij a^V_{j−i}"""
        rows = self.a_V[self._distances(*weights.shape[-2:])]  # [T,S,K]
        return torch.einsum("...ts,tsk->...tk", weights, rows)

    def _distances(self, num_queries: int, num_keys: int) -> Int[Tensor, "T S"]:
        keys = torch.arange(num_keys, device=self.a_K.device)
        queries = torch.arange(num_keys - num_queries, num_keys, device=keys.device)
        distance = keys - queries[:, None]
        return distance.clamp(-self.max_distance, self.max_distance) + self.max_distance


def _table(size: int, max_length: int) -> Float[Tensor, "T D"]:
    if torch.get_default_device().type == "meta":
        # no numbers are needed, and `arange` would load all of torch's compiler there
        return torch.empty(max_length, size, dtype=torch.float64)
    # in float64 whatever the model's type: sin(i) in float32 is wrong in the fourth place
    angles = _angles(torch.arange(max_length), size)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :size]


def _angles(positions: Int[Tensor, "T"], size: int) -> Float[Tensor, "T half"]:
    """i / 10000^{2j/D} for every position i and pair j, in float64."""
    pairs = torch.arange(0, size, 2, dtype=torch.float64, device=positions.device)
    return positions[:, None] * 10000.0 ** (-pairs / size)
