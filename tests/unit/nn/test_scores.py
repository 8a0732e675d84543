"""Each score against its oracle, and the identities between them."""

import numpy as np
import pytest
import torch

import letters
from oracle import scores as oracle
from regard.errors import InputError
from regard.nn.scores import (
    AdditiveScore,
    BilinearScore,
    ConcatScore,
    DotScore,
    GaussianScore,
    LocationScore,
    ScaledDotScore,
)

B, T, S, D, M, A = 2, 3, 5, 7, 11, 13


def given(key_size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(B, T, D, dtype=torch.float64, generator=generator)
    return query, torch.randn(B, S, key_size, dtype=torch.float64, generator=generator)


def scored(score, query, keys, *more):
    return score(query, score.prepare(keys), *more)


def by_oracle(query, keys, function):
    query, keys = query.numpy(), keys.numpy()
    return [
        [[function(query[b, t], keys[b, s]) for s in range(S)] for t in range(T)] for b in range(B)
    ]


def test_the_additive_score_is_the_papers():
    score = AdditiveScore(D, M, A).double()
    names = {"W_q": score.W_q.weight, "W_k": score.W_k.weight, "v": score.v}
    names = {name: letters.array(p) for name, p in names.items()}
    query, keys = given(M)
    expected = by_oracle(query, keys, lambda q, k: oracle.additive(q, k, **names))
    letters.assert_close(scored(score, query, keys), expected)


def test_coverage_enters_the_additive_score_as_one_more_term():
    score = AdditiveScore(D, M, A, coverage=True).double()
    names = {"W_q": score.W_q.weight, "W_k": score.W_k.weight, "v": score.v, "w_c": score.w_c}
    names = {name: letters.array(p) for name, p in names.items()}
    query, keys = given(M)
    coverage = torch.rand(B, T, S, dtype=torch.float64)
    expected = [
        [
            [
                oracle.coverage(
                    query[b, t].numpy(), keys[b, s].numpy(), float(coverage[b, t, s]), **names
                )
                for s in range(S)
            ]
            for t in range(T)
        ]
        for b in range(B)
    ]
    letters.assert_close(scored(score, query, keys, coverage), expected)


def test_the_concat_score_is_the_papers():
    score = ConcatScore(D, M, A).double()
    W, v = letters.array(score.W.weight), letters.array(score.v)
    query, keys = given(M)
    expected = by_oracle(query, keys, lambda q, k: oracle.concat(q, k, W=W, v=v))
    letters.assert_close(scored(score, query, keys), expected)


def test_the_dot_score_is_a_product():
    query, keys = given(D)
    letters.assert_close(scored(DotScore(), query, keys), by_oracle(query, keys, oracle.dot))


def test_the_scaled_dot_score_divides_by_the_root_of_the_width():
    query, keys = given(D)
    letters.assert_close(
        scored(ScaledDotScore(), query, keys), by_oracle(query, keys, oracle.scaled_dot)
    )


def test_the_bilinear_score_is_the_papers():
    score = BilinearScore(D, M).double()
    W = letters.array(score.W.weight)
    query, keys = given(M)
    expected = by_oracle(query, keys, lambda q, k: oracle.bilinear(q, k, W=W))
    letters.assert_close(scored(score, query, keys), expected)


@pytest.mark.parametrize("learned", [False, True])
def test_the_gaussian_score_falls_with_the_square_of_the_distance(learned):
    query, keys = given(D)
    score = GaussianScore(0.7, learned=learned).double()
    assert len(list(score.parameters())) == learned
    # 0.7 was rounded to float32 when the score was made
    expected = by_oracle(query, keys, lambda q, k: oracle.gaussian(q, k, w=letters.array(score.w)))
    letters.assert_close(scored(score, query, keys), expected)


def test_the_location_score_takes_one_row_per_position():
    score = LocationScore(D, 17).double()
    W = letters.array(score.W.weight)
    query, keys = given(M)
    expected = [[oracle.location(query[b, t].numpy(), S, W=W) for t in range(T)] for b in range(B)]
    letters.assert_close(scored(score, query, keys), expected)


def test_a_source_longer_than_the_location_score_is_refused():
    _, keys = given(M)
    sentence = r"source has 5 positions, but the location score has 3 rows\. Set max_length = 5\."
    with pytest.raises(InputError, match=sentence):
        LocationScore(D, 3).prepare(keys)


def test_bilinear_with_a_product_of_matrices_is_a_dot_product_of_projections():
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((A, D)), rng.standard_normal((A, M))
    score = BilinearScore(D, M).double()
    score.W.weight.data = torch.tensor(U.T @ V)
    query, keys = given(M)
    projected = scored(DotScore(), query @ torch.tensor(U).T, keys @ torch.tensor(V).T)
    letters.assert_close(scored(score, query, keys), letters.array(projected))


def test_bilinear_with_the_identity_is_the_dot_score():
    score = BilinearScore(D, D).double()
    score.W.weight.data = torch.eye(D, dtype=torch.float64)
    query, keys = given(D)
    expected = letters.array(scored(DotScore(), query, keys))
    letters.assert_close(scored(score, query, keys), expected)


def test_concat_is_additive_under_the_block_split():
    concat, additive = ConcatScore(D, M, A).double(), AdditiveScore(D, M, A).double()
    additive.W_q.weight.data = concat.W.weight.data[:, :D]
    additive.W_k.weight.data = concat.W.weight.data[:, D:]
    additive.v.data = concat.v.data
    query, keys = given(M)
    expected = letters.array(scored(additive, query, keys))
    letters.assert_close(scored(concat, query, keys), expected)


def test_near_keys_are_distinguished_far_from_zero():
    score = GaussianScore()
    query = torch.tensor([[[1e4]]])
    near, far = scored(score, query, torch.tensor([[[1e4], [1e4 + 0.125]]]))[0, 0]
    assert float(near) == 0.0
    assert float(far) == -0.5 * 0.125**2
