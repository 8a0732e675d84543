"""The definition of every op, in plain PyTorch: a kernel is right when it agrees with this file.

Nothing here is chosen or cached; `choose.py` decides what runs.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

Step = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(W x + b, h, U) → the next h."""

CellName = Literal["gru_before", "gru_after", "lstm"]


class Asking(NamedTuple):
    """How a state s asks: vᵀ tanh(W s + key), or s · key where there is neither."""

    W: Float[Tensor, "A D"] | None
    v: Float[Tensor, "A"] | None


class Looked(NamedTuple):
    """Every state that a recurrence showed, the weights it used, and its last h and c."""

    shown: Float[Tensor, "B T O"]
    weights: Float[Tensor, "B T S"]
    h: Float[Tensor, "B D"]
    c: Float[Tensor, "B D"] | None


class Weights(NamedTuple):
    """What a cell has learned: of its input, of its state, and a bias."""

    W: Float[Tensor, "G I"]
    U: Float[Tensor, "G D"]
    b: Float[Tensor, "G"] | None


def dropout(x: Float[Tensor, "*B D"], p: float) -> Float[Tensor, "*B D"]:
    """Zero for a share p of the numbers, drawn one by one, and x / (1 − p) for the others."""
    return torch.nn.functional.dropout(x, p)


def masked_softmax(
    scores: Float[Tensor, "*B T S"], mask: Bool[Tensor, "*#B #T S"]
) -> Float[Tensor, "*B T S"]:
    """Softmax over the visible positions; a row with none visible is all zero, never NaN."""
    # the lowest finite number, not -inf: a hidden row would be -inf - (-inf) on the way back
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def additive_scores(
    q: Float[Tensor, "*B T A"], k: Float[Tensor, "*B S A"], v: Float[Tensor, "A"]
) -> Float[Tensor, "*B T S"]:
    """score[t,s] = Σ_a v[a] · tanh(q[t,a] + k[s,a])

    B·T·S·A tanh and as many multiply-adds; builds the [B,T,S,A] tensor a kernel would avoid.
    """
    return torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ v  # [B,T,S,A] @ [A]


def coverage_scores(
    q: Float[Tensor, "*B T A"],
    k: Float[Tensor, "*B S A"],
    v: Float[Tensor, "A"],
    coverage: Float[Tensor, "*B T S"],
    w: Float[Tensor, "A"],
) -> Float[Tensor, "*B T S"]:
    """score[t,s] = Σ_a v[a] · tanh(q[t,a] + k[s,a] + w[a] · coverage[t,s])

    Cost as `additive_scores`, with one more multiply-add per tanh.
    """
    seen = coverage[..., None] * w  # [B,T,S,A]
    return torch.tanh(q[..., :, None, :] + k[..., None, :, :] + seen) @ v


def scaled_dot_attention(
    q: Float[Tensor, "*B T K"],
    k: Float[Tensor, "*B S K"],
    v: Float[Tensor, "*B S N"],
    mask: Bool[Tensor, "*#B #T S"],
) -> Float[Tensor, "*B T N"]:
    """context[t] = Σ_s softmax_s(q[t] · k[s] / √K) v[s]

    B·T·S·(K + N) multiply-adds; builds the [B,T,S] weights a kernel would avoid.
    """
    return masked_softmax(q @ k.mT * q.shape[-1] ** -0.5, mask) @ v


def elman_step(
    x: Float[Tensor, "B D"], h: Float[Tensor, "B D"], U: Float[Tensor, "D D"]
) -> Float[Tensor, "B D"]:
    """h ← tanh(x + U h), where x is W x + b already: B·D² multiply-adds."""
    return torch.tanh(x + h @ U.T)


def gru_before_step(
    x: Float[Tensor, "B G"], h: Float[Tensor, "B D"], U: Float[Tensor, "G D"]
) -> Float[Tensor, "B D"]:
    """Move a GRU that resets before the product, where x holds W x + b of r, z and n.

    r = σ(x_r + U_r h)   z = σ(x_z + U_z h)   n = tanh(x_n + U_n (r∘h))   h ← (1−z)∘h + z∘n

    3·B·D² multiply-adds in two products, since U_n must wait for r.
    """
    D = h.shape[-1]
    return gru_before_gates(x, h @ U[: 2 * D].T, h, U[2 * D :])


