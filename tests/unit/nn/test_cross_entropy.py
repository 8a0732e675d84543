"""The loss, from its equation."""

import numpy as np
import pytest
import torch

from regard.nn.cross_entropy import label_smoothed_loss, rdrop_loss


def test_the_loss_is_smoothed_cross_entropy():
    rng = np.random.default_rng(0)
    logits, target = rng.standard_normal((2, 3, 5)), np.array([[1, 4, 0], [2, 2, 3]])
    mask = np.array([[True, True, False], [True, False, False]])
    expected = 0.0
    for b, t in np.argwhere(mask):
        log_p = logits[b, t] - np.log(np.exp(logits[b, t]).sum())
        expected += -0.9 * log_p[target[b, t]] - 0.1 * log_p.mean()
    loss = label_smoothed_loss(*map(torch.tensor, (logits, target, mask)), smoothing=0.1)
    assert float(loss) == pytest.approx(expected, rel=1e-6)


def test_the_r_drop_loss_is_half_of_the_papers():
    rng = np.random.default_rng(0)
    logits, target = rng.standard_normal((4, 3, 5)), np.array([[1, 4, 0], [2, 2, 3]])
    mask = np.array([[True, True, False], [True, False, False]])
    expected = 0.0
    for b, t in np.argwhere(mask):
        # Liang et al. 2021, eq. 3 and 4, with two readings P_1 and P_2 of one line
        first, second = (x - np.log(np.exp(x).sum()) for x in (logits[b, t], logits[b + 2, t]))
        for log_p, log_q in ((first, second), (second, first)):
            expected += (-0.9 * log_p[target[b, t]] - 0.1 * log_p.mean()) / 2
            expected += 3.0 / 2 * (np.exp(log_p) * (log_p - log_q)).sum() / 2
    loss = rdrop_loss(*map(torch.tensor, (logits, target, mask)), smoothing=0.1, rdrop_alpha=3.0)
    assert float(loss) == pytest.approx(expected, rel=1e-6)


def test_gradients_of_the_r_drop_loss_agree_with_finite_differences():
    torch.manual_seed(0)
    logits = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[1, 4, 0], [2, 2, 3]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert torch.autograd.gradcheck(lambda x: rdrop_loss(x, target, mask, 0.1, 3.0), logits)
