"""How well one query matches one key, as the papers write it: NumPy, float64.

Nothing here masks or normalizes. Imports neither torch nor regard.
"""

import numpy as np


def additive(q, k, *, W_q, W_k, v):
    """vᵀ tanh(W_q q + W_k k)  (Bahdanau et al. 2015, A.1.2)."""
    return v @ np.tanh(W_q @ q + W_k @ k)


def coverage(q, k, seen, *, W_q, W_k, w_c, v):
    """vᵀ tanh(W_q q + W_k k + w_c·seen), seen = Σ_{t'<t} α_t'j  (See et al. 2017, 2.3)."""
    return v @ np.tanh(W_q @ q + W_k @ k + w_c * seen)


def concat(q, k, *, W, v):
    """vᵀ tanh(W [q; k])  (Luong et al. 2015, 3.1)."""
    return v @ np.tanh(W @ np.concatenate([q, k]))


def dot(q, k):
    """qᵀ k  (Luong et al. 2015, 3.1)."""
    return q @ k


def scaled_dot(q, k):
    """qᵀ k / √K, K the width of both  (Vaswani et al. 2017, eq. 1)."""
    return q @ k / np.sqrt(len(k))


def bilinear(q, k, *, W):
    """qᵀ W k  (Luong et al. 2015, 3.1, there called general)."""
    return q @ W @ k


def gaussian(q, k, *, w):
    """−½ ‖w(q − k)‖², w one number or one per coordinate  (Nadaraya 1964, Watson 1964)."""
    return -0.5 * np.sum((w * (q - k)) ** 2)


def location(q, S, *, W):
    """The first S rows of W q, one score per source position  (Luong et al. 2015, 3.1)."""
    if len(W) < S:
        raise ValueError(f"S = {S}, but it must be at most {len(W)}, the rows of W")
    return np.array([row @ q for row in W[:S]])
