"""Attention against its oracles: soft, key–value, local, many reads."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import letters
from oracle import attention as oracle
from oracle import scores as oracle_scores
from regard.errors import InputError
from regard.nn.attention import (
    Attention,
    LocalWindow,
    ManyReads,
    PastAttention,
    force_weights,
    weighted_values,
)
from regard.nn.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore

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
        letters.assert_close(contexts[b, t], c)
        letters.assert_close(weights[b, t, : LENGTHS[b]], α)
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
        letters.assert_close(contexts[b, t], c)
        letters.assert_close(weights[b, t, :n], α)
        expected = oracle.weighted_values(α, values[b, :n].numpy())
        letters.assert_close(parts[b, t, :n], expected)
        letters.assert_close(parts[b, t].sum(dim=0), c)


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


def test_everything_is_visible_without_a_mask_or_a_batch():
    query, keys = randn(T, D), randn(S, D)
    attention = Attention(DotScore())
    context, weights = attention(query, attention.remember(keys, keys))
    expected = attention(
        query[None], attention.remember(keys[None], keys[None], torch.ones(1, S, dtype=torch.bool))
    )
    letters.assert_close(context, letters.array(expected[0][0]))
    letters.assert_close(weights, letters.array(expected[1][0]))


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
def test_scaled_dot_attention_runs_fused_if_weights_are_not_needed(monkeypatch, dropout):
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
    # on a CPU the library fuses nothing where it drops
    first = [] if dropout else [0.0]
    assert [call["dropout_p"] for call in calls] == first
    attention.eval()
    context, weights = attention(query, memory, need_weights=False)
    assert weights is None
    expected, weights = attention(query, memory)
    letters.assert_close(context, letters.array(expected))
    assert [call["dropout_p"] for call in calls] == [*first, 0.0]
    # neither another score, nor weights from outside, can take that road
    Attention(DotScore())(query, memory, need_weights=False)
    attention(query, memory, forced_weights=weights, need_weights=False)
    assert len(calls) == len(first) + 1


def test_no_layer_stores_attention_weights():
    query, keys = randn(B, T, D), randn(B, S, D)
    attention = Attention(AdditiveScore(D, D, A).double())
    before = set(vars(attention)) | set(vars(attention.score))
    attention(query, attention.remember(keys, keys, MASK))
    assert set(vars(attention)) | set(vars(attention.score)) == before
    assert not [value for value in vars(attention).values() if isinstance(value, torch.Tensor)]


def test_forced_weights_are_used_and_nan_means_free():
    query, keys, values = randn(B, T, D), randn(B, S, D), randn(B, S, N)
    attention = Attention(DotScore())
    memory = attention.remember(keys, values, MASK)
    _, free = attention(query, memory)
    forced_weights = torch.full((B, T, S), torch.nan, dtype=torch.float64)
    forced_weights[0, 1] = functional.one_hot(torch.tensor(3), S)
    context, weights = attention(query, memory, forced_weights=forced_weights)
    assert torch.equal(context[0, 1], values[0, 3])
    assert torch.equal(weights[0, 1], forced_weights[0, 1])
    assert torch.equal(weights[1], free[1])
    assert torch.equal(weights[0, 0], free[0, 0])
    assert force_weights(free, None) is free


@pytest.mark.parametrize("kind", ["local-m", "local-p"])
def test_the_local_window_is_luongs(kind):
    half_width = 2
    query, keys = randn(B, T, D), randn(B, S, D)
    window = LocalWindow(half_width, D if kind == "local-p" else None).double()
    attention = Attention(DotScore(), window=window)
    memory = attention.remember(keys, keys, MASK)
    position = torch.tensor([[0, 1, 2], [3, 4, 5]])
    contexts, weights = attention(query, memory, past=PastAttention(position))
    for b, t in np.ndindex(B, T):
        n, q = LENGTHS[b], query[b, t].numpy()
        visible = keys[b, :n].numpy()
        p = float(position[b, t]) + 1
        if kind == "local-p":
            W_p, v_p = letters.array(window.W_p.weight), letters.array(window.v_p)
            p = oracle.local_p_center(q, n, W_p=W_p, v_p=v_p)
        α = oracle.local_window(np.array([q @ k for k in visible]), p, half_width)
        letters.assert_close(weights[b, t, :n], α)
        letters.assert_close(contexts[b, t], α @ visible)
        assert not weights[b, t, n:].any()
    assert weights[weights > 0].min() < 1
    if kind == "local-m":
        # by its sixth word the window has left a source of two
        assert not weights[1, 2].any()


def test_queries_without_a_past_are_the_first_positions():
    query, keys = randn(B, T, D), randn(B, S, D)
    attention = Attention(DotScore(), window=LocalWindow(1))
    memory = attention.remember(keys, keys, MASK)
    expected = attention(query, memory, past=PastAttention(torch.arange(T).expand(B, T)))
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
        letters.assert_close(contexts[b], c)
        letters.assert_close(weights[b, :, :n], α)


def test_a_score_with_coverage_requires_the_coverage():
    attention = Attention(AdditiveScore(D, D, A, coverage=True).double())
    memory = attention.remember(randn(B, S, D), randn(B, S, D))
    with pytest.raises(InputError, match="score uses coverage, but there are no earlier weights"):
        attention(randn(B, T, D), memory)


def test_half_precision_counts_far_positions_right():
    query, keys = randn(1, 1, D), randn(1, 1009, D)
    attention = Attention(DotScore(), window=LocalWindow(2))
    past = PastAttention(torch.tensor([[514]]))
    for dtype in (torch.float64, torch.bfloat16):
        memory = attention.remember(keys.to(dtype), keys.to(dtype))
        _, weights = attention(query.to(dtype), memory, past=past)
        assert weights[0, 0].nonzero()[:, 0].tolist() == [512, 513, 514, 515, 516]


def test_forced_weights_may_have_another_dtype():
    query, keys = randn(B, T, D).bfloat16(), randn(B, S, D).bfloat16()
    attention = Attention(DotScore())
    forced_weights = torch.full((B, T, S), 1 / S)
    context, _ = attention(query, attention.remember(keys, keys), forced_weights=forced_weights)
    assert context.dtype == torch.bfloat16
