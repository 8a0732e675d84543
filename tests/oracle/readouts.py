"""From a vector to words, as the papers write it: NumPy, float64.

Imports neither torch nor regard.
"""

import numpy as np


def maxout(t):
    """max(t̃_{2j−1}, t̃_{2j}) for every j, counted from 1  (Goodfellow et al. 2013)."""
    return np.array([max(t[2 * j], t[2 * j + 1]) for j in range(len(t) // 2)])


def log_softmax(x):
    """x_i − log Σ_j exp(x_j), the same after any constant is taken from x."""
    x = x - np.max(x)
    return x - np.log(np.exp(x).sum())
