"""Attention: scores become weights, and weights become a context.

This is the only module that masks and normalizes scores. Weights are returned, never stored.
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard import kernels
from regard.errors import ConfigError, InputError
from regard.nn import messages
from regard.nn.dropout import Dropout
from regard.nn.initialization import normal_parameter
from regard.nn.masks import masked_softmax
from regard.nn.positions import RelativePositions, RotaryPositions
from regard.nn.scores import AdditiveScore, ScaledDotScore, ScoreFunction, TanhScore
from regard.nn.tensor_record import TensorRecord


@dataclass(frozen=True)
class Memory(TensorRecord):
    """What a decoder attends to: keys, values and mask, prepared once per source sequence."""

    keys: Float[Tensor, "*B S A"]
    values: Float[Tensor, "*B S N"]
    mask: Bool[Tensor, "*#B S"]


class PastAttention(NamedTuple):
    """What attention needs of earlier steps: their number, and the sum of their weights."""

    position: Int[Tensor, "*B T"]
    coverage: Float[Tensor, "*B T S"] | None = None


def force_weights(
    weights: Float[Tensor, "*B T S"], forced_weights: Float[Tensor, "*B T S"] | None
) -> Float[Tensor, "*B T S"]:
    """Replace the model's weights by forced ones; NaN leaves the model's own."""
    return (
        weights
        if forced_weights is None
        else torch.where(forced_weights.isnan(), weights, forced_weights.to(weights.dtype))
    )


@final
class LocalWindow(nn.Module):
    """Local attention: only near a position p_t, and less with distance (Luong et al. 2015, §3.2).

    local-m   p_t = t
    local-p   p_t = S · σ(v_pᵀ tanh(W_p s)), S the true length; with query_size
    weights   softmax inside [p_t − δ, p_t + δ], times exp(−(j − p_t)² / 2σ²), σ = δ/2

    The product is not normalized again. Positions j and t count from 1, as in the paper.
    """

    def __init__(self, half_width: int, query_size: int | None = None) -> None:
        super().__init__()
        self.half_width = half_width
        self.W_p = nn.Linear(query_size, query_size, bias=False) if query_size else None
        self.v_p = normal_parameter(query_size) if query_size else None

    def forward(
        self,
        query: Float[Tensor, "*B T D"],
        mask: Bool[Tensor, "*#B S"],
        position: Int[Tensor, "*B T"],
    ) -> tuple[Bool[Tensor, "*B T S"], Float[Tensor, "*B T S"]]:
        """Return which positions are inside each query's window, and the factor on its weights."""
        # half precision cannot count beyond 256
        wide = torch.promote_types(query.dtype, torch.float32)
        if self.W_p is None or self.v_p is None:
            center = position.to(wide) + 1
        else:
            center = torch.sigmoid(torch.tanh(self.W_p(query)) @ self.v_p).to(wide)
            center = center * mask.sum(dim=-1, keepdim=True)
        j = torch.arange(1, mask.shape[-1] + 1, device=query.device)
        distance = j - center[..., None]
        factor = torch.exp(-distance.square() / (2 * (self.half_width / 2) ** 2))
        return distance.abs() <= self.half_width, factor.to(query.dtype)


