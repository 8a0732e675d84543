"""Arithmetic that GPU kernels share: a product of rows, and gates as exact as float32."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import libdevice


@triton.jit
def reciprocal(x):
    """1/x to the last bit but one; a division would also handle cases that do not occur here."""
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def sigmoid(x):
    """1 / (1 + e^−x), as exact as float32."""
    return tl.div_rn(1.0, 1 + libdevice.exp(-x))


@triton.jit
def tanh(x, APPROXIMATE: tl.constexpr = False):
    """tanh as exact as float32, or with APPROXIMATE the GPU's own, to eleven bits.

    That is enough for bfloat16, and for tf32, whose products also read only eleven bits.
    """
    if APPROXIMATE:
        return tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return libdevice.tanh(x)


@triton.jit
def dot_rows(
    a, a_row, w, w_row, m, n, M, N, K: tl.constexpr, TF32: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """acc[m,n] = Σ_k a[m,k] w[n,k] in float32."""
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        rows = tl.load(a + m[:, None] * a_row + k, mask=(m[:, None] < M) & (k < K), other=0.0)
        columns = tl.load(
            w + n[None, :] * w_row + k[:, None], mask=(n < N) & (k[:, None] < K), other=0.0
        )
        acc = tl.dot(rows, columns, acc, input_precision="tf32" if TF32 else "ieee")
    return acc


def product(a: Tensor, b: Tensor) -> Tensor:
    """a b, summed and returned in float32: a weight's gradient."""
    if a.dtype == torch.float32:
        return a @ b
    return torch.mm(a, b, out_dtype=torch.float32)
