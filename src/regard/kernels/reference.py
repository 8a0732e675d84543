"""The definition of every op, in plain PyTorch: a kernel is correct if it agrees with this file.

Nothing here is selected or cached; `dispatch.py` selects what runs, with these signatures.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from regard.kernels.steps import (
    Step,
    cell_step,
    elman_step,
    gru_after_step,
    gru_before_step,
    lstm_step,
)
from regard.kernels.types import (
    CellName,
    CellWeights,
    RecurrentAttentionOutput,
    ScoreParameters,
)


def linear(
    x: Float[Tensor, "*B I"], W: Float[Tensor, "O I"], *, bias: Float[Tensor, "O"] | None = None
) -> Float[Tensor, "*B O"]:
    """W x + bias: B·O·I multiply-adds."""
    return functional.linear(x, W, bias)


def dropout(x: Float[Tensor, "*B D"], *, p: float) -> Float[Tensor, "*B D"]:
    """Zero for a share p of the numbers, drawn one by one, and x / (1 − p) for the others."""
    return functional.dropout(x, p)


def masked_softmax(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "*#B #T S"]
) -> Float[Tensor, "*B T S"]:
    """Softmax over the visible positions; a row with none visible is all zero, never NaN."""
    # the lowest finite number, not -inf: a hidden row would be -inf - (-inf) in the backward pass
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def additive_scores(
    query: Float[Tensor, "*B T A"], keys: Float[Tensor, "*B S A"], *, v: Float[Tensor, "A"]
) -> Float[Tensor, "*B T S"]:
    """score[t,s] = Σ_a v[a] · tanh(query[t,a] + keys[s,a])

    B·T·S·A tanh and as many multiply-adds; builds the [B,T,S,A] tensor a kernel would avoid.
    """
    return torch.tanh(query[..., :, None, :] + keys[..., None, :, :]) @ v  # [B,T,S,A] @ [A]


def coverage_scores(
    query: Float[Tensor, "*B T A"],
    keys: Float[Tensor, "*B S A"],
    *,
    v: Float[Tensor, "A"],
    coverage: Float[Tensor, "*B T S"],
    w: Float[Tensor, "A"],
) -> Float[Tensor, "*B T S"]:
    """score[t,s] = Σ_a v[a] · tanh(query[t,a] + keys[s,a] + w[a] · coverage[t,s])

    Cost as `additive_scores`, with one more multiply-add per tanh.
    """
    coverage_term = coverage[..., None] * w  # [B,T,S,A]
    return torch.tanh(query[..., :, None, :] + keys[..., None, :, :] + coverage_term) @ v


def scaled_dot_attention(
    query: Float[Tensor, "*B T K"],
    keys: Float[Tensor, "*B S K"],
    values: Float[Tensor, "*B S N"],
    *,
    mask: Bool[Tensor, "*#B #T S"],
    dropout: float = 0.0,
) -> Float[Tensor, "*B T N"]:
    """context[t] = Σ_s softmax_s(query[t] · keys[s] / √K) values[s], with dropout on the weights.

    B·T·S·(K + N) multiply-adds; builds the [B,T,S] weights a kernel would avoid.
    """
    weights = masked_softmax(query @ keys.mT * query.shape[-1] ** -0.5, mask)
    return functional.dropout(weights, dropout) @ values


def elman_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "D I"],
    U: Float[Tensor, "D D"],
    b: Float[Tensor, "D"] | None,
) -> Float[Tensor, "B T D"]:
    """Every h of `elman_step` over a sequence, from the initial h."""
    return _scan(elman_step, x, h, CellWeights(W, U, b))


def gru_before_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """Every h of `gru_before_step` over a sequence, from the initial h."""
    return _scan(gru_before_step, x, h, CellWeights(W, U, b))


def gru_after_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """Every h of `gru_after_step` over a sequence, from the initial h."""
    return _scan(gru_after_step, x, h, CellWeights(W, U, b))


def _scan(
    step: Step, x: Float[Tensor, "B T I"], h: Float[Tensor, "B D"], weights: CellWeights
) -> Float[Tensor, "B T D"]:
    """B·T·G·(I + D) multiply-adds."""
    states = []
    for projected in functional.linear(x, weights.W, weights.b).unbind(dim=1):
        h = step(projected, h, weights.U)
        states.append(h)
    return torch.stack(states, dim=1)


def bidirectional_gru_before_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    mask: Bool[Tensor, "B T"],
    forward: CellWeights,
    backward: CellWeights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """Scan a line from both ends; [→h; ←h], zero where hidden, and the last states.

    What is hidden does not move a state. 2·B·T·G·(I + D) multiply-adds.
    """
    return _bidirectional(gru_before_step, x, h, mask, (forward, backward))


def bidirectional_gru_after_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    mask: Bool[Tensor, "B T"],
    forward: CellWeights,
    backward: CellWeights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`bidirectional_gru_before_scan` of the other GRU."""
    return _bidirectional(gru_after_step, x, h, mask, (forward, backward))


