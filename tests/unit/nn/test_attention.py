"""Attention against its oracles: soft, key–value, local, many reads, heads, self-attention."""

from itertools import permutations

import numpy as np
import pytest
import torch
from torch.nn import functional

import letters
from oracle import attention as oracle
from oracle import positions as oracle_positions
from oracle import scores as oracle_scores
from regard.errors import ConfigError
from regard.nn.attention import (
    Attention,
    LocalWindow,
    ManyReads,
    MultiHeadAttention,
    Past,
    SelfAttention,
    impose,
    weighted_values,
)
from regard.nn.masks import causal_mask
from regard.nn.positions import RelativePositions, RotaryPositions, SinusoidalPositions
from regard.nn.scores import AdditiveScore, BilinearScore, DotScore, GaussianScore, ScaledDotScore

B, T, S, D, M, A, N = 2, 3, 5, 7, 11, 13, 17
LENGTHS = (5, 2)
MASK = torch.arange(S) < torch.tensor(LENGTHS)[:, None]


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def test_additive_attention_is_the_papers():
    query, keys = randn(B, T, D), randn(B, S, M)
    score = AdditiveScore(D, M, A).double()
    attention = Attention(score)
    contexts, weights = attention(query, attention.remember(keys, keys, MASK))
    names = {"W_a": score.W_q.weight, "U_a": score.W_k.weight, "v_a": score.v}
    names = {name: letters.array(p) for name, p in names.items()}
    for b, t in np.ndindex(B, T):
        visible = keys[b, : LENGTHS[b]].numpy()
        c, α = oracle.additive_attention(query[b, t].numpy(), visible, **names)
        letters.close(contexts[b, t], c)
        letters.close(weights[b, t, : LENGTHS[b]], α)
        assert not weights[b, t, LENGTHS[b] :].any()


def test_keys_and_values_may_differ():
    query, keys, values = randn(B, T, D), randn(B, S, M), randn(B, S, N)
    attention = Attention(BilinearScore(D, M).double())
    memory = attention.remember(keys, values, MASK)
    contexts, weights = attention(query, memory)
    W = letters.array(attention.score.W.weight)
    parts = weighted_values(weights, memory)
    for b, t in np.ndindex(B, T):
        n = LENGTHS[b]
        c, α = oracle.attention(
            query[b, t].numpy(),
            keys[b, :n].numpy(),
            values[b, :n].numpy(),
            lambda q, k: oracle_scores.bilinear(q, k, W=W),
        )
        letters.close(contexts[b, t], c)
        letters.close(weights[b, t, :n], α)
        expected = oracle.weighted_values(α, values[b, :n].numpy())
        letters.close(parts[b, t, :n], expected)
        letters.close(parts[b, t].sum(dim=0), c)


def test_sampled_reads_average_to_the_soft_context():
    query, keys, values = randn(1, 1, D), randn(1, S, D), randn(1, S, N)
    attention = Attention(ScaledDotScore())
    context, weights = attention(query, attention.remember(keys, values, MASK[:1]))
    count = 200_000
    generator = torch.Generator().manual_seed(0)
    drawn = torch.multinomial(weights[0, 0], count, replacement=True, generator=generator)
    reads = values[0, drawn]
    error = (reads.mean(dim=0) - context[0, 0]).abs()
    # five standard errors: a right mean misses one of 17 bounds once in 100,000 seeds
    assert (error <= 5 * reads.std(dim=0) / count**0.5).all()
    assert (error > 0).any()


def test_a_source_with_nothing_visible_gives_zeros_not_nan():
    for score in (AdditiveScore(D, M, A), BilinearScore(D, M)):
        attention = Attention(score.double())
        values = randn(B, S, M)
        memory = attention.remember(values, values, torch.zeros(B, S, dtype=torch.bool))
        context, weights = attention(randn(B, T, D), memory)
        assert not context.any()
        assert not weights.any()


def test_without_a_mask_and_without_a_batch_everything_is_visible():
    query, keys = randn(T, D), randn(S, D)
    attention = Attention(DotScore())
    context, weights = attention(query, attention.remember(keys, keys))
    expected = attention(
        query[None], attention.remember(keys[None], keys[None], torch.ones(1, S, dtype=torch.bool))
    )
    letters.close(context, letters.array(expected[0][0]))
    letters.close(weights, letters.array(expected[1][0]))


