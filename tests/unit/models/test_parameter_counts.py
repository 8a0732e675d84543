"""At the papers' sizes, every matrix is where the paper has one: counts written out by hand."""

import pytest
import torch

from regard.models import PRESETS, build, paper_sizes


def count(name, **options):
    """Return the numbers in matrices and in vectors of a preset at its paper's sizes."""
    paper = paper_sizes(name)
    with torch.device("meta"):
        config = PRESETS[name](**{**paper.sizes, **options})
        model = build(config, paper.source_vocabulary, paper.target_vocabulary)
    sizes = {True: 0, False: 0}
    for parameter in model.parameters():
        assert parameter.is_meta
        sizes[parameter.ndim > 1] += parameter.numel()
    return sizes[True], sizes[False]


def test_cho2014():
    V, E, D, pairs = 15_000, 500, 1000, 1000
    matrices = (
        V * E  # source words
        + 3 * (D * E + D * D)  # encoder: W and U of r, z, candidate
        + D * D  # V of c = tanh(V h_S)
        + V * E  # target words
        + D * D  # V′ of h′_0 = tanh(V′c)
        + 3 * (D * E + D * D + D * D)  # decoder: W′, U′, C of r′, z′, candidate
        + pairs * (D + E + D)  # O_h, O_y, O_c
        + V * (pairs // 2)  # G
    )
    biases = 3 * D + 3 * D + pairs
    assert count("cho2014") == (matrices, biases)
    assert matrices == 39_000_000


def test_sutskever2014():
    V_x, V_y, E, D, L = 160_000, 80_000, 1000, 1000, 4
    lstm = 4 * (D * E + D * D)  # i, f, o, g; here E = D, so every layer has the same
    matrices = V_x * E + L * lstm + V_y * E + L * lstm + V_y * D
    assert count("sutskever2014") == (matrices, 0)
    # "the resulting LSTM has 384M parameters" (§3.4)
    assert matrices == 384_000_000


def test_bahdanau2015():
    V, m, n, n_align, l2 = 30_000, 620, 1000, 1000, 1000
    matrices = (
        V * m  # source words
        + 2 * 3 * (n * m + n * n)  # two directions: W and U of r, z, candidate
        + n * n  # W_s of s_0 = tanh(W_s ←h_1)
        + V * m  # target words
        + n_align * n  # W_a
        + n_align * 2 * n  # U_a
        + 3 * (n * m + n * n + n * 2 * n)  # decoder: W, U, C of r, z, candidate
        + l2 * (n + m + 2 * n)  # U_o, V_o, C_o, two for each of l = 500
        + V * (l2 // 2)  # W_o
    )
    # one bias per gate and candidate, one in the readout; v_a is the one vector that is no bias
    biases = 2 * 3 * n + 3 * n + l2
    assert count("bahdanau2015") == (matrices, biases + n_align)


@pytest.mark.parametrize(
    ("options", "score"),
    [
        ({}, 1000 * 1000),  # W_a of the bilinear score
        ({"score": "dot"}, 0),
        ({"score": "concat"}, 1000 * 2000),
        ({"window": "local_p"}, 1000 * 1000 + 1000 * 1000),  # and W_p
    ],
)
def test_luong2015(options, score):
    V, E, D, L = 50_000, 1000, 1000, 4
    lstm = 4 * (D * D + D * D)
    matrices = (
        V * E  # source words
        + 4 * (D * E + D * D)  # encoder, first layer
        + (L - 1) * lstm  # encoder, above
        + V * E  # target words
        + 4 * (D * (E + D) + D * D)  # decoder, first layer: [E y; h̃] enters
        + (L - 1) * lstm  # decoder, above
        + score
        + D * 2 * D  # W_c
        + V * D  # W_s
    )
    vectors = L * 4 * D + L * 4 * D + D  # gates and candidates of both sides, b_c
    vectors += D if options.get("score") == "concat" else 0  # v_a
    vectors += D if options.get("window") == "local_p" else 0  # v_p
    assert count("luong2015", **options) == (matrices, vectors)


def test_gehring2017():
    V, D, L, k, positions = 40_000, 512, 20, 3, 1024
    matrices = (
        2 * (V * D + positions * D)  # words and positions of both sides
        + L * (2 * D * k * D)  # encoder: convolutions to twice the width, for the gate
        + L * (2 * D * k * D + D * D)  # decoder: the same, and W_d
        + V * D  # W_o
    )
    biases = L * 2 * D + L * (2 * D + D) + V
    assert count("gehring2017") == (matrices, biases)


def test_vaswani2017():
    V, D, F, H, L = 37_000, 512, 2048, 8, 6
    K = D // H
    heads = H * 3 * K * D + D * H * K  # W_q, W_k, W_v of each head, and W_o
    matrices = (
        V * D  # one matrix for source, target and output
        + L * (heads + F * D + D * F)  # encoder: self-attention, feed-forward
        + L * (2 * heads + F * D + D * F)  # decoder: and a look at the source
    )
    norm, feed_forward = 2 * D, F + D
    vectors = L * (2 * norm + feed_forward) + L * (3 * norm + feed_forward)
    assert count("vaswani2017") == (matrices, vectors)
    # table 3 gives 65 million for these sizes, with a vocabulary it does not state exactly
    assert round((matrices + vectors) / 1e6) == 63
