"""Attention as the papers write it: NumPy, float64, one sentence at a time.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.cells import sigmoid
from oracle.scores import scaled_dot


def softmax(x):
    """exp(x_i) / Σ_j exp(x_j), the same after any constant is taken from x."""
    e = np.exp(x - np.max(x))
    return e / e.sum()


def visible_softmax(x, visible):
    """Softmax over the visible positions, zero elsewhere; all zero if nothing is visible."""
    α = np.zeros(len(x))
    if np.any(visible):
        α[visible] = softmax(x[visible])
    return α


def additive_attention(s, h, *, W_a, U_a, v_a):
    """Return the context c and the weights α of one state s over annotations h_1 … h_S.

    e_j = v_aᵀ tanh(W_a s + U_a h_j), α = softmax(e), c = Σ_j α_j h_j
    (Bahdanau et al. 2015, A.1.2)
    """
    e = np.array([v_a @ np.tanh(W_a @ s + U_a @ h_j) for h_j in h])
    α = np.exp(e) / np.exp(e).sum()
    return sum(α_j * h_j for α_j, h_j in zip(α, h, strict=True)), α


def weighted_values(weights, values):
    """α_j v_j for every j, what is there before the sum."""
    return np.array([α_j * v_j for α_j, v_j in zip(weights, values, strict=True)])


def pool(scores, values):
    """α = softmax(scores), c = Σ_j α_j v_j."""
    α = softmax(scores)
    return weighted_values(α, values).sum(axis=0), α


def attention(query, keys, values, score):
    """Key-value attention of one query: c = Σ_j α_j v_j, α = softmax_j score(q, k_j)."""
    return pool(np.array([score(query, k) for k in keys]), values)


def many_reads(queries, keys, values, score):
    """[c_1; …; c_N] and the weights [N,S], c_n what the n-th query reads in the same memory."""
    reads = [attention(q, keys, values, score) for q in queries]
    return np.concatenate([c for c, _ in reads]), np.array([α for _, α in reads])


def multi_head(query, keys, values, *, W_q, W_k, W_v, W_o, score, visible=None):
    """Multi-head attention of every query  (Vaswani et al. 2017, 3.2.2).

    head_i = attention(W_q⁽ⁱ⁾ q, W_k⁽ⁱ⁾ k, W_v⁽ⁱ⁾ v)
    output = W_o [head_1; …; head_H]
    """
    H, T, S = len(W_q), len(query), len(keys)
    visible = np.ones((T, S), dtype=bool) if visible is None else visible
    outputs, weights = [], np.zeros((H, T, S))
    for t in range(T):
        heads = []
        for i in range(H):
            q = W_q[i] @ query[t]
            e = np.array([score(q, W_k[i] @ k) for k in keys])
            weights[i, t] = visible_softmax(e, visible[t])
            heads.append(sum(weights[i, t, j] * (W_v[i] @ values[j]) for j in range(S)))
        outputs.append(W_o @ np.concatenate(heads))
    return np.array(outputs), weights


def self_attention(x, *, score, W_q=None, W_k=None, W_v=None, visible=None):
    """Attention of a sequence to itself: q_i = W_q x_i, k_j = W_k x_j, v_j = W_v x_j.

    z_i = Σ_j α_ij v_j, α_i = softmax_j score(q_i, k_j); a missing matrix is the identity.
    """
    S = len(x)
    q, k, v = ([x_i if W is None else W @ x_i for x_i in x] for W in (W_q, W_k, W_v))
    visible = np.ones((S, S), dtype=bool) if visible is None else visible
    outputs, weights = [], []
    for i in range(S):
        α = visible_softmax(np.array([score(q[i], k_j) for k_j in k]), visible[i])
        outputs.append(sum(α[j] * v[j] for j in range(S)))
        weights.append(α)
    return np.array(outputs), np.array(weights)


def local_window(scores, p, delta):
    """Weights of the local window around p, half-width δ  (Luong et al. 2015, 3.2).

    α_j = softmax over |j − p| ≤ δ of the scores · exp(−(j − p)² / 2σ²), σ = δ/2

    The source positions j count from 1. Not renormalized; zero outside the window.
    """
    σ = delta / 2
    j = np.arange(1, len(scores) + 1)
    return visible_softmax(scores, np.abs(j - p) <= delta) * np.exp(-((j - p) ** 2) / (2 * σ**2))


def local_p_center(s, S, *, W_p, v_p):
    """p = S · σ(v_pᵀ tanh(W_p s))  (Luong et al. 2015, 3.2)."""
    return S * sigmoid(v_p @ np.tanh(W_p @ s))


def relative_self_attention(q, k, v, *, a_K, a_V, clip, visible=None):
    """Self-attention that knows how far apart two positions are  (Shaw et al. 2018, 3).

    e_ij = q_i · (k_j + a^K_ij) / √K
    z_i = Σ_j α_ij (v_j + a^V_ij), α_i = softmax_j e_ij

    a_ij is the row of j − i, cut to −clip … clip; row 0 belongs to −clip.
    """
    S = len(q)
    row = [[min(max(j - i, -clip), clip) + clip for j in range(S)] for i in range(S)]
    visible = np.ones((S, S), dtype=bool) if visible is None else visible
    outputs, weights = [], []
    for i in range(S):
        e = np.array([scaled_dot(q[i], k[j] + a_K[row[i][j]]) for j in range(S)])
        α = visible_softmax(e, visible[i])
        outputs.append(sum(α[j] * (v[j] + a_V[row[i][j]]) for j in range(S)))
        weights.append(α)
    return np.array(outputs), np.array(weights)
