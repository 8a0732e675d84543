"""A decoder with a fixed context, in any cell: NumPy, float64, one sentence.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.cells import run
from oracle.readouts import log_softmax


def forward(source, target, p, *, bos, cell, every_step):
    """log p(y_t | y_<t, x) for every word.

    h_j = f(E_x x_j, h_{j−1}), h_0 = 0, c = h_S
    s_0 = tanh(W_s c), s_t = f(E_y y_{t−1}, s_{t−1}), or f([E_y y_{t−1}; c], s_{t−1}) at every step
    logits = W_o s_t + b_o
    """
    words = [p["E_x"][x] for x in source]
    c = run(cell, words, np.zeros(p["W_s"].shape[1]), **p["encoder"])[-1]
    fed = [p["E_y"][y] for y in [bos, *target[:-1]]]
    inputs = [np.concatenate([y, c]) for y in fed] if every_step else fed
    states = run(cell, inputs, np.tanh(p["W_s"] @ c), **p["decoder"])
    return np.array([log_softmax(p["W_o"] @ s + p["b_o"]) for s in states])
