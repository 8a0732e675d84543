"""The RNN encoder-decoder of Cho et al. 2014: NumPy, float64, one sentence at a time.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.cells import cho_gru, run, sigmoid
from oracle.readouts import log_softmax, maxout

GRU = ("W_r", "W_z", "W_n", "U_r", "U_z", "U_n", "b_r", "b_z", "b_n")


def summarize(source, p):
    """c = tanh(V h_S), h_t = GRU(e(x_t), h_{t−1}), h_0 = 0  (appendix A)."""
    letters = {name: p[name] for name in GRU if name in p}
    h = run(cho_gru, [p["E_x"][x] for x in source], np.zeros(len(p["U_n"])), **letters)
    return np.tanh(p["V"] @ h[-1])


def move(e, h, c, p):
    """Move the decoder from h'_{t−1} to h'_t; e is e(y_{t−1})  (appendix A).

    r' = σ(W'_r e + b_r + U'_r h' + C_r c)
    z' = σ(W'_z e + b_z + U'_z h' + C_z c)
    n = tanh(W' e + b + r' ∘ (U' h' + C c))
    h' ← z' ∘ h' + (1 − z') ∘ n
    """
    b_r, b_z, b_n = (p.get(name, 0.0) for name in ("bd_r", "bd_z", "bd_n"))
    r = sigmoid(p["Wd_r"] @ e + b_r + p["Ud_r"] @ h + p["Cd_r"] @ c)
    z = sigmoid(p["Wd_z"] @ e + b_z + p["Ud_z"] @ h + p["Cd_z"] @ c)
    n = np.tanh(p["Wd_n"] @ e + b_n + r * (p["Ud_n"] @ h + p["Cd_n"] @ c))
    return z * h + (1 - z) * n


def forward(source, target, p, *, bos=None):
    """log p(y_t | y_<t, x) for every word, and no weights  (Cho et al. 2014, appendix A).

    h'_0 = tanh(V' c)
    s' = O_h h'_t + O_y e(y_{t−1}) + O_c c + b_o, s = maxout(s'), logits = G s

    e(y_0) is the zero vector, so `bos` is not looked at.
    """
    c = summarize(source, p)
    h = np.tanh(p["Vd"] @ c)
    e = np.zeros(p["E_y"].shape[1])
    log_probs = []
    for y in target:
        h = move(e, h, c, p)
        s = maxout(p["O_h"] @ h + p["O_y"] @ e + p["O_c"] @ c + p.get("b_o", 0.0))
        log_probs.append(log_softmax(p["G"] @ s))
        e = p["E_y"][y]
    return np.array(log_probs), None
