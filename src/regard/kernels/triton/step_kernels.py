"""Kernels of one step of a recurrence: they compute only what depends on the state.

Each product has one kernel, which also computes the gates; attention runs between them.
Sums run in float32 in one fixed order and without atomics: two runs are equal to the last bit.
"""

import triton
import triton.language as tl

from regard.kernels.triton.arithmetic import dot_rows, sigmoid, tanh


@triton.jit
def _gates(
    h_low, h, U, x, x_row, mask, mask_row, rzn, rh, B, D: tl.constexpr, TF32: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """r = σ(x_r + U_r h), z = σ(x_z + U_z h), and r∘h for the next product.

    If the input is hidden, z is 0: the state does not change, and no gradient reaches the gates.
    """
    direction = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    row = direction * B + m
    acc = dot_rows(
        h_low + direction * B * D,
        D,
        U + direction * 3 * D * D,
        D,
        m,
        n,
        B,
        2 * D,
        D,
        TF32,
        BM,
        BN,
        BK,
    )
    inside = (m[:, None] < B) & (n < 2 * D)
    acc += tl.load(x + row[:, None] * x_row + n, mask=inside, other=0.0).to(tl.float32)
    visible = tl.load(mask + row * mask_row, mask=m < B, other=0)[:, None] != 0
    gate = tl.where(visible | (n < D), sigmoid(acc), 0.0)
    tl.store(rzn + row[:, None] * (3 * D) + n, gate, mask=inside)
    is_r = inside & (n < D)
    h_old = tl.load(h + row[:, None] * D + n, mask=is_r, other=0.0)
    tl.store(rh + row[:, None] * D + n, gate * h_old, mask=is_r)


@triton.jit
def _gru_after_step(
    h_low, h, U, x, x_row, mask, mask_row, rzn, rest, h_next, h_next_low, B, D: tl.constexpr,
    TF32: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A whole step of a GRU that resets after the product; `rest` saves u_n for later."""
    direction = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    row = direction * B + m
    PRECISION: tl.constexpr = "tf32" if TF32 else "ieee"
    u_r = tl.zeros([BM, BN], tl.float32)
    u_z = tl.zeros([BM, BN], tl.float32)
    u_n = tl.zeros([BM, BN], tl.float32)
    for start in range(0, D, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(h_low + row[:, None] * D + k, mask=(m[:, None] < B) & (k < D), other=0.0)
        at = U + direction * 3 * D * D + n[None, :] * D + k[:, None]
        in_bounds = (n < D) & (k[:, None] < D)
        u_r = tl.dot(left, tl.load(at, mask=in_bounds, other=0.0), u_r, PRECISION)
        u_z = tl.dot(left, tl.load(at + D * D, mask=in_bounds, other=0.0), u_z, PRECISION)
        u_n = tl.dot(left, tl.load(at + 2 * D * D, mask=in_bounds, other=0.0), u_n, PRECISION)
    inside = (m[:, None] < B) & (n < D)
    at_x = x + row[:, None] * x_row + n
    r = sigmoid(tl.load(at_x, mask=inside, other=0.0).to(tl.float32) + u_r)
    z = sigmoid(tl.load(at_x + D, mask=inside, other=0.0).to(tl.float32) + u_z)
    new = tanh(tl.load(at_x + 2 * D, mask=inside, other=0.0).to(tl.float32) + r * u_n)
    visible = tl.load(mask + row * mask_row, mask=m < B, other=0)[:, None] != 0
    z = tl.where(visible, z, 0.0)
    h_old = tl.load(h + row[:, None] * D + n, mask=inside, other=0.0)
    at = rzn + row[:, None] * (3 * D) + n
    tl.store(at, r, mask=inside)
    tl.store(at + D, z, mask=inside)
    tl.store(at + 2 * D, new, mask=inside)
    tl.store(rest + row[:, None] * D + n, u_n, mask=inside)
    h_new = (1 - z) * h_old + z * new
    tl.store(h_next + row[:, None] * D + n, h_new, mask=inside)
    tl.store(h_next_low + row[:, None] * D + n, h_new, mask=inside)


@triton.jit
def _attend(
    query, query_row, keys, v, mask, lengths, weights, weights_row, S, A: tl.constexpr,
    APPROXIMATE: tl.constexpr, BROW: tl.constexpr, BS: tl.constexpr, BA: tl.constexpr,
):  # fmt: skip
    """α[b] = softmax_s Σ_a v[a] tanh(query[b,a] + keys[b,s,a]); nothing is read beyond a row's end.

    Each row has one program: its softmax needs no other.
    """
    b = tl.program_id(0)
    length = tl.load(lengths + b)
    row = weights + b * weights_row
    for block_start in range(0, length, BS):
        s = block_start + tl.arange(0, BS)
        total = tl.zeros([BS, BA], tl.float32)
        for start in range(0, A, BA):
            a = start + tl.arange(0, BA)
            q = tl.load(query + b * query_row + a, mask=a < A, other=0.0)
            inside = (s[:, None] < length) & (a < A)
            k = tl.load(keys + (b * S + s[:, None]) * A + a, mask=inside, other=0.0)
            tanh_qk = tanh(q + k.to(tl.float32), APPROXIMATE)
            total += tl.load(v + a, mask=a < A, other=0.0).to(tl.float32) * tanh_qk
        tl.store(row + s, tl.sum(total, 1), mask=s < length)
    tl.debug_barrier()
    s = tl.arange(0, BROW)
    visible = tl.load(mask + b * S + s, mask=s < length, other=0) != 0
    scores = tl.load(row + s, mask=visible, other=-float("inf"))
    top = tl.max(scores, 0)
    parts = tl.where(visible, tl.exp(scores - top), 0.0)
    total = tl.sum(parts, 0)
    # a row whose positions are all hidden has weights of 0
    alpha = parts * tl.where(total > 0, 1 / total, 0.0)
    tl.store(row + s, alpha, mask=s < length)


@triton.jit
def _pool(
    weights, weights_row, values, product, product_row, x, x_row, h, rzn, rest, rh, h_next,
    h_next_low, S, D: tl.constexpr, AFTER: tl.constexpr, BS: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """The gates of x + Σ_s α_s value_s, and r∘h, or with AFTER the new h.

    `rest` holds x_n + pooled_n until U_n (r∘h) is there, or with AFTER u_n for the backward pass.
    """
    b = tl.program_id(0)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    t_r = tl.zeros([BS, BD], tl.float32)
    t_z = tl.zeros([BS, BD], tl.float32)
    t_n = tl.zeros([BS, BD], tl.float32)
    for start in range(0, S, BS):
        s = start + tl.arange(0, BS)
        alpha = tl.load(weights + b * weights_row + s, mask=s < S, other=0.0)[:, None]
        in_bounds = (s[:, None] < S) & (d < D)
        at = values + (b * S + s[:, None]) * (3 * D) + d
        t_r += alpha * tl.load(at, mask=in_bounds, other=0.0).to(tl.float32)
        t_z += alpha * tl.load(at + D, mask=in_bounds, other=0.0).to(tl.float32)
        t_n += alpha * tl.load(at + 2 * D, mask=in_bounds, other=0.0).to(tl.float32)
    p_r, p_z, p_n = tl.sum(t_r, 0), tl.sum(t_z, 0), tl.sum(t_n, 0)
    inside = d < D
    at_x, at_u = x + b * x_row + d, product + b * product_row + d
    x_r = tl.load(at_x, mask=inside, other=0.0).to(tl.float32)
    x_z = tl.load(at_x + D, mask=inside, other=0.0).to(tl.float32)
    x_n = tl.load(at_x + 2 * D, mask=inside, other=0.0).to(tl.float32)
    r = sigmoid(x_r + p_r + tl.load(at_u, mask=inside, other=0.0))
    z = sigmoid(x_z + p_z + tl.load(at_u + D, mask=inside, other=0.0))
    h_old = tl.load(h + b * D + d, mask=inside, other=0.0)
    at = rzn + b * (3 * D) + d
    tl.store(at, r, mask=inside)
    tl.store(at + D, z, mask=inside)
    if AFTER:
        u_n = tl.load(at_u + 2 * D, mask=inside, other=0.0)
        n = tanh(x_n + p_n + r * u_n)
        new = (1 - z) * h_old + z * n
        tl.store(at + 2 * D, n, mask=inside)
        tl.store(rest + b * D + d, u_n, mask=inside)
        tl.store(h_next + b * D + d, new, mask=inside)
        tl.store(h_next_low + b * D + d, new, mask=inside)
    else:
        tl.store(rest + b * D + d, x_n + p_n, mask=inside)
        tl.store(rh + b * D + d, r * h_old, mask=inside)


@triton.jit
def _blend(
    rh, U, rest, rest_row, h, rzn, h_next, h_next_low, B, D: tl.constexpr, TF32: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """n = tanh(rest + U_n (r∘h)), h ← (1−z)∘h + z∘n"""
    direction = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    row = direction * B + m[:, None]
    U_n = U + (direction * 3 + 2) * D * D
    acc = dot_rows(rh + direction * B * D, D, U_n, D, m, n, B, D, D, TF32, BM, BN, BK)
    inside = (m[:, None] < B) & (n < D)
    acc += tl.load(rest + row * rest_row + n, mask=inside, other=0.0).to(tl.float32)
    new = tanh(acc)
    z = tl.load(rzn + row * (3 * D) + D + n, mask=inside, other=0.0)
    h_old = tl.load(h + row * D + n, mask=inside, other=0.0)
    tl.store(rzn + row * (3 * D) + 2 * D + n, new, mask=inside)
    h_new = (1 - z) * h_old + z * new
    tl.store(h_next + row * D + n, h_new, mask=inside)
    tl.store(h_next_low + row * D + n, h_new, mask=inside)


@triton.jit
def _blend_backward(
    parts, num_parts, doutput, doutput_row, carry, rzn, h, rest, dx, dx_row, du, rows,
    D: tl.constexpr, AFTER: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Sum the new state's gradient, and propagate it through the blend to the gates' inputs.

    `carry` holds what bypassed the later step's gates, and then what bypasses this one's.
    """
    row = tl.program_id(0)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = n < D
    dh = tl.load(carry + row * D + n, mask=inside, other=0.0)
    dh += tl.load(doutput + row * doutput_row + n, mask=inside, other=0.0).to(tl.float32)
    for part in range(num_parts):
        dh += tl.load(parts + (part * rows + row) * D + n, mask=inside, other=0.0)
    at = rzn + row * (3 * D) + n
    z = tl.load(at + D, mask=inside, other=0.0)
    new = tl.load(at + 2 * D, mask=inside, other=0.0)
    h_old = tl.load(h + row * D + n, mask=inside, other=0.0)
    dz = dh * (new - h_old) * z * (1 - z)
    dn = dh * z * (1 - new * new)
    at_x = dx + row * dx_row + n
    tl.store(at_x + D, dz, mask=inside)
    tl.store(at_x + 2 * D, dn, mask=inside)
    tl.store(carry + row * D + n, dh * (1 - z), mask=inside)
    if AFTER:
        r = tl.load(at, mask=inside, other=0.0)
        u_n = tl.load(rest + row * D + n, mask=inside, other=0.0)
        dr = dn * u_n * r * (1 - r)
        tl.store(at_x, dr, mask=inside)
        at_u = du + row * (3 * D) + n
        tl.store(at_u, dr, mask=inside)
        tl.store(at_u + D, dz, mask=inside)
        tl.store(at_u + 2 * D, dn * r, mask=inside)


@triton.jit
def _reset_backward(
    dx, dx_row, UT, rzn, h, carry, parts, B, D: tl.constexpr, TF32: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """d(r∘h) = U_nᵀ dn, and from it dr and the old state's gradient; also the part U_zᵀ dz."""
    direction, gate = tl.program_id(2) // 2, 2 - tl.program_id(2) % 2
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    row = direction * B + m[:, None]
    G: tl.constexpr = 3 * D
    grads = dx + direction * B * dx_row + gate * D
    acc = dot_rows(
        grads, dx_row, UT + direction * D * G + gate * D, G, m, n, B, D, D, TF32, BM, BN, BK
    )
    inside = (m[:, None] < B) & (n < D)
    if gate == 1:
        tl.store(parts + row * D + n, acc, mask=inside)
    else:
        r = tl.load(rzn + row * G + n, mask=inside, other=0.0)
        h_old = tl.load(h + row * D + n, mask=inside, other=0.0)
        tl.store(dx + row * dx_row + n, acc * h_old * r * (1 - r), mask=inside)
        bypass = tl.load(carry + row * D + n, mask=inside, other=0.0)
        tl.store(carry + row * D + n, bypass + acc * r, mask=inside)


@triton.jit
def _weights_backward(
    dx, dx_row, values, dweights, dweights_row, lengths, dalpha, S, G: tl.constexpr,
    BS: tl.constexpr, BG: tl.constexpr,
):  # fmt: skip
    """dα[b,s] = dx[b] · values[b,s], plus the gradient of the weights as outputs."""
    b = tl.program_id(0)
    block_start = tl.program_id(1) * BS
    s = block_start + tl.arange(0, BS)
    if block_start >= tl.load(lengths + b):
        tl.store(dalpha + b * S + s, tl.zeros([BS], tl.float32), mask=s < S)
        return
    total = tl.zeros([BS, BG], tl.float32)
    for start in range(0, G, BG):
        g = start + tl.arange(0, BG)
        grad = tl.load(dx + b * dx_row + g, mask=g < G, other=0.0).to(tl.float32)
        inside = (s[:, None] < S) & (g < G)
        total += grad * tl.load(values + (b * S + s[:, None]) * G + g, mask=inside, other=0.0).to(
            tl.float32
        )
    dweight = tl.load(dweights + b * dweights_row + s, mask=s < S, other=0.0).to(tl.float32)
    tl.store(dalpha + b * S + s, tl.sum(total, 1) + dweight, mask=s < S)


@triton.jit
def _query_backward(
    dalpha, weights, weights_row, query, query_row, keys, v, dscores, dquery, S, A: tl.constexpr,
    APPROXIMATE: tl.constexpr, BROW: tl.constexpr, BS: tl.constexpr, BA: tl.constexpr,
):  # fmt: skip
    """de = α∘(dα − α·dα), dquery[a] = v[a] Σ_s de[s] (1 − tanh²(query[a] + keys[s,a]))"""
    b = tl.program_id(0)
    a = tl.program_id(1) * BA + tl.arange(0, BA)
    row = tl.arange(0, BROW)
    whole = tl.load(weights + b * weights_row + row, mask=row < S, other=0.0)
    mean = tl.sum(whole * tl.load(dalpha + b * S + row, mask=row < S, other=0.0), 0)
    q = tl.load(query + b * query_row + a, mask=a < A, other=0.0)
    total = tl.zeros([BS, BA], tl.float32)
    for start in range(0, S, BS):
        s = start + tl.arange(0, BS)
        alpha = tl.load(weights + b * weights_row + s, mask=s < S, other=0.0)
        de = alpha * (tl.load(dalpha + b * S + s, mask=s < S, other=0.0) - mean)
        if tl.program_id(1) == 0:
            tl.store(dscores + b * weights_row + s, de, mask=s < S)
        inside = (s[:, None] < S) & (a < A)
        k = tl.load(keys + (b * S + s[:, None]) * A + a, mask=inside, other=0.0).to(tl.float32)
        tanh_qk = tanh(q + k, APPROXIMATE)
        total += de[:, None] * (1 - tanh_qk * tanh_qk)
    grad = tl.load(v + a, mask=a < A, other=0.0).to(tl.float32) * tl.sum(total, 0)
    tl.store(dquery + b * A + a, grad, mask=a < A)


@triton.jit
def _old_state_parts(
    du, du_row, UT, dq, WT, parts, B, first_part, D: tl.constexpr, END: tl.constexpr,
    K: tl.constexpr, A: tl.constexpr, NUM: tl.constexpr, TF32: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Parts of the old state's gradient: Wᵀ dq of the query, Uᵀ du of the gates up to column END.

    Uᵀ du is cut into pieces of K columns that run in parallel: one product would take longer.
    """
    number = tl.program_id(2)
    direction, gate = number // NUM, number % NUM
    rows = tl.num_programs(2) // NUM * B
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    G: tl.constexpr = 3 * D
    LAST: tl.constexpr = NUM - 1 if A == 0 else NUM - 2
    grads = du + direction * B * du_row + gate * K
    columns = UT + direction * D * G + gate * K
    if A > 0 and gate > LAST:
        acc = dot_rows(dq, A, WT, A, m, n, B, D, A, TF32, BM, BN, BK)
    elif gate == LAST:
        acc = dot_rows(grads, du_row, columns, G, m, n, B, D, END - LAST * K, TF32, BM, BN, BK)
    else:
        acc = dot_rows(grads, du_row, columns, G, m, n, B, D, K, TF32, BM, BN, BK)
    inside = (m[:, None] < B) & (n < D)
    at = parts + ((first_part + gate) * rows + direction * B + m[:, None]) * D + n
    tl.store(at, acc, mask=inside)