def gru_before_gates(
    x: Float[Tensor, "B G"],
    u: Float[Tensor, "B P"],
    h: Float[Tensor, "B D"],
    U_n: Float[Tensor, "D D"],
) -> Float[Tensor, "B D"]:
    """The rest of `gru_before_step`, where u holds U h of r and z."""
    x_r, x_z, x_n = x.chunk(3, dim=-1)
    u_r, u_z = u.chunk(2, dim=-1)
    r, z = torch.sigmoid(x_r + u_r), torch.sigmoid(x_z + u_z)
    n = torch.tanh(x_n + (r * h) @ U_n.T)
    return (1 - z) * h + z * n


def gru_after_step(
    x: Float[Tensor, "B G"],
    h: Float[Tensor, "B D"],
    U: Float[Tensor, "G D"],
    extra: Float[Tensor, "B G"] | None = None,
) -> Float[Tensor, "B D"]:
    """Move a GRU that resets after the product, where x holds W x + b of r, z and n.

    r = σ(x_r + u_r)   z = σ(x_z + u_z)   n = tanh(x_n + r∘u_n)   h ← (1−z)∘h + z∘n

    with u = U h, or U h + extra: Cho's decoder is this cell with extra = C c.
    3·B·D² multiply-adds in one product.
    """
    return gru_after_gates(x, h @ U.T if extra is None else h @ U.T + extra, h)


