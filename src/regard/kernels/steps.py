"""One step of each recurrent cell, in plain PyTorch: their definition.

The rows of x, and of U, belong to a cell's gates in the order of its equation.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.kernels.types import CellName

Step = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(W x + b, h, U) → the next h."""


def elman_step(
    x: Float[Tensor, "B D"], h: Float[Tensor, "B D"], U: Float[Tensor, "D D"]
) -> Float[Tensor, "B D"]:
    """h ← tanh(x + U h); the argument x is W x + b. B·D² multiply-adds."""
    return torch.tanh(x + h @ U.T)


def gru_before_step(
    x: Float[Tensor, "B G"], h: Float[Tensor, "B D"], U: Float[Tensor, "G D"]
) -> Float[Tensor, "B D"]:
    """Step a GRU that resets before the product; x holds W x + b of r, z and n.

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
    """The rest of `gru_before_step`; u holds U h of r and z."""
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
    """Step a GRU that resets after the product; x holds W x + b of r, z and n.

    r = σ(x_r + u_r)   z = σ(x_z + u_z)   n = tanh(x_n + r∘u_n)   h ← (1−z)∘h + z∘n

    with u = U h, or U h + extra: Cho's decoder is this cell with extra = C c.
    3·B·D² multiply-adds in one product.
    """
    return gru_after_gates(x, h @ U.T if extra is None else h @ U.T + extra, h)


def gru_after_gates(
    x: Float[Tensor, "B G"], u: Float[Tensor, "B G"], h: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """The rest of `gru_after_step`; u holds U h of r, z and n."""
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
    """Step an LSTM without peepholes; x holds W x + b of i, f, g and o.

    i, f, o = σ(x + U h)   g = tanh(x_g + U_g h)   c ← f∘c + i∘g   h ← o∘tanh(c)

    4·B·D² multiply-adds in one product.
    """
    return lstm_gates(x, h @ U.T, c)


def lstm_gates(
    x: Float[Tensor, "B G"], u: Float[Tensor, "B G"], c: Float[Tensor, "B D"]
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
    """The rest of `lstm_step`; u holds U h of i, f, g and o."""
    i, f, g, o = (x + u).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def cell_step(
    cell: CellName,
    x: Float[Tensor, "B G"],
    h: Float[Tensor, "B D"],
    c: Float[Tensor, "B D"] | None,
    U: Float[Tensor, "G D"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"] | None]:
    """Step the cell of that name."""
    if c is not None:
        return lstm_step(x, h, c, U)
    return (gru_after_step if cell == "gru_after" else gru_before_step)(x, h, U), None