@final
class Attention(nn.Module):
    """weights = softmax(score(query, keys)), context = weights · values.

    With keys = values it is soft attention, with separate values key–value attention. A window
    narrows the softmax, relative positions add to scores and context, dropout acts on the weights.
    """

    def __init__(
        self,
        score: ScoreFunction,
        *,
        window: LocalWindow | None = None,
        relative: RelativePositions | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = score
        self.window = window
        self.relative = relative
        self.dropout = Dropout(dropout)

    def remember(
        self,
        keys: Float[Tensor, "*B S M"],
        values: Float[Tensor, "*B S N"],
        mask: Bool[Tensor, "*#B S"] | None = None,
    ) -> Memory:
        """Prepare a source for any number of queries; without a mask all of it is visible."""
        if mask is None:
            mask = torch.ones(keys.shape[:-1], dtype=torch.bool, device=keys.device)
        return Memory(self.score.prepare(keys), values, mask)

    def forward(
        self,
        query: Float[Tensor, "*B T D"],
        memory: Memory,
        *,
        visible: Bool[Tensor, "T S"] | None = None,
        past: PastAttention | None = None,
        forced_weights: Float[Tensor, "*B T S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[Float[Tensor, "*B T N"], Float[Tensor, "*B T S"] | None]:
        """Return the context and the weights of each query.

        `visible` hides keys for single queries; `past` is for windows and coverage. Without
        `need_weights` the scaled dot product runs fused and does not compute the weights. Several
        queries of an additive score run as one op, without a tensor [B,T,S,A].
        """
        mask = memory.mask[..., None, :]
        if visible is not None:
            mask = mask & visible
        if not need_weights and forced_weights is None and self._why_not_fused is None:
            dropout = self.dropout.p if self.training else 0.0
            keys, values = memory.keys, memory.values
            context = kernels.scaled_dot_attention(query, keys, values, mask=mask, dropout=dropout)
            return context, None

        # a single query, as in a search, stays unfused: its shapes decide how it rounds
        if query.ndim == 3 and query.shape[1] > 1 and forced_weights is None and visible is None:
            score = self.score
            if self._why_not_additive is None and isinstance(score, TanhScore):
                q = nn.functional.linear(query, score.query_weight)
                mask = memory.mask.expand(memory.keys.shape[:-1])
                context, weights = kernels.additive_attention(
                    q, memory.keys, memory.values, v=score.v, mask=mask
                )
                return context, weights if need_weights else None

        weights = force_weights(self._attention_weights(query, memory, mask, past), forced_weights)
        weights_after_dropout = self.dropout(weights)
        context = weights_after_dropout @ memory.values
        if self.relative is not None:
            context = context + self.relative.values(weights_after_dropout)
        return context, weights if need_weights else None

    @property
    def uses_coverage(self) -> bool:
        """Whether the score needs the weights of earlier steps."""
        return isinstance(self.score, AdditiveScore) and self.score.w_c is not None

    def explain(self, call: kernels.Call, *, heads: bool = False) -> kernels.Decision:
        """Return what runs in training, which does not need the weights, and why."""
        if self._why_not_fused is None:
            dropout = {"dropout": self.dropout.p if self.training else 0.0}
            return kernels.OPS["scaled_dot_attention"].explain(call._replace(keywords=dropout))
        why_not = messages.HEADS if heads else self._why_not_additive
        if why_not is None:
            return kernels.OPS["additive_attention"].explain(call)
        reasons = f"scaled_dot_attention: {self._why_not_fused}; additive_attention: {why_not}"
        return kernels.Decision("scores, softmax and sum", f"{reasons}; every score can")

    @property
    def _why_not_fused(self) -> str | None:
        """Why the fused scaled dot product cannot run, even if the weights are not needed."""
        if self.window is not None or self.relative is not None:
            return messages.WINDOW_OR_RELATIVE
        return None if isinstance(self.score, ScaledDotScore) else self._score_name

    @property
    def _why_not_additive(self) -> str | None:
        """Why the op for many queries of an additive score cannot run."""
        if self.window is not None or self.relative is not None:
            return messages.NOT_PLAIN_ATTENTION
        if self.uses_coverage or self.weight_dropout_active:
            return messages.NOT_PLAIN_ATTENTION
        return None if isinstance(self.score, TanhScore) else self._score_name

    @property
    def _score_name(self) -> str:
        return messages.score_is(type(self.score).__name__)

    @property
    def weight_dropout_active(self) -> bool:
        """Whether dropout acts on the weights now."""
        return self.training and self.dropout.p > 0

    def _attention_weights(
        self,
        query: Float[Tensor, "*B T D"],
        memory: Memory,
        mask: Bool[Tensor, "*#B #T S"],
        past: PastAttention | None,
    ) -> Float[Tensor, "*B T S"]:
        """Score, mask and normalize."""
        coverage = None if past is None else past.coverage
        if self.uses_coverage and coverage is None:
            raise InputError(messages.COVERAGE_NOT_GIVEN)
        scores = self.score(query, memory.keys, *([coverage] if self.uses_coverage else []))
        if self.relative is not None:
            scores = scores + self.relative.scores(query, memory.keys.shape[-2])
        if self.window is None:
            return masked_softmax(scores, mask)
        position = _positions_from_zero(query) if past is None else past.position
        inside, factor = self.window(query, memory.mask, position)
        return masked_softmax(scores, mask & inside) * factor


def _positions_from_zero(query: Float[Tensor, "*B T D"]) -> Int[Tensor, "*B T"]:
    return torch.arange(query.shape[-2], device=query.device).expand(query.shape[:-1])


def weighted_values(weights: Float[Tensor, "*B T S"], memory: Memory) -> Float[Tensor, "*B T S N"]:
    """Return α_j v_j before the sum: what each source position adds to the context."""
    return weights[..., None] * memory.values[..., None, :, :]


@final
class ManyReads(nn.Module):
    """N queries, learned or given, read one memory; their contexts are concatenated.

    Some texts call this multi-head attention; here every query attends to the whole memory.
    """

    def __init__(self, attention: Attention, num_reads: int, query_size: int) -> None:
        super().__init__()
        self.attention = attention
        self.queries = normal_parameter(num_reads, query_size)

    def forward(
        self, memory: Memory, queries: Float[Tensor, "B reads D"] | None = None
    ) -> tuple[Float[Tensor, "B reads_N"], Float[Tensor, "B reads S"]]:
        """Return the concatenated contexts, and each query's weights."""
        if queries is None:
            queries = self.queries.expand(memory.values.shape[0], -1, -1)
        contexts, weights = self.attention(queries, memory)
        return contexts.flatten(1), weights


@final
class MultiHeadAttention(nn.Module):
    """head_i = attention(W_q⁽ⁱ⁾q, W_k⁽ⁱ⁾k, W_v⁽ⁱ⁾v), output W_o[head_1; …; head_H].

    (Vaswani et al. 2017, §3.2.2.) Any score function can be used; all heads share it and differ in
    their projections. W_q, W_k and W_v hold the heads' matrices one below the other.
    """

    def __init__(
        self,
        sizes: tuple[int, int, int],
        model_size: int,
        num_heads: int,
        *,
        score: ScoreFunction | None = None,
        positions: RotaryPositions | RelativePositions | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if model_size % num_heads:
            problem = messages.model_size_not_divisible(model_size, num_heads)
            raise ConfigError("model", [problem])
        relative = positions if isinstance(positions, RelativePositions) else None
        if relative is not None and not isinstance(score, ScaledDotScore | None):
            raise ConfigError("model", [messages.RELATIVE_NEED_SCALED_DOT])
        query_size, key_size, value_size = sizes
        self.num_heads = num_heads
        self.W_q = nn.Linear(query_size, model_size, bias=False)
        self.W_k = nn.Linear(key_size, model_size, bias=False)
        self.W_v = nn.Linear(value_size, model_size, bias=False)
        self.W_o = nn.Linear(model_size, model_size, bias=False)
        self.rotary = positions if isinstance(positions, RotaryPositions) else None
        self.attention = Attention(score or ScaledDotScore(), relative=relative, dropout=dropout)

    def remember(
        self,
        keys: Float[Tensor, "B S M"],
        values: Float[Tensor, "B S N"],
        mask: Bool[Tensor, "B S"],
        offset: int = 0,
    ) -> Memory:
        """Project a sequence for every head; `offset` is the position of its first key."""
        heads = self._split(self.W_k(keys))
        if self.rotary is not None:
            heads = self.rotary(heads, offset)
        return self.attention.remember(heads, self._split(self.W_v(values)), mask[:, None])

    def forward(
        self,
        query: Float[Tensor, "B T D"],
        memory: Memory,
        *,
        visible: Bool[Tensor, "T S"] | None = None,
        forced_weights: Float[Tensor, "B H T S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[Float[Tensor, "B T O"], Float[Tensor, "B H T S"] | None]:
        """Return each query's output, and the weights of every head."""
        heads = self._split(self.W_q(query))
        earlier = memory.keys.shape[-2] - query.shape[-2]
        if earlier < 0 and (self.rotary is not None or self.attention.relative is not None):
            queries, keys = query.shape[-2], memory.keys.shape[-2]
            raise InputError(messages.more_queries_than_keys(queries, keys))
        if self.rotary is not None:
            heads = self.rotary(heads, earlier)
        contexts, weights = self.attention(
            heads, memory, visible=visible, forced_weights=forced_weights, need_weights=need_weights
        )
        return self.W_o(contexts.transpose(1, 2).flatten(2)), weights

    def explain(self, call: kernels.Call) -> kernels.Decision:
        """Return what runs in training, and why."""
        return self.attention.explain(call, heads=True)

    def _split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T K"]:
        return x.reshape(*x.shape[:2], self.num_heads, x.shape[-1] // self.num_heads).transpose(
            1, 2
        )


@final
class SelfAttention(nn.Module):
    """Queries, keys and values are linear maps of one sequence, or the sequence itself.

    `sizes` are the widths of the three maps; without them there are none. Without positions it
    is permutation-equivariant: it treats the sequence as a set.
    """

    def __init__(
        self, attention: Attention, size: int, sizes: tuple[int, int, int] | None = None
    ) -> None:
        super().__init__()
        self.attention = attention
        self.W_q, self.W_k, self.W_v = (
            nn.Identity() if sizes is None else nn.Linear(size, sizes[i], bias=False)
            for i in range(3)
        )

    def forward(
        self,
        x: Float[Tensor, "*B S D"],
        mask: Bool[Tensor, "*B S"] | None = None,
        *,
        visible: Bool[Tensor, "S S"] | None = None,
        need_weights: bool = True,
    ) -> tuple[Float[Tensor, "*B S N"], Float[Tensor, "*B S S"] | None]:
        """Let every position attend to every visible one."""
        memory = self.attention.remember(self.W_k(x), self.W_v(x), mask)
        return self.attention(self.W_q(x), memory, visible=visible, need_weights=need_weights)
