"""Convolutional sequence to sequence learning, Gehring et al. 2017: NumPy, float64, one sentence.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.attention import softmax
from oracle.cells import sigmoid
from oracle.readouts import log_softmax


def glu(ab):
    """a ∘ σ(b), a the first half of the channels and b the second  (Dauphin et al. 2017)."""
    a, b = np.split(ab, 2)
    return a * sigmoid(b)


def convolve(x, left, *, K, b):
    """b + Σ_o K_o x_{i+o−left} for every i, with zeros outside the sequence.

    K is [2D, k, D]: output channel, offset o in reading order, input channel.
    """
    outputs = []
    for i in range(len(x)):
        total = np.zeros(len(K)) + b
        for o in range(K.shape[1]):
            j = i + o - left
            if 0 <= j < len(x):
                total = total + K[:, o] @ x[j]
        outputs.append(total)
    return outputs


def through(p, name, vectors):
    """Map vectors from one width to another where a matrix of that name is given  (end of 3.2)."""
    return [p[name] @ v for v in vectors] if name in p else vectors


def encode(e, layers):
    """z^l_j = (GLU(conv_k z^{l−1})_j + z^{l−1}_j) √½, centred, z^0 = e  (3.2)."""
    z = e
    for p in layers:
        conv = convolve(z, (p["K"].shape[1] - 1) // 2, K=p["K"], b=p.get("b", 0.0))
        z = [(glu(a) + old) * np.sqrt(0.5) for a, old in zip(conv, z, strict=True)]
    return z


def look(h_i, g_i, z, values, p):
    """c_i = √m Σ_j α_ij (z_j + e_j), α_i = softmax_j d_i·z_j, d_i = W_d h_i + b_d + g_i  (3.3)."""
    d = p["W_d"] @ h_i + p.get("b_d", 0.0) + g_i
    α = softmax(np.array([d @ z_j for z_j in z]))
    m = len(z)
    return np.sqrt(m) * sum(α[j] * values[j] for j in range(m)), α


def forward(source, target, p, *, bos):
    """log p(y_i | y_<i, x) for every word, and the weights α [L,T,S]  (Gehring et al. 2017, 3).

    e_j = E_x x_j + P_x[j], g_i = E_y y_{i−1} + P_y[i], h^0 = g, positions from 0
    h^l_i = (GLU(conv_k h^{l−1})_i + h^{l−1}_i) √½ over the current and the k − 1 earlier inputs
    h^l_i ← (h^l_i + c_i) √½, c_i asked with h^l_i, the residual inside it
    logits = W_o h^L_i + b_o

    Where embeddings and channels differ in width, matrices stand between them: A_x and A_y on
    the way into the encoder and the decoder, B_x and B_y on the way out, A_c on z_j + e_j.
    """
    fed = [bos, *target[:-1]]
    e = [p["E_x"][x] + p["P_x"][j] for j, x in enumerate(source)]
    g = [p["E_y"][y] + p["P_y"][i] for i, y in enumerate(fed)]
    z = through(p, "B_x", encode(through(p, "A_x", e), p["encoder"]))
    values = through(p, "A_c", [z_j + e_j for z_j, e_j in zip(z, e, strict=True)])
    h, weights = through(p, "A_y", g), []
    for layer in p["decoder"]:
        conv = convolve(h, layer["K"].shape[1] - 1, K=layer["K"], b=layer.get("b", 0.0))
        moved, α = [], []
        for i in range(len(fed)):
            h_i = (glu(conv[i]) + h[i]) * np.sqrt(0.5)
            c, α_i = look(h_i, g[i], z, values, layer)
            moved.append((h_i + c) * np.sqrt(0.5))
            α.append(α_i)
        h = moved
        weights.append(α)
    log_probs = [log_softmax(p["W_o"] @ h_i + p.get("b_o", 0.0)) for h_i in through(p, "B_y", h)]
    return np.array(log_probs), np.array(weights)
