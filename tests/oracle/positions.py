"""Position encodings as in the papers: NumPy, float64. Imports neither torch nor regard."""

import numpy as np


def sinusoidal(length, D):
    """P[i,2j] = sin(i / 10000^{2j/D}), P[i,2j+1] = cos(same)  (Vaswani et al. 2017, 3.5).

    Positions i count from 0; with an odd D the last sine has no cosine.
    """
    P = np.zeros((length, D))
    for i in range(length):
        for d in range(D):
            j = d // 2
            angle = i / 10000 ** (2 * j / D)
            P[i, d] = np.sin(angle) if d % 2 == 0 else np.cos(angle)
    return P


def rotation_of(delta, D):
    """Return the matrix R with P[i+δ] = R P[i] for every i, D even  (Vaswani et al. 2017, 3.5).

    With ω = 10000^{−2j/D}, the block of the pair (2j, 2j+1) is
    [[cos δω, sin δω], [−sin δω, cos δω]]: the addition theorems of sine and cosine.
    """
    R = np.zeros((D, D))
    for j in range(D // 2):
        angle = delta * 10000 ** (-2 * j / D)
        cos, sin = np.cos(angle), np.sin(angle)
        R[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[cos, sin], [-sin, cos]]
    return R


def rotate(x, position):
    """Turn every adjacent pair of x by its angle  (RoPE: Su et al. 2021, 3.2.2).

    (x_{2j}, x_{2j+1}) ← (x_{2j} cos φ − x_{2j+1} sin φ, x_{2j} sin φ + x_{2j+1} cos φ)
    with φ = position · 10000^{−2j/K}, K the even width of x
    """
    K = len(x)
    y = np.zeros(K)
    for j in range(K // 2):
        φ = position * 10000 ** (-2 * j / K)
        y[2 * j] = x[2 * j] * np.cos(φ) - x[2 * j + 1] * np.sin(φ)
        y[2 * j + 1] = x[2 * j] * np.sin(φ) + x[2 * j + 1] * np.cos(φ)
    return y
