"""How kernels of recurrences are launched, and the buffers that they share."""

import torch
import triton
from torch import Tensor

from regard.kernels.triton.arithmetic import product

# pieces of a product that one program computes
TILE = {"BM": 64, "BN": 32, "num_warps": 4, "num_stages": 4}
# larger pieces, if there are enough programs to fill the device
WIDE = {"BM": 64, "BN": 64, "num_warps": 8, "num_stages": 3}


def uses_tf32() -> bool:
    """Whether products of float32 may run in tf32."""
    return torch.get_float32_matmul_precision() != "highest"


def approximates_tanh(x: Tensor) -> bool:
    """Whether the GPU's own tanh is exact enough for products of this type."""
    return x.dtype == torch.bfloat16 or uses_tf32()


def tile_options(x: Tensor, tile: dict[str, int] = TILE) -> dict[str, int]:
    """Return the options of a kernel that computes a product, tile by tile."""
    return tile | {"BK": 128 if x.dtype == torch.bfloat16 else 64}


def grid(B: int, N: int, directions: int = 1, tile: dict[str, int] = TILE) -> tuple[int, int, int]:
    """Return how many programs a product of B rows and N columns takes."""
    return triton.cdiv(B, tile["BM"]), triton.cdiv(N, tile["BN"]), directions


def block_size(size: int, largest: int = 1 << 30) -> int:
    """Return the power of two that holds a size, if it is not above the largest."""
    return min(largest, triton.next_power_of_2(size))


def product_into(out: Tensor, a: Tensor, b: Tensor) -> None:
    """Write a product, summed in float32."""
    if a.dtype == torch.float32:
        torch.mm(a, b, out=out)
    else:
        torch.mm(a, b, out_dtype=torch.float32, out=out)


def empty_float(like: Tensor, *shape: int) -> Tensor:
    """Allocate float32 on the device of another tensor."""
    return torch.empty(shape, device=like.device, dtype=torch.float32)


class StateBuffers:
    """What a GRU scan or a recurrence with attention saves for the backward pass."""

    def __init__(self, x: Tensor, h: Tensor, D: int) -> None:
        R, B, T, _ = x.shape
        self.h = empty_float(x, T + 1, R, B, D)
        self.low = self.h
        if x.dtype != torch.float32:
            self.low = x.new_empty(T + 1, R, B, D)
            self.low[0] = h
        self.h[0] = h
        self.rzn = empty_float(x, T, R, B, 3 * D)
        self.rh = x.new_empty(T, R, B, D)


def reset_before_gradient(dx: Tensor, old_states: Tensor, rh: Tensor) -> Tensor:
    """Return dU [3D,D] of a GRU that resets before the product; old_states and rh are [T,B,D]."""
    D = old_states.shape[-1]
    grads = dx.transpose(0, 1).reshape(-1, 3 * D)
    reset = product(grads[:, 2 * D :].T, rh.reshape(-1, D))
    return torch.cat([product(grads[:, : 2 * D].T, old_states.reshape(-1, D)), reset])
