"""One step of each recurrent cell, as the papers write it: NumPy, float64, one sentence at a time.

Each gate and candidate has one bias, beside W x. Imports neither torch nor regard.
"""

import numpy as np


def sigmoid(x):
    """1 / (1 + exp(−x)), written as exp(−log(1 + exp(−x))) which cannot overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def elman(x, h, *, W, U, b=0.0):
    """tanh(W x + b + U h)  (Elman 1990)."""
    return np.tanh(W @ x + b + U @ h)


def gru_before(x, h, *, W_r, W_z, W_n, U_r, U_z, U_n, b_r=0.0, b_z=0.0, b_n=0.0):
    """GRU, reset before U_n, renewing with z  (Bahdanau et al. 2015, A.1.1).

    r = σ(W_r x + b_r + U_r h)
    z = σ(W_z x + b_z + U_z h)
    n = tanh(W_n x + b_n + U_n (r ∘ h))
    h ← (1 − z) ∘ h + z ∘ n
    """
    r = sigmoid(W_r @ x + b_r + U_r @ h)
    z = sigmoid(W_z @ x + b_z + U_z @ h)
    n = np.tanh(W_n @ x + b_n + U_n @ (r * h))
    return (1 - z) * h + z * n


def gru_after(x, h, *, W_r, W_z, W_n, U_r, U_z, U_n, b_r=0.0, b_z=0.0, b_n=0.0):
    """GRU, reset after U_n, renewing with z  (Cho et al. 2014, arXiv version 1).

    r = σ(W_r x + b_r + U_r h)
    z = σ(W_z x + b_z + U_z h)
    n = tanh(W_n x + b_n + r ∘ (U_n h))
    h ← (1 − z) ∘ h + z ∘ n
    """
    r = sigmoid(W_r @ x + b_r + U_r @ h)
    z = sigmoid(W_z @ x + b_z + U_z @ h)
    n = np.tanh(W_n @ x + b_n + r * (U_n @ h))
    return (1 - z) * h + z * n


def cho_gru(x, h, *, W_r, W_z, W_n, U_r, U_z, U_n, b_r=0.0, b_z=0.0, b_n=0.0):
    """GRU, reset before U_n, keeping with z  (Cho et al. 2014, 2.3).

    r = σ(W_r x + b_r + U_r h)
    z = σ(W_z x + b_z + U_z h)
    n = tanh(W_n x + b_n + U_n (r ∘ h))
    h ← z ∘ h + (1 − z) ∘ n
    """
    r = sigmoid(W_r @ x + b_r + U_r @ h)
    z = sigmoid(W_z @ x + b_z + U_z @ h)
    n = np.tanh(W_n @ x + b_n + U_n @ (r * h))
    return z * h + (1 - z) * n


def lstm(x, h, c, *, W_i, W_f, W_o, W_g, U_i, U_f, U_o, U_g, b_i=0.0, b_f=0.0, b_o=0.0, b_g=0.0):
    """LSTM without peepholes  (Hochreiter and Schmidhuber 1997; f from Gers et al. 2000).

    i, f, o = σ(W x + b + U h), each with its own letters
    g = tanh(W_g x + b_g + U_g h)
    c ← f ∘ c + i ∘ g
    h ← o ∘ tanh(c)
    """
    i = sigmoid(W_i @ x + b_i + U_i @ h)
    f = sigmoid(W_f @ x + b_f + U_f @ h)
    o = sigmoid(W_o @ x + b_o + U_o @ h)
    g = np.tanh(W_g @ x + b_g + U_g @ h)
    c = f * c + i * g
    return o * np.tanh(c), c


def run(cell, xs, h0, **letters):
    """Return h_1 … h_S with h_t = cell(x_t, h_{t−1})."""
    h, states = h0, []
    for x in xs:
        h = cell(x, h, **letters)
        states.append(h)
    return states


def lstm_start(layers):
    """(h, c) = (0, 0) for every layer."""
    return [(np.zeros(len(p["U_i"])), np.zeros(len(p["U_i"]))) for p in layers]


def lstm_stack(x, states, layers):
    """Move a stack of LSTMs one step: layer l reads the new h of layer l−1, the first reads x."""
    moved = []
    for (h, c), letters in zip(states, layers, strict=True):
        h, c = lstm(x, h, c, **letters)
        moved.append((h, c))
        x = h
    return moved
