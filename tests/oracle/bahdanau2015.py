"""Jointly learning to align and translate, Bahdanau et al. 2015: NumPy, float64, one sentence.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.attention import additive_attention, pool
from oracle.cells import gru_before, run, sigmoid
from oracle.readouts import log_softmax, maxout
from oracle.scores import coverage


def annotate(source, p):
    """Return h_1 … h_S, h_j = [→h_j; ←h_j], and ←h_1; both directions start at 0  (A.2.1)."""
    x = [p["E_x"][word] for word in source]
    zero = np.zeros(len(p["forward"]["U_n"]))
    right = run(gru_before, x, zero, **p["forward"])
    zero = np.zeros(len(p["backward"]["U_n"]))
    left = run(gru_before, x[::-1], zero, **p["backward"])[::-1]
    h = [np.concatenate(pair) for pair in zip(right, left, strict=True)]
    return np.array(h), left[0]


def look(s, h, p, earlier):
    """c_i = Σ_j α_ij h_j, α_i = softmax_j v_aᵀ tanh(W_a s_{i−1} + U_a h_j)  (A.1.2).

    With w_c among the letters, w_c Σ_{i′<i} α_i′j stands inside the tanh  (Tu et al. 2016).
    """
    letters = {"W_a": p["W_a"], "U_a": p["U_a"], "v_a": p["v_a"]}
    if "w_c" not in p:
        return additive_attention(s, h, **letters)
    seen = sum(earlier) if earlier else np.zeros(len(h))
    names = {"W_q": p["W_a"], "W_k": p["U_a"], "v": p["v_a"], "w_c": p["w_c"]}
    e = np.array([coverage(s, h_j, seen_j, **names) for h_j, seen_j in zip(h, seen, strict=True)])
    return pool(e, h)


def move(y, s, c, p):
    """Move the decoder from s_{i−1} to s_i; y is E y_{i−1}, c is c_i  (A.2.2).

    r_i = σ(W_r y + b_r + U_r s_{i−1} + C_r c_i)
    z_i = σ(W_z y + b_z + U_z s_{i−1} + C_z c_i)
    n_i = tanh(W y + b + U (r_i ∘ s_{i−1}) + C c_i)
    s_i = (1 − z_i) ∘ s_{i−1} + z_i ∘ n_i
    """
    b_r, b_z, b_n = (p.get(name, 0.0) for name in ("b_r", "b_z", "b_n"))
    r = sigmoid(p["W_r"] @ y + b_r + p["U_r"] @ s + p["C_r"] @ c)
    z = sigmoid(p["W_z"] @ y + b_z + p["U_z"] @ s + p["C_z"] @ c)
    n = np.tanh(p["W_n"] @ y + b_n + p["U_n"] @ (r * s) + p["C_n"] @ c)
    return (1 - z) * s + z * n


def read_out(s, y, c, p):
    """Log-softmax of W_o maxout(U_o s_{i−1} + V_o E y_{i−1} + C_o c_i + b_o)  (A.2.2)."""
    t = maxout(p["U_o"] @ s + p["V_o"] @ y + p["C_o"] @ c + p.get("b_o", 0.0))
    return log_softmax(p["W_o"] @ t)


def forward(source, target, p, *, bos):
    """log p(y_i | y_<i, x) for every word, and the weights α [T,S]  (Bahdanau et al. 2015, A.2).

    s_0 = tanh(W_s ←h_1). The old state asks, and the readout sees the old state too.
    """
    h, left = annotate(source, p)
    s = np.tanh(p["W_s"] @ left)
    log_probs, weights = [], []
    for word in [bos, *target[:-1]]:
        y = p["E_y"][word]
        c, α = look(s, h, p, weights)
        log_probs.append(read_out(s, y, c, p))
        weights.append(α)
        s = move(y, s, c, p)
    return np.array(log_probs), np.array(weights)


def deep(source, target, p, *, bos):
    """Like `forward`, with L decoder layers.

    s⁽ˡ⁾_0 = tanh(W_s⁽ˡ⁾ ←h_1)
    c_i = Σ_j α_ij h_j, asked by the top layer's old state s⁽ᴸ⁾_{i−1}
    s⁽¹⁾_i = move(E y_{i−1}, s⁽¹⁾_{i−1}, c_i)
    s⁽ˡ⁾_i = GRU(s⁽ˡ⁻¹⁾_i, s⁽ˡ⁾_{i−1}), l > 1
    The readout sees s⁽ᴸ⁾_{i−1}.
    """
    h, left = annotate(source, p)
    s = [np.tanh(W_s @ left) for W_s in p["W_s"]]
    log_probs, weights = [], []
    for word in [bos, *target[:-1]]:
        y = p["E_y"][word]
        c, α = look(s[-1], h, p, weights)
        log_probs.append(read_out(s[-1], y, c, p))
        weights.append(α)
        moved = [move(y, s[0], c, p)]
        for old, letters in zip(s[1:], p["layers"], strict=True):
            moved.append(gru_before(moved[-1], old, **letters))
        s = moved
    return np.array(log_probs), np.array(weights)
