"""The Transformer of Vaswani et al. 2017: NumPy, float64, one sentence at a time.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.attention import multi_head
from oracle.positions import sinusoidal
from oracle.readouts import log_softmax
from oracle.scores import scaled_dot


def layer_norm(x, norm):
    """gain ∘ (x − mean) / √(variance + 1e-5) + bias for every row  (Ba et al. 2016)."""
    gain, bias = norm
    return np.array([gain * (r - r.mean()) / np.sqrt(r.var() + 1e-5) + bias for r in x])


def feed_forward(x, p):
    """W_2 max(0, W_1 x + b_1) + b_2 for every row  (eq. 2)."""
    hidden = [np.maximum(0, p["W_1"] @ row + p["b_1"]) for row in x]
    return np.array([p["W_2"] @ row + p["b_2"] for row in hidden])


def embed(words, E):
    """√D E[word] + P[position]  (3.4 and 3.5)."""
    D = E.shape[1]
    return np.array([np.sqrt(D) * E[w] for w in words]) + sinusoidal(len(words), D)


def encode_layer(x, p, pre_norm):
    """Self-attention, then the feed-forward  (3.1).

    As published x ← norm(x + sublayer(x)), with pre-norm x ← x + sublayer(norm(x)).
    """
    if pre_norm:
        q = layer_norm(x, p["norm_self"])
        x = x + multi_head(q, q, q, **p["self"], score=scaled_dot)[0]
        return x + feed_forward(layer_norm(x, p["norm_ff"]), p)
    x = layer_norm(x + multi_head(x, x, x, **p["self"], score=scaled_dot)[0], p["norm_self"])
    return layer_norm(x + feed_forward(x, p), p["norm_ff"])


def decode_layer(x, z, p, pre_norm):
    """Self-attention to no later word, attention to the memory z, the feed-forward  (3.1).

    Return also the weights [H,T,S] of the attention to the memory. Norms as in `encode_layer`;
    z is not normalized again.
    """
    causal = np.array([[j <= i for j in range(len(x))] for i in range(len(x))])
    if pre_norm:
        q = layer_norm(x, p["norm_self"])
        x = x + multi_head(q, q, q, **p["self"], score=scaled_dot, visible=causal)[0]
        q = layer_norm(x, p["norm_cross"])
        found, weights = multi_head(q, z, z, **p["cross"], score=scaled_dot)
        x = x + found
        return x + feed_forward(layer_norm(x, p["norm_ff"]), p), weights
    found, _ = multi_head(x, x, x, **p["self"], score=scaled_dot, visible=causal)
    x = layer_norm(x + found, p["norm_self"])
    found, weights = multi_head(x, z, z, **p["cross"], score=scaled_dot)
    x = layer_norm(x + found, p["norm_cross"])
    return layer_norm(x + feed_forward(x, p), p["norm_ff"]), weights


def forward(source, target, p, *, bos, pre_norm=False):
    """log p(y_t | y_<t, x) for every word, and the weights of the memory's reading [L,H,T,S].

    Encoder and decoder start from √D E[word] + P[position]; logits = E h  (Vaswani et al. 2017).
    With pre-norm each stack ends in a norm of its own.
    """
    z = embed(source, p["E"])
    for layer in p["encoder"]:
        z = encode_layer(z, layer, pre_norm)
    if pre_norm:
        z = layer_norm(z, p["encoder_norm"])

    h, weights = embed([bos, *target[:-1]], p["E"]), []
    for layer in p["decoder"]:
        h, α = decode_layer(h, z, layer, pre_norm)
        weights.append(α)
    if pre_norm:
        h = layer_norm(h, p["decoder_norm"])
    return np.array([log_softmax(p["E"] @ h_t) for h_t in h]), np.array(weights)
