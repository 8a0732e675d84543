"""Positions against their oracles, and what makes each of them useful."""

import numpy as np
import pytest
import torch

import letters
from oracle import positions as oracle
from regard.nn.positions import LearnedPositions, RotaryPositions, SinusoidalPositions

B, T, D, K = 2, 5, 7, 6


@pytest.mark.parametrize("size", [D, K])
def test_sinusoidal_positions_are_the_papers(size):
    positions = SinusoidalPositions(size, 101)
    letters.assert_close(positions(torch.arange(101)), oracle.sinusoidal(101, size))


def test_sinusoidal_positions_do_not_depend_on_the_models_type():
    exact = oracle.sinusoidal(1000, K)
    rounded = SinusoidalPositions(K, 1000).float()(torch.arange(1000))
    assert rounded.dtype == torch.float32
    np.testing.assert_array_equal(rounded, exact.astype(np.float32))


@pytest.mark.parametrize("delta", [1, 13])
def test_a_shift_of_sinusoidal_positions_is_one_rotation(delta):
    P = SinusoidalPositions(K, 101)(torch.arange(101)).numpy()
    R = oracle.rotation_of(delta, K)
    np.testing.assert_allclose(R @ R.T, np.eye(K), atol=1e-12)
    for i in range(101 - delta):
        letters.assert_close(P[i + delta], R @ P[i])


def test_learned_positions_are_rows_of_a_matrix():
    positions = LearnedPositions(D, 11)
    asked = torch.tensor([[3, 1], [0, 10]])
    assert torch.equal(positions(asked)[1, 1], positions.table[10])
    assert torch.equal(positions(asked)[0, 0], positions.table[3])


@pytest.mark.parametrize("offset", [0, 3])
def test_rotary_positions_turn_adjacent_pairs(offset):
    x = torch.randn(B, T, K, dtype=torch.float64)
    turned = RotaryPositions(K)(x, offset)
    for b, t in np.ndindex(B, T):
        letters.assert_close(turned[b, t], oracle.rotate(x[b, t].numpy(), offset + t))


def test_a_rotary_product_depends_on_the_distance_alone():
    rotary = RotaryPositions(K)
    q, k = torch.randn(1, K, dtype=torch.float64), torch.randn(1, K, dtype=torch.float64)
    products = {i: rotary(q, i + 4) @ rotary(k, i).T for i in (0, 7, 90)}
    letters.assert_close(products[7], letters.array(products[0]))
    letters.assert_close(products[90], letters.array(products[0]))
    assert (rotary(q, 5) @ rotary(k, 0).T - products[0]).abs() > 1e-3