def test_dropout_acts_on_the_weights_in_training_alone():
    query, keys = randn(1, 1, D), randn(1, S, D)
    attention = Attention(DotScore(), dropout=0.5)
    memory = attention.remember(keys, torch.eye(S, dtype=torch.float64)[None], MASK[:1])
    torch.manual_seed(0)
    seen = set()
    for _ in range(50):
        context, weights = attention(query, memory)
        # the values are unit vectors, so the context is the weights as they were used
        ratio = context[0, 0] / weights[0, 0]
        assert ((ratio == 0) | ((ratio - 2).abs() < 1e-12)).all()
        seen.add(tuple(ratio.round().tolist()))
    assert len(seen) > 5
    context, weights = attention.eval()(query, memory)
    assert torch.equal(context[0, 0], weights[0, 0])


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_when_nobody_asks_for_weights_the_scaled_dot_runs_fused(monkeypatch, dropout):
    calls = []
    fused = functional.scaled_dot_product_attention
    monkeypatch.setattr(
        functional,
        "scaled_dot_product_attention",
        lambda *args, **options: calls.append(options) or fused(*args, **options),
    )
    query, keys, values = randn(B, T, D), randn(B, S, D), randn(B, S, N)
    attention = Attention(ScaledDotScore(), dropout=dropout)
    memory = attention.remember(keys, values, MASK)
    attention(query, memory, need_weights=False)
    assert [call["dropout_p"] for call in calls] == [dropout]
    attention.eval()
    context, weights = attention(query, memory, need_weights=False)
    assert weights is None
    expected, weights = attention(query, memory)
    letters.close(context, letters.array(expected))
    assert [call["dropout_p"] for call in calls] == [dropout, 0.0]
    # neither another score, nor weights from outside, can take that road
    Attention(DotScore())(query, memory, need_weights=False)
    attention(query, memory, imposed=weights, need_weights=False)
    assert len(calls) == 2


def test_no_layer_keeps_the_weights():
    query, keys = randn(B, T, D), randn(B, S, D)
    attention = Attention(AdditiveScore(D, D, A).double())
    before = set(vars(attention)) | set(vars(attention.score))
    attention(query, attention.remember(keys, keys, MASK))
    assert set(vars(attention)) | set(vars(attention.score)) == before
    assert not [value for value in vars(attention).values() if isinstance(value, torch.Tensor)]


def test_imposed_weights_are_used_and_nan_leaves_the_models_own():
    query, keys, values = randn(B, T, D), randn(B, S, D), randn(B, S, N)
    attention = Attention(DotScore())
    memory = attention.remember(keys, values, MASK)
    _, free = attention(query, memory)
    imposed = torch.full((B, T, S), torch.nan, dtype=torch.float64)
    imposed[0, 1] = functional.one_hot(torch.tensor(3), S)
    context, weights = attention(query, memory, imposed=imposed)
    assert torch.equal(context[0, 1], values[0, 3])
    assert torch.equal(weights[0, 1], imposed[0, 1])
    assert torch.equal(weights[1], free[1])
    assert torch.equal(weights[0, 0], free[0, 0])
    assert impose(free, None) is free


@pytest.mark.parametrize("kind", ["local-m", "local-p"])
def test_the_local_window_is_luongs(kind):
    half_width = 2
    query, keys = randn(B, T, D), randn(B, S, D)
    window = LocalWindow(half_width, D if kind == "local-p" else None).double()
    attention = Attention(DotScore(), window=window)
    memory = attention.remember(keys, keys, MASK)
    position = torch.tensor([[0, 1, 2], [3, 4, 5]])
    contexts, weights = attention(query, memory, past=Past(position))
    for b, t in np.ndindex(B, T):
        n, q = LENGTHS[b], query[b, t].numpy()
        visible = keys[b, :n].numpy()
        p = float(position[b, t]) + 1
        if kind == "local-p":
            W_p, v_p = letters.array(window.W_p.weight), letters.array(window.v_p)
            p = oracle.local_p_center(q, n, W_p=W_p, v_p=v_p)
        α = oracle.local_window(np.array([q @ k for k in visible]), p, half_width)
        letters.close(weights[b, t, :n], α)
        letters.close(contexts[b, t], α @ visible)
        assert not weights[b, t, n:].any()
    assert weights[weights > 0].min() < 1
    if kind == "local-m":
        # by its sixth word the window has left a source of two
        assert not weights[1, 2].any()