def gru_after_gates(
    x: Float[Tensor, "B G"], u: Float[Tensor, "B G"], h: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """The rest of `gru_after_step`, where u holds U h of r, z and n."""
    x_r, x_z, x_n = x.chunk(3, dim=-1)
    u_r, u_z, u_n = u.chunk(3, dim=-1)
    r, z = torch.sigmoid(x_r + u_r), torch.sigmoid(x_z + u_z)
    n = torch.tanh(x_n + r * u_n)
    return (1 - z) * h + z * n


def lstm_step(
    x: Float[Tensor, "B G"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"],
    U: Float[Tensor, "G D"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """Move an LSTM without peepholes, where x holds W x + b of i, f, g and o.

    i, f, o = σ(x + U h)   g = tanh(x_g + U_g h)   c ← f∘c + i∘g   h ← o∘tanh(c)

    4·B·D² multiply-adds in one product.
    """
    return lstm_gates(x, h @ U.T, c)


def lstm_gates(
    x: Float[Tensor, "B G"], u: Float[Tensor, "B G"], c: Float[Tensor, "B D"]
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """The rest of `lstm_step`, where u holds U h of i, f, g and o."""
    i, f, g, o = (x + u).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def scan(
    step: Step,
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """Every state of a one-state cell over a sequence: B·T·G·(I + D) multiply-adds."""
    states = []
    for projected in functional.linear(x, W, b).unbind(dim=1):
        h = step(projected, h, U)
        states.append(h)
    return torch.stack(states, dim=1)


def reverse(x: Float[Tensor, "B S *N"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S *N"]:
    """Turn the visible part of each row back to front; what is hidden stays where it is."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    index = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - positions, positions)
    return x.gather(1, index.reshape(*index.shape, *[1] * (x.ndim - 2)).expand_as(x))


def last_visible(
    x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], otherwise: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """Return each row's last visible vector, or `otherwise` where nothing is visible."""
    index = (mask.sum(dim=1) - 1).clamp(min=0)
    last = x.gather(1, index[:, None, None].expand(-1, 1, x.shape[-1]))[:, 0]
    return torch.where(mask.any(dim=1)[:, None], last, otherwise)


def gru_before_both(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    right: Weights,
    left: Weights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """Scan a line from the left and from its end; [→h; ←h], zero where hidden, and the last states.

    What is hidden does not move a state. 2·B·T·G·(I + D) multiply-adds.
    """
    return _both(gru_before_step, x, h, mask, right, left)


def gru_after_both(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    right: Weights,
    left: Weights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`gru_before_both` of the other GRU."""
    return _both(gru_after_step, x, h, mask, right, left)


def _both(
    step: Step,
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    right: Weights,
    left: Weights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    directions, last = [], []
    for order, (W, U, b) in ((range(x.shape[1]), right), (range(x.shape[1])[::-1], left)):
        projected, state, states = functional.linear(x, W, b), h, {}
        for t in order:
            moved = step(projected[:, t], state, U)
            state = states[t] = torch.where(mask[:, t, None], moved, state)
        directions.append(torch.stack([states[t] for t in range(x.shape[1])], dim=1))
        last.append(state)
    shown = torch.cat(directions, dim=-1).masked_fill(~mask[..., None], 0.0)
    return shown, torch.cat(last, dim=-1)


def lstm_scan(
    x: Float[Tensor, "B T I"],
    state: tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]],
    mask: Bool[Tensor, "B T"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
    """Every h of an LSTM over a sequence, and the c each row held at its last visible position.

    4·B·T·D·(I + D) multiply-adds. Only h at visible positions is defined.
    """
    h, c = state
    states = []
    steps = zip(functional.linear(x, W, b).unbind(dim=1), mask.unbind(dim=1), strict=True)
    for projected, visible in steps:
        h, moved = lstm_step(projected, h, c, U)
        c = torch.where(visible[:, None], moved, c)
        states.append(h)
    return torch.stack(states, dim=1), c


def look_then_move(
    cell: CellName,
    x: Float[Tensor, "B T G"],
    found: Float[Tensor, "B S G"],
    keys: Float[Tensor, "B S A"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    asking: Asking,
    U: Float[Tensor, "G D"],
) -> Looked:
    """Let the old state ask, and move by what is found: Bahdanau's recurrence.

    α_t = softmax_s score(h_{t−1}, key_s)      h_t = cell(x_t + Σ_s α_ts found_s, h_{t−1})

    `found` is C h_s, the memory as the cell sees it: Σ_s α_s (C h_s) = C Σ_s α_s h_s, so that no
    product with C is left in the loop. B·T·(G·D + A·D + S·(A + G)) multiply-adds, B·T·S·A tanh.
    """
    shown, weights = [], []
    for x_t in x.unbind(dim=1):
        weights.append(_weigh(h, keys, mask, asking))
        h, c = cell_step(cell, x_t + _pool(weights[-1], found), h, c, U)
        shown.append(h)
    return Looked(torch.stack(shown, dim=1), torch.stack(weights, dim=1), h, c)


def move_then_look(
    cell: CellName,
    x: Float[Tensor, "B T G"],
    found: Float[Tensor, "B S O"],
    keys: Float[Tensor, "B S A"],
    mask: Bool[Tensor, "B S"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    shown: Float[Tensor, "B O"],
    asking: Asking,
    U: Float[Tensor, "G D"],
    F: Float[Tensor, "G O"],
    R: Float[Tensor, "O D"],
) -> Looked:
    """Move, let the new state ask, and feed what is shown to the next step: Luong's recurrence.

    h_t = cell(x_t + F h̃_{t−1}, h_{t−1})      α_t = softmax_s score(h_t, key_s)
    h̃_t = tanh(Σ_s α_ts found_s + R h_t)      W_c = [W R], found_s = W h̄_s

    B·T·(G·(D + O) + A·D + O·D + S·(A + O)) multiply-adds.
    """
    every, weights = [], []
    for x_t in x.unbind(dim=1):
        h, c = cell_step(cell, x_t + shown @ F.T, h, c, U)
        weights.append(_weigh(h, keys, mask, asking))
        shown = torch.tanh(_pool(weights[-1], found) + h @ R.T)
        every.append(shown)
    return Looked(torch.stack(every, dim=1), torch.stack(weights, dim=1), h, c)


def cell_step(
    cell: CellName,
    x: Float[Tensor, "B G"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    U: Float[Tensor, "G D"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"] | None]:
    """Move the cell of that name."""
    if c is not None:
        return lstm_step(x, h, c, U)
    return (gru_after_step if cell == "gru_after" else gru_before_step)(x, h, U), None


def _weigh(
    h: Float[Tensor, "B D"], keys: Float[Tensor, "B S A"], mask: Bool[Tensor, "B S"], asking: Asking
) -> Float[Tensor, "B S"]:
    if asking.W is None or asking.v is None:
        scores = h[:, None] @ keys.mT
    else:
        scores = additive_scores((h @ asking.W.T)[:, None], keys, asking.v)
    return masked_softmax(scores, mask[:, None])[:, 0]


def _pool(weights: Float[Tensor, "B S"], found: Float[Tensor, "B S N"]) -> Float[Tensor, "B N"]:
    return (weights[:, None] @ found)[:, 0]


def additive_attention(
    q: Float[Tensor, "B T A"],
    k: Float[Tensor, "B S A"],
    v: Float[Tensor, "A"],
    values: Float[Tensor, "B S N"],
    mask: Bool[Tensor, "B S"],
) -> tuple[Float[Tensor, "B T N"], Float[Tensor, "B T S"]]:
    """context[t] = Σ_s softmax_s(vᵀ tanh(q[t] + k[s])) values[s], and the weights

    B·T·S·(A + N) multiply-adds and B·T·S·A tanh.
    """
    weights = masked_softmax(additive_scores(q, k, v), mask[:, None])
    return weights @ values, weights


def linear_loss(
    x: Float[Tensor, "R X"],
    weight: Float[Tensor, "V X"],
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
