"""The definition of every op, in plain PyTorch: a kernel is right when it agrees with this file.

Nothing here is chosen or cached; `choose.py` decides what runs.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

Step = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(W x + b, h, U) → the next h."""


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
    x_r, x_z, x_n = x.chunk(3, dim=-1)
    h_r, h_z = (h @ U[: 2 * D].T).chunk(2, dim=-1)
    r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + (r * h) @ U[2 * D :].T)
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
    u = h @ U.T if extra is None else h @ U.T + extra
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
    i, f, g, o = (x + h @ U.T).chunk(4, dim=-1)
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
