"""Ops for which PyTorch has one fused call, with regard's parameters.

Used only if PyTorch computes exactly the function that `reference.py` defines.
"""

from contextlib import nullcontext

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from regard.kernels.sequences import last_visible, reverse
from regard.kernels.types import CellWeights

ALIGNED_WIDTH = 8
"""How many numbers of two bytes a GPU's fast products read at once."""


def scaled_dot_attention(
    query: Float[Tensor, "*B T K"],
    keys: Float[Tensor, "*B S K"],
    values: Float[Tensor, "*B S N"],
    *,
    mask: Bool[Tensor, "*#B #T S"],
    dropout: float = 0.0,
) -> Float[Tensor, "*B T N"]:
    """`reference.scaled_dot_attention`; never builds [B,T,S].

    PyTorch promises nothing for a row whose keys are all hidden. Here it sees all, and becomes 0.
    """
    fully_masked = ~mask.any(dim=-1, keepdim=True)
    context = functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask | fully_masked, dropout_p=dropout
    )
    return context.masked_fill(fully_masked, 0.0)


def padded_linear(
    x: Float[Tensor, "*B I"], W: Float[Tensor, "O I"], *, bias: Float[Tensor, "O"] | None = None
) -> Float[Tensor, "*B O"]:
    """W x + bias in autocast's type, x and W padded with zeros to rows of whole 16 bytes."""
    dtype = torch.get_autocast_dtype(x.device.type)
    x, W = (functional.pad(part.to(dtype), (0, -x.shape[-1] % ALIGNED_WIDTH)) for part in (x, W))
    return functional.linear(x, W, bias)


def elman_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "D I"],
    U: Float[Tensor, "D D"],
    b: Float[Tensor, "D"] | None,
) -> Float[Tensor, "B T D"]:
    """Scan `reference.elman_step` over a sequence; PyTorch's second bias stays zero."""
    states, _ = torch.rnn_tanh(x, h[None], _flat_weights(W, U, b), *_rnn_options())
    return states


def gru_after_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    W: Float[Tensor, "G I"],
    U: Float[Tensor, "G D"],
    b: Float[Tensor, "G"] | None,
) -> Float[Tensor, "B T D"]:
    """Scan `reference.gru_after_step` over a sequence.

    In PyTorch z is the share of the old state: 1 − σ(a) = σ(−a), therefore z's rows change sign.
    """
    weights = _flat_weights(_flip_z(W), _flip_z(U), None if b is None else _flip_z(b))
    states, _ = torch.gru(x, h[None], weights, *_rnn_options())
    return states


def bidirectional_gru_after_scan(
    x: Float[Tensor, "B T I"],
    h: Float[Tensor, "B D"],
    *,
    mask: Bool[Tensor, "B T"],
    forward: CellWeights,
    backward: CellWeights,
) -> tuple[Float[Tensor, "B T 2*D"], Float[Tensor, "B 2*D"]]:
    """`reference.bidirectional_gru_after_scan`: two scans, the second of each line reversed."""
    forward_states = _gru_after_scan(x, h, forward)
    backward_states = _gru_after_scan(reverse(x, mask), h, backward)
    last_states = [last_visible(states, mask, h) for states in (forward_states, backward_states)]
    output = torch.cat([forward_states, reverse(backward_states, mask)], dim=-1)
    return output.masked_fill(~mask[..., None], 0.0), torch.cat(last_states, dim=-1)


def _gru_after_scan(
    x: Float[Tensor, "B T I"], h: Float[Tensor, "B D"], weights: CellWeights
) -> Float[Tensor, "B T D"]:
    return gru_after_scan(x, h, W=weights.W, U=weights.U, b=weights.b)


def _flip_z(gates: Tensor) -> Tensor:
    r, z, n = gates.chunk(3)
    return torch.cat([r, -z, n])


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
    """`reference.lstm_scan`.

    PyTorch returns only the last c, therefore hidden positions must not change it: one more input
    marks them and sets i to 0 and f to 1 exactly, whatever the other inputs are. PyTorch's LSTM
    does not run in bfloat16 on every CPU: every CPU computes it in the type of the weights.
    """
    saturating_logit = 1e4  # the sigmoid of ∓1e4 is 0 and 1 in every float type
    i, rest = W.new_full((U.shape[1],), -saturating_logit), W.new_zeros(2 * U.shape[1])
    hold = torch.cat([i, -i, rest])  # for i, f, g, o
    x = x if x.is_cuda else x.to(W.dtype)
    x = torch.cat([x, (~mask)[..., None].to(x.dtype)], dim=-1)
    weights = _flat_weights(torch.cat([W, hold[:, None]], dim=-1), U, b)
    state = [part[None] if x.is_cuda else part[None].to(W.dtype) for part in (h, c)]
    with nullcontext() if x.is_cuda else torch.autocast("cpu", enabled=False):
        states, _, last_c = torch.lstm(x, state, weights, *_rnn_options())
    return states, last_c[0]


def _flat_weights(W: Tensor, U: Tensor, b: Tensor | None) -> list[Tensor]:
    """Return the weights in PyTorch's order, with zeros for missing biases.

    On a GPU they are one block of memory: otherwise cuDNN would copy them at each call.
    """
    zero = W.new_zeros(W.shape[0])
    weights = [W, U, zero if b is None else b, zero]
    if not W.is_cuda:
        return weights
    flat = torch.cat([weight.reshape(-1) for weight in weights])
    pieces = torch.split(flat, [weight.numel() for weight in weights])
    return [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]


def _rnn_options() -> tuple[bool, int, float, bool, bool, bool]:
    """Biases, one layer, no dropout, training if gradients are on, one direction, batch first."""
    return True, 1, 0.0, torch.is_grad_enabled(), False, True
