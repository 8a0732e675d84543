"""The loss, from its equation."""

import numpy as np
import pytest
import torch

from regard.nn.loss import summed_loss


def test_the_loss_is_smoothed_cross_entropy():
    rng = np.random.default_rng(0)
    logits, target = rng.standard_normal((2, 3, 5)), np.array([[1, 4, 0], [2, 2, 3]])
    mask = np.array([[True, True, False], [True, False, False]])
    expected = 0.0
    for b, t in np.argwhere(mask):
        log_p = logits[b, t] - np.log(np.exp(logits[b, t]).sum())
        expected += -0.9 * log_p[target[b, t]] - 0.1 * log_p.mean()
    loss = summed_loss(*map(torch.tensor, (logits, target, mask)), smoothing=0.1)
    assert float(loss) == pytest.approx(expected, rel=1e-6)
