"""Heads and self-attention against their oracles, with positions and without."""

from itertools import permutations

import numpy as np
import pytest
import torch

import letters
from oracle import attention as oracle
from oracle import positions as oracle_positions
from oracle import scores as oracle_scores
from regard.errors import ConfigError, InputError
from regard.nn.attention import Attention, MultiHeadAttention, SelfAttention
from regard.nn.masks import causal_mask
from regard.nn.positions import RelativePositions, RotaryPositions, SinusoidalPositions
from regard.nn.scores import AdditiveScore, BilinearScore, DotScore, GaussianScore, ScaledDotScore

B, T, S, D, M, A, N = 2, 3, 5, 7, 11, 13, 17
LENGTHS = (5, 2)
MASK = torch.arange(S) < torch.tensor(LENGTHS)[:, None]


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


SCORES = {
    "scaled dot": (ScaledDotScore, lambda score: oracle_scores.scaled_dot),
    "dot": (DotScore, lambda score: oracle_scores.dot),
    "gaussian": (
        GaussianScore,
        lambda score: lambda q, k: oracle_scores.gaussian(q, k, w=letters.array(score.w)),
    ),
    "bilinear": (
        lambda: BilinearScore(5, 5),
        lambda score: lambda q, k: oracle_scores.bilinear(q, k, W=letters.array(score.W.weight)),
    ),
    "additive": (
        lambda: AdditiveScore(5, 5, A),
        lambda score: (
            lambda q, k: oracle_scores.additive(
                q,
                k,
                W_q=letters.array(score.W_q.weight),
                W_k=letters.array(score.W_k.weight),
                v=letters.array(score.v),
            )
        ),
    ),
}


@pytest.mark.parametrize("name", SCORES)
def test_every_score_works_inside_multi_head_attention(name):
    make, by_oracle = SCORES[name]
    attention = MultiHeadAttention((D, M, N), 15, 3, score=make()).double()
    query, keys, values = randn(B, T, D), randn(B, S, M), randn(B, S, N)
    outputs, weights = attention(query, attention.remember(keys, values, MASK))
    for b in range(B):
        n = LENGTHS[b]
        expected, α = oracle.multi_head(
            query[b].numpy(),
            keys[b, :n].numpy(),
            values[b, :n].numpy(),
            score=by_oracle(attention.attention.score),
            **letters.heads(attention),
        )
        letters.assert_close(outputs[b], expected)
        letters.assert_close(weights[b, :, :, :n], α)


def test_a_causal_mask_hides_later_positions():
    attention = MultiHeadAttention((D, D, D), 15, 3).double()
    x = randn(B, S, D)
    memory = attention.remember(x, x, MASK)
    visible = causal_mask(S, S, x.device)
    outputs, weights = attention(x, memory, visible=visible)
    fused, _ = attention(x, memory, visible=visible, need_weights=False)
    letters.assert_close(fused, letters.array(outputs))
    expected, α = oracle.multi_head(
        x[0].numpy(),
        x[0].numpy(),
        x[0].numpy(),
        score=oracle_scores.scaled_dot,
        visible=np.tril(np.ones((S, S), dtype=bool)),
        **letters.heads(attention),
    )
    letters.assert_close(outputs[0], expected)
    letters.assert_close(weights[0], α)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(
        ConfigError,
        match=r"model_size is 10; it must be a multiple of num_heads = 3\. Set model_size = 9\.",
    ):
        MultiHeadAttention((D, D, D), 10, 3)


@pytest.mark.parametrize("projected", [False, True])
def test_self_attention_word_by_word_is_self_attention_by_matrices(projected):
    sizes = (A, A, N) if projected else None
    layer = SelfAttention(Attention(ScaledDotScore()), D, sizes).double()
    x = randn(B, S, D)
    outputs, weights = layer(x, MASK)
    matrices = {}
    if projected:
        matrices = {n: letters.array(getattr(layer, n).weight) for n in ("W_q", "W_k", "W_v")}
    for b in range(B):
        n = LENGTHS[b]
        expected, α = oracle.self_attention(
            x[b, :n].numpy(), score=oracle_scores.scaled_dot, **matrices
        )
        letters.assert_close(outputs[b, :n], expected)
        letters.assert_close(weights[b, :n, :n], α)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary", "relative"])