def _bidirectional(
    step: Step,
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    directions: tuple[CellWeights, CellWeights],
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    times, outputs, last_states = range(x.shape[1]), [], []
    for order, (W, U, b) in zip((times, times[::-1]), directions, strict=True):
        projected, state, states = functional.linear(x, W, b), h, {}
        for t in order:
            new_state = step(projected[:, t], state, U)
            state = states[t] = torch.where(mask[:, t, None], new_state, state)
        outputs.append(torch.stack([states[t] for t in times], dim=1))
        last_states.append(state)
    output = torch.cat(outputs, dim=-1).masked_fill(~mask[..., None], 0.0)
    return output, torch.cat(last_states, dim=-1)


def lstm_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    c: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
    """Every h of an LSTM over a sequence, and each row's c at its last visible position.

    4·B·T·D·(I + D) multiply-adds. Only h at visible positions is defined.
    """
    states = []
    steps = zip(functional.linear(x, W, b).unbind(dim=1), mask.unbind(dim=1), strict=True)
    for projected, visible in steps:
        h, new_c = lstm_step(projected, h, c, U)
        c = torch.where(visible[:, None], new_c, c)
        states.append(h)
    return torch.stack(states, dim=1), c


def look_then_move(
    x: Float[Tensor, "B T G"],
    *,
    cell: CellName,
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S G"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    score: ScoreParameters,
    U: Float[Tensor, "G D"],
) -> RecurrentAttentionOutput:
    """Attend with the old state, then step: Bahdanau's recurrence.

    α_t = softmax_s score(h_{t−1}, key_s)      h_t = cell(x_t + Σ_s α_ts value_s, h_{t−1})

    A value is C h_s, the memory as the cell sees it: Σ_s α_s (C h_s) = C Σ_s α_s h_s, so no
    product with C is left in the loop. B·T·(G·D + A·D + S·(A + G)) multiply-adds, B·T·S·A tanh.
    """
    outputs, weights = [], []
    for x_t in x.unbind(dim=1):
        weights.append(_weigh(h, keys, mask, score))
        h, c = cell_step(cell, x_t + _pool(weights[-1], values), h, c, U)
        outputs.append(h)
    return RecurrentAttentionOutput(torch.stack(outputs, dim=1), torch.stack(weights, dim=1), h, c)


def move_then_look(
    x: Float[Tensor, "B T G"],
    *,
    cell: CellName,
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S O"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    output: Float[Tensor, "B O"],
    score: ScoreParameters,
    U: Float[Tensor, "G D"],
    F: Float[Tensor, "G O"],
    R: Float[Tensor, "O D"],
) -> RecurrentAttentionOutput:
    """Step, attend with the new state, and feed the output to the next step: Luong's recurrence.

    h_t = cell(x_t + F h̃_{t−1}, h_{t−1})      α_t = softmax_s score(h_t, key_s)
    h̃_t = tanh(Σ_s α_ts value_s + R h_t)      W_c = [W R], value_s = W h̄_s

    `output` is h̃_0. B·T·(G·(D + O) + A·D + O·D + S·(A + O)) multiply-adds.
    """
    outputs, weights = [], []
    for x_t in x.unbind(dim=1):
        h, c = cell_step(cell, x_t + output @ F.T, h, c, U)
        weights.append(_weigh(h, keys, mask, score))
        output = torch.tanh(_pool(weights[-1], values) + h @ R.T)
        outputs.append(output)
    return RecurrentAttentionOutput(torch.stack(outputs, dim=1), torch.stack(weights, dim=1), h, c)


def _weigh(
    h: Float[Tensor, "B D"],
    keys: Float[Tensor, "B S A"],
    mask: Bool[Tensor, "B S"],
    score: ScoreParameters,
) -> Float[Tensor, "B S"]:
    if score.W is None or score.v is None:
        scores = h[:, None] @ keys.mT
    else:
        scores = additive_scores((h @ score.W.T)[:, None], keys, v=score.v)
    return masked_softmax(scores, mask[:, None])[:, 0]


def _pool(weights: Float[Tensor, "B S"], values: Float[Tensor, "B S N"]) -> Float[Tensor, "B N"]:
    return (weights[:, None] @ values)[:, 0]


def additive_attention(
    query: Float[Tensor, "B T A"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S N"],
    *,
    v: Float[Tensor, "A"],
    mask: Bool[Tensor, "B S"],
) -> tuple[Float[Tensor, "B T N"], Float[Tensor, "B T S"]]:
    """context[t] = Σ_s softmax_s(vᵀ tanh(query[t] + keys[s])) values[s], and the weights

    B·T·S·(A + N) multiply-adds and B·T·S·A tanh.
    """
    weights = masked_softmax(additive_scores(query, keys, v=v), mask[:, None])
    return weights @ values, weights


def linear_loss(
    x: Float[Tensor, "R X"],
    weight: Float[Tensor, "V X"],
    *,
    bias: Float[Tensor, "V"] | None,
    target: Int[Tensor, "R"],
    visible: Bool[Tensor, "R"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Σ (1−ε)·(−log p(y)) + ε·mean_v(−log p(v)) over visible rows, p = softmax(weight x + bias).

    R·V·X multiply-adds; builds the [R,V] logits a kernel would avoid.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    logits = functional.linear(x, weight, bias).to(wide)
    loss = functional.cross_entropy(logits, target, label_smoothing=smoothing, reduction="none")
    return loss.masked_fill(~visible, 0.0).sum()
