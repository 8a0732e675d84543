"""Ops that PyTorch already has as one fused call, fed with regard's parameters.

Used only where the library computes exactly the function that `reference.py` defines.
"""

from contextlib import nullcontext

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from regard.kernels.reference import Weights, last_visible, reverse

EVEN = 8
"""Numbers of two bytes that a GPU's fast products read at once."""


def scaled_dot_attention(
    q: Float[Tensor, "*B T K"],
    k: Float[Tensor, "*B S K"],
    v: Float[Tensor, "*B S N"],
    mask: Bool[Tensor, "*#B #T S"],
    dropout: float = 0.0,
) -> Float[Tensor, "*B T N"]:
    """`reference.scaled_dot_attention`, with dropout on the weights; never builds [B,T,S].

    The library promises nothing for a row that may see nothing: it sees everything, and counts 0.
    """
    blind = ~mask.any(dim=-1, keepdim=True)
    context = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask | blind, dropout_p=dropout
    )
    return context.masked_fill(blind, 0.0)


def filled_linear(
    x: Float[Tensor, "*B I"], W: Float[Tensor, "O I"], b: Float[Tensor, "O"] | None = None
) -> Float[Tensor, "*B O"]:
    """W x + b in autocast's numbers, x and W filled up with zeros to rows of whole 16 bytes."""
    low = torch.get_autocast_dtype(x.device.type)
    x, W = (functional.pad(part.to(low), (0, -x.shape[-1] % EVEN)) for part in (x, W))
    return functional.linear(x, W, b)


def elman_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    W: Float[Tensor, "D I"],
    U: Float[Tensor, "D D"],
    b: Float[Tensor, "D"] | None,
) -> Float[Tensor, "B T D"]:
    """Scan `reference.elman_step` over a sequence; the library's second bias stays zero."""
    states, _ = torch.rnn_tanh(x, h[None], _weights(W, U, b), *_options())
    return states


def gru_after_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """Scan `reference.gru_after_step` over a sequence.

    The library keeps with z where ours renews: 1 − σ(a) = σ(−a), so z's rows change their sign.
    """
    weights = _weights(_flip_z(W), _flip_z(U), None if b is None else _flip_z(b))
    states, _ = torch.gru(x, h[None], weights, *_options())
    return states


def gru_after_both(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    mask: Bool[Tensor, "B T"],
    right: Weights,
    left: Weights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`reference.gru_after_both`, the second time with each line turned round."""
    ahead = gru_after_scan(x, h, *right)
    back = gru_after_scan(reverse(x, mask), h, *left)
    last = torch.cat([last_visible(states, mask, h) for states in (ahead, back)], dim=-1)
    shown = torch.cat([ahead, reverse(back, mask)], dim=-1)
    return shown.masked_fill(~mask[..., None], 0.0), last


def _flip_z(gates: Tensor) -> Tensor:
    r, z, n = gates.chunk(3)
    return torch.cat([r, -z, n])


def lstm_scan(
    x: Float[Tensor, "B T I"],
    state: tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]],
    mask: Bool[Tensor, "B T"],
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B D"]]:
    """`reference.lstm_scan`.

    The library returns only the last c, so hidden positions must not touch it: one more input
    says "hidden" and shuts i and opens f, to 0 and 1 exactly, whatever the other inputs are.
    Not every CPU has the library's LSTM in bfloat16: all compute it in the weights' numbers.
    """
    shut = 1e4  # the sigmoid of ∓1e4 is 0 and 1 in every float type
    i, rest = W.new_full((U.shape[1],), -shut), W.new_zeros(2 * U.shape[1])
    hold = torch.cat([i, -i, rest])  # for i, f, g, o
    x = x if x.is_cuda else x.to(W.dtype)
    x = torch.cat([x, (~mask)[..., None].to(x.dtype)], dim=-1)
    weights = _weights(torch.cat([W, hold[:, None]], dim=-1), U, b)
    start = [part[None] if x.is_cuda else part[None].to(W.dtype) for part in state]
    with nullcontext() if x.is_cuda else torch.autocast("cpu", enabled=False):
        states, _, c = torch.lstm(x, start, weights, *_options())
    return states, c[0]


def _weights(W: Tensor, U: Tensor, b: Tensor | None) -> list[Tensor]:
    """Return the library's weights, with biases that are zero where ours has none.

    On a GPU they lie in one piece, and with biases, since cuDNN copies them at each call otherwise.
    """
    zero = W.new_zeros(W.shape[0])
    weights = [W, U, zero if b is None else b, zero]
    if not W.is_cuda:
        return weights
    flat = torch.cat([weight.reshape(-1) for weight in weights])
    pieces = torch.split(flat, [weight.numel() for weight in weights])
    return [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]


def _options() -> tuple[bool, int, float, bool, bool, bool]:
    """Biases, one layer, no dropout, training if gradients count, one direction, batch first."""
    return True, 1, 0.0, torch.is_grad_enabled(), False, True
