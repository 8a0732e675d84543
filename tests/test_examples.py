"""The examples compute what they say, and draw."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from examples import kernel_regression, positions, self_attention, why_sqrt
from regard.nn.scores import DotScore, GaussianScore, ScaledDotScore

ROOT = Path(__file__).parents[1]


def test_attention_pooling_is_kernel_regression():
    points = kernel_regression.noisy_points()
    queries = kernel_regression.query_grid()
    estimate, weights = kernel_regression.pool(GaussianScore(2.0).double(), queries, points)
    x, y = points.x.numpy(), points.y.numpy()
    kernel = np.exp(-0.5 * (2.0 * (queries.numpy()[:, None] - x)) ** 2)
    np.testing.assert_allclose(estimate, (kernel @ y) / kernel.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(weights, kernel / kernel.sum(axis=1, keepdims=True), atol=1e-12)


def test_a_width_of_zero_is_the_plain_average():
    points = kernel_regression.noisy_points()
    queries = kernel_regression.query_grid()
    estimate, weights = kernel_regression.pool(GaussianScore(0.0).double(), queries, points)
    assert torch.equal(weights, torch.full_like(weights, 1 / 50))
    np.testing.assert_allclose(estimate, float(points.y.mean()), atol=1e-12)


def test_a_learned_width_beats_a_fixed_one_which_beats_the_average():
    points = kernel_regression.noisy_points()
    learned = kernel_regression.learn_width(points)
    errors = [
        float(kernel_regression.leave_one_out_error(score.double(), points).detach())
        for score in (GaussianScore(0.0), GaussianScore(1.0), learned)
    ]
    assert errors[0] > errors[1] > 2 * errors[2]
    # no width does better: a look at every width within a hundredth
    widths = [GaussianScore(w / 100).double() for w in range(10, 1000, 10)]
    best = min(float(kernel_regression.leave_one_out_error(score, points)) for score in widths)
    assert errors[2] <= best + 1e-4


@pytest.mark.parametrize("word", range(len(self_attention.WORDS)))
def test_five_steps_for_one_word_are_its_row_of_the_matrices(word):
    steps, matrices = self_attention.both_forms(word)
    for one, row in (
        (steps.query, matrices.queries[word]),
        (steps.scores, matrices.scores[word]),
        (steps.scaled, matrices.scaled[word]),
        (steps.weights, matrices.weights[word]),
        (steps.output, matrices.output[word]),
    ):
        assert (one - row).abs().max() <= 1e-14


def test_the_softmaxs_gradient_is_autograds():
    scores = torch.randn(7, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), scores)
    gradient = why_sqrt.softmax_gradient(scores.softmax(dim=-1))
    assert (gradient - jacobian).abs().max() < 1e-14


def test_unscaled_scores_spread_and_gradients_vanish():
    plain = why_sqrt.measure(DotScore(), widths=(1, 1024))
    scaled = why_sqrt.measure(ScaledDotScore(), widths=(1, 1024))
    assert abs(plain.variances[-1] / 1024 - 1) < 0.05
    assert abs(scaled.variances[-1] - 1) < 0.05
    assert plain.medians[-1] < 1e-3
    assert scaled.medians[-1] > 0.2


def test_a_shift_rotates_positions_and_products_depend_on_distance_alone():
    P = positions.position_table()
    np.testing.assert_allclose(positions.shift(P, 3)[:-3], P[3:], atol=1e-12)
    products = positions.dot_products(P)
    for distance in range(1, 20):
        np.testing.assert_allclose(np.diff(np.diagonal(products, distance)), 0, atol=1e-11)


def test_the_pictures_are_drawn(tmp_path):
    command = [sys.executable, "-m", "examples", "--out", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.endswith("Next: open the pictures, then read docs/attention.md\n")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["kernel_regression.png", "positions.png", "self_attention.png", "why_sqrt.png"]
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 20_000