def test_without_a_past_the_queries_are_the_first_positions():
    query, keys = randn(B, T, D), randn(B, S, D)
    attention = Attention(DotScore(), window=LocalWindow(1))
    memory = attention.remember(keys, keys, MASK)
    expected = attention(query, memory, past=Past(torch.arange(T).expand(B, T)))
    for actual, wanted in zip(attention(query, memory), expected, strict=True):
        assert torch.equal(actual, wanted)


@pytest.mark.parametrize("given", [False, True])
def test_many_reads_are_concatenated(given):
    keys, values, queries = randn(B, S, D), randn(B, S, N), randn(B, T, D)
    reads = ManyReads(Attention(ScaledDotScore()), T, D).double()
    memory = reads.attention.remember(keys, values, MASK)
    contexts, weights = reads(memory, queries) if given else reads(memory)
    for b in range(B):
        asked = queries[b].numpy() if given else letters.array(reads.queries)
        n = LENGTHS[b]
        c, α = oracle.many_reads(
            asked, keys[b, :n].numpy(), values[b, :n].numpy(), oracle_scores.scaled_dot
        )
        letters.close(contexts[b], c)
        letters.close(weights[b, :, :n], α)


def heads(attention):
    H = attention.num_heads
    matrices = {
        name: np.split(letters.array(getattr(attention, name).weight), H)
        for name in ("W_q", "W_k", "W_v")
    }
    return {**matrices, "W_o": letters.array(attention.W_o.weight)}


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
def test_every_score_may_stand_inside_the_heads(name):
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
            **heads(attention),
        )
        letters.close(outputs[b], expected)
        letters.close(weights[b, :, :, :n], α)


def test_a_causal_mask_hides_what_comes_later():
    attention = MultiHeadAttention((D, D, D), 15, 3).double()
    x = randn(B, S, D)
    memory = attention.remember(x, x, MASK)
    visible = causal_mask(S, S, x.device)
    outputs, weights = attention(x, memory, visible=visible)
    fused, _ = attention(x, memory, visible=visible, need_weights=False)
    letters.close(fused, letters.array(outputs))
    expected, α = oracle.multi_head(
        x[0].numpy(),
        x[0].numpy(),
        x[0].numpy(),
        score=oracle_scores.scaled_dot,
        visible=np.tril(np.ones((S, S), dtype=bool)),
        **heads(attention),
    )
    letters.close(outputs[0], expected)
    letters.close(weights[0], α)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ConfigError, match="num_heads = 3 does not divide model_size = 10; 9 would"):
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
        letters.close(outputs[b, :n], expected)
        letters.close(weights[b, :n, :n], α)


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


def test_rotary_positions_turn_queries_and_keys_by_their_place():
    K = 6
    attention = MultiHeadAttention((D, D, D), 2 * K, 2, positions=RotaryPositions(K)).double()
    x = randn(B, S, D)
    outputs, weights = attention(x, attention.remember(x, x, MASK))
    matrices = heads(attention)
    for h in range(2):
        q, k = (x[0].numpy() @ matrices[name][h].T for name in ("W_q", "W_k"))
        turned = [
            [oracle_positions.rotate(row, i) for i, row in enumerate(part)] for part in (q, k)
        ]
        for i in range(S):
            e = np.array([turned[0][i] @ turned[1][j] / np.sqrt(K) for j in range(S)])
            letters.close(weights[0, h, i], oracle.softmax(e))
    assert outputs.shape == (B, S, 2 * K)


@pytest.mark.parametrize("causal", [False, True])
def test_relative_positions_are_shaws(causal):
    K, clip = 7, 2
    relative = RelativePositions(K, clip)
    attention = MultiHeadAttention((D, D, D), K, 1, positions=relative).double()
    attention.W_o.weight.data = torch.eye(K, dtype=torch.float64)
    x, everywhere = randn(B, S, D), torch.ones(B, S, dtype=torch.bool)
    visible = causal_mask(S, S, x.device) if causal else None
    outputs, weights = attention(x, attention.remember(x, x, everywhere), visible=visible)
    maps = [letters.array(getattr(attention, name).weight) for name in ("W_q", "W_k", "W_v")]
    for b in range(B):
        q, k, v = (x[b].numpy() @ matrix.T for matrix in maps)
        expected, α = oracle.relative_self_attention(
            q,
            k,
            v,
            a_K=letters.array(relative.a_K),
            a_V=letters.array(relative.a_V),
            clip=clip,
            visible=None if visible is None else visible.numpy(),
        )
        letters.close(outputs[b], expected)
        letters.close(weights[b, 0], α)