def test_self_attention_is_permutation_equivariant_without_positions_and_not_with_them(positions):
    size = 14
    inside = {"rotary": RotaryPositions(14), "relative": RelativePositions(14, 3)}
    attention = MultiHeadAttention((size,) * 3, size, 1, positions=inside.get(positions)).double()
    x, everywhere = randn(1, S, size), torch.ones(1, S, dtype=torch.bool)
    places = torch.zeros(S, size, dtype=torch.float64)
    if positions == "sinusoidal":
        places = SinusoidalPositions(size, S)(torch.arange(S))

    def run(x):
        x = x + places
        return attention(x, attention.remember(x, x, everywhere))[0].detach()

    outputs = run(x)
    moved = max(
        float((run(x[:, list(order)]) - outputs[:, list(order)]).abs().max())
        for order in permutations(range(S))
    )
    assert moved < 1e-12 if positions == "none" else moved > 1e-3


def test_rotary_positions_turn_queries_and_keys_by_their_place_and_not_values():
    K = 6
    attention = MultiHeadAttention((D, D, D), 2 * K, 2, positions=RotaryPositions(K)).double()
    x = randn(B, S, D)
    outputs, weights = attention(x, attention.remember(x, x, MASK))
    matrices = letters.heads(attention)
    for b, n in enumerate(LENGTHS):
        found = []
        for h in range(2):
            q, k, v = (x[b, :n].numpy() @ matrices[name][h].T for name in ("W_q", "W_k", "W_v"))
            q, k = (
                [oracle_positions.rotate(row, i) for i, row in enumerate(part)] for part in (q, k)
            )
            α = [oracle.softmax(np.array([q_i @ k_j / np.sqrt(K) for k_j in k])) for q_i in q]
            letters.assert_close(weights[b, h, :n, :n], α)
            found.append(np.array(α) @ v)
        letters.assert_close(outputs[b, :n], np.concatenate(found, axis=1) @ matrices["W_o"].T)


@pytest.mark.parametrize("causal", [False, True])
def test_relative_positions_are_shaws(causal):
    K, clip, H = 7, 2, 2
    relative = RelativePositions(K, clip)
    attention = MultiHeadAttention((D, D, D), H * K, H, positions=relative).double()
    x, everywhere = randn(B, S, D), torch.ones(B, S, dtype=torch.bool)
    visible = causal_mask(S, S, x.device) if causal else None
    outputs, weights = attention(x, attention.remember(x, x, everywhere), visible=visible)
    matrices = letters.heads(attention)
    for b in range(B):
        found = []
        for h in range(H):
            q, k, v = (x[b].numpy() @ matrices[name][h].T for name in ("W_q", "W_k", "W_v"))
            z, α = oracle.relative_self_attention(
                q,
                k,
                v,
                a_K=letters.array(relative.a_K),
                a_V=letters.array(relative.a_V),
                clip=clip,
                visible=None if visible is None else visible.numpy(),
            )
            letters.assert_close(weights[b, h], α)
            found.append(z)
        letters.assert_close(outputs[b], np.concatenate(found, axis=1) @ matrices["W_o"].T)


@pytest.mark.parametrize("positions", [RotaryPositions(6), RelativePositions(6, 2)])
def test_positions_inside_attention_need_queries_among_the_keys(positions):
    attention = MultiHeadAttention((D, D, D), 12, 2, positions=positions).double()
    memory = attention.remember(randn(B, 2, D), randn(B, 2, D), torch.ones(B, 2, dtype=torch.bool))
    sentence = (
        r"3 queries but only 2 keys\. Positions inside attention take the queries to be the last"
    )
    with pytest.raises(InputError, match=sentence):
        attention(randn(B, T, D), memory)


def test_relative_positions_belong_to_the_scaled_dot_score():
    sentence = r"Relative positions need scaled dot scores\. Use ScaledDotScore\."
    with pytest.raises(ConfigError, match=sentence):
        MultiHeadAttention((D, D, D), 12, 2, score=DotScore(), positions=RelativePositions(6, 2))


def test_odd_rotary_widths_are_refused():
    with pytest.raises(ConfigError, match=r"rotate pairs, but size is 7\. Set size = 8\."):
        RotaryPositions(7)
