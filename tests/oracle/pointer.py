"""Pointer-generator, as in See et al. 2017: NumPy, float64.

Imports neither torch nor regard.
"""

import numpy as np


def mixed(written, state, shown, words, inputs, weights):
    """p(w) = g p_vocabulary(w) + (1 − g) Σ_{i: x_i = w} α_i  (eq. 8 and 9), for one step.

    `words` holds for each source position the target's word, None where there is none; α is a
    softmax over the others of sᵀ W h_i. Where nothing can be copied, what is written is all.
    """
    g = 1 / (1 + np.exp(-(weights["w_g"] @ inputs + weights["b_g"])))
    places = [i for i, word in enumerate(words) if word is not None]
    if not places:
        return written
    scores = np.array([state @ weights["W"] @ shown[i] for i in places])
    alpha = np.exp(scores - scores.max())
    alpha /= alpha.sum()
    p = g * written
    for place, share in zip(places, alpha, strict=True):
        p[words[place]] += (1 - g) * share
    return p
