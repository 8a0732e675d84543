"""The loss of a whole model, without its logits, against the loss of its logits."""

import pytest
import torch

import presets as small
from regard.nn.cross_entropy import label_smoothed_loss


def loss_of_logits(model, given, target, visible, smoothing):
    """In double precision: the sum over visible words of what smoothing leaves of −log p."""
    log_probs = model(*given).logits.log_softmax(dim=-1)
    right = -log_probs.gather(-1, target[..., None])[..., 0]
    each = (1 - smoothing) * right - smoothing * log_probs.mean(dim=-1)
    return each[visible].sum()


@pytest.mark.parametrize("name", small.SIZES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_and_its_gradients_are_those_of_the_logits(name, smoothing):
    model = small.model(name)
    _, _, given = small.batch(model)
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(small.V_Y, given[2].shape, generator=generator)
    visible = torch.arange(target.shape[1]) < torch.tensor([4, 6, 1])[:, None]
    found = model.loss(*given, target, visible, smoothing)
    expected = loss_of_logits(model, given, target, visible, smoothing)
    assert abs(found - expected) <= 1e-10
    slopes, others = (
        torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        for loss in (found, expected)
    )
    for (parameter, _), slope, other in zip(model.named_parameters(), slopes, others, strict=True):
        assert (slope is None) == (other is None), parameter
        if slope is not None:
            assert (slope - other).abs().max() <= 1e-10, parameter
    # and what validations count is the same
    whole = label_smoothed_loss(model(*given).logits, target, visible, smoothing)
    assert abs(whole - found) <= 1e-4


def test_dropout_of_a_readout_acts_in_training_alone():
    model = small.model("bahdanau2015", dropout=0.5)
    _, _, given = small.batch(model)
    target, visible = given[2], torch.ones_like(given[2], dtype=torch.bool)
    assert model.loss(*given, target, visible) == model.loss(*given, target, visible)
    model.readout.train()
    assert model.loss(*given, target, visible) != model.loss(*given, target, visible)


@pytest.mark.parametrize("name", small.SIZES)
def test_r_drop_without_dropout_equals_plain_cross_entropy(name):
    model = small.model(name)
    _, _, given = small.batch(model)
    target, visible = given[2], torch.ones_like(given[2], dtype=torch.bool)
    once, twice = (model.loss(*given, target, visible, 0.1, rdrop_alpha=x) for x in (0.0, 5.0))
    assert abs(once - twice) <= 1e-10


def test_r_drop_reduces_the_divergence_of_two_passes():
    model = small.model("bahdanau2015", dropout=0.5).train()
    _, _, given = small.batch(model)
    target, visible = given[2], torch.ones_like(given[2], dtype=torch.bool)
    losses = []
    for rdrop_alpha in (1e-9, 1.0, 3.0):
        torch.manual_seed(0)
        losses.append(model.loss(*given, target, visible, rdrop_alpha=rdrop_alpha).item())
    nothing, one, three = losses
    assert one > nothing + 1e-3
    assert three - nothing == pytest.approx(3 * (one - nothing), rel=1e-6)
