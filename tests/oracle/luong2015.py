"""Effective approaches to attention, Luong et al. 2015: NumPy, float64, one sentence at a time.

Imports neither torch nor regard.
"""

import numpy as np

from oracle import scores
from oracle.attention import local_p_center, local_window, softmax
from oracle.cells import lstm_stack, lstm_start
from oracle.readouts import log_softmax


def encode(source, p):
    """Return h̄_1 … h̄_S, the top layer's, and the final (h, c) of every layer."""
    states, top = lstm_start(p["encoder"]), []
    for x in source:
        states = lstm_stack(p["E_x"][x], states, p["encoder"])
        top.append(states[-1][0])
    return np.array(top), states


def score_all(h, h_bar, p, score):
    """Score h_t against every h̄_s  (3.1).

    dot hᵀh̄ · bilinear hᵀW_a h̄ · concat v_aᵀ tanh(W_a [h; h̄]) · location W_a h
    """
    if score == "location":
        return scores.location(h, len(h_bar), W=p["W_a"])
    one = {
        "dot": scores.dot,
        "bilinear": lambda q, k: scores.bilinear(q, k, W=p["W_a"]),
        "concat": lambda q, k: scores.concat(q, k, W=p["W_a"], v=p["v_a"]),
    }[score]
    return np.array([one(h, h_s) for h_s in h_bar])


def align(e, h, t, p, window, delta):
    """Return α_t from the scores e: global, or local around p_t  (3 and 3.2).

    local-m: p_t = t, counted from 1; local-p: p_t = S · σ(v_pᵀ tanh(W_p h_t))
    """
    if window is None:
        return softmax(e)
    center = {
        "local-m": lambda: t,
        "local-p": lambda: local_p_center(h, len(e), W_p=p["W_p"], v_p=p["v_p"]),
    }[window]()
    return local_window(e, center, delta)


def forward(source, target, p, *, bos, score="dot", window=None, delta=10, input_feeding=True):
    """log p(y_t | y_<t, x) for every word, and the weights α [T,S]  (Luong et al. 2015, 3).

    h_t = LSTM([E y_{t−1}; h̃_{t−1}], h_{t−1}), h̃_0 = 0; without input feeding E y_{t−1} alone
    α_t = align(h_t, h̄), c_t = Σ_s α_ts h̄_s
    h̃_t = tanh(W_c [c_t; h_t] + b_c), logits = W_s h̃_t
    """
    h_bar, states = encode(source, p)
    h_tilde = np.zeros(len(p["W_c"]))
    log_probs, weights = [], []
    for t, word in enumerate([bos, *target[:-1]], start=1):
        y = p["E_y"][word]
        x = np.concatenate([y, h_tilde]) if input_feeding else y
        states = lstm_stack(x, states, p["decoder"])
        h, _ = states[-1]
        α = align(score_all(h, h_bar, p, score), h, t, p, window, delta)
        c = sum(α_s * h_s for α_s, h_s in zip(α, h_bar, strict=True))
        h_tilde = np.tanh(p["W_c"] @ np.concatenate([c, h]) + p.get("b_c", 0.0))
        log_probs.append(log_softmax(p["W_s"] @ h_tilde))
        weights.append(α)
    return np.array(log_probs), np.array(weights)


def plain(source, target, p, *, bos, score="dot"):
    """Like `forward` as tutorials have it: global, no h̃, no feeding, score dot or bilinear.

    h_t = LSTM(E y_{t−1}, h_{t−1}), c_t = Σ_s α_ts h̄_s, logits = W_s [h_t; c_t] + b_s
    """
    h_bar, states = encode(source, p)
    log_probs, weights = [], []
    for word in [bos, *target[:-1]]:
        states = lstm_stack(p["E_y"][word], states, p["decoder"])
        h, _ = states[-1]
        α = softmax(score_all(h, h_bar, p, score))
        c = sum(α_s * h_s for α_s, h_s in zip(α, h_bar, strict=True))
        log_probs.append(log_softmax(p["W_s"] @ np.concatenate([h, c]) + p.get("b_s", 0.0)))
        weights.append(α)
    return np.array(log_probs), np.array(weights)
