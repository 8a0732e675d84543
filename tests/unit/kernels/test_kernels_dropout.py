"""Dropout of our own: the share, the scale, the same mask back, and torch's randomness alone."""

import pytest
import torch

from regard import kernels
from regard.kernels.cpu.dropout import NUM_LEVELS, dropout
from regard.kernels.dispatch import Call
from regard.nn.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 0.001])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_a_fraction_is_dropped_and_the_rest_is_scaled(p, dtype):
    torch.manual_seed(0)
    x = torch.ones(499, 401, dtype=dtype)
    y = dropout(x, p=p)
    share = float((y == 0).double().mean())
    # five standard deviations of the mean of so many draws
    assert abs(share - p) < 5 * (p * (1 - p) / x.numel()) ** 0.5 + 1 / NUM_LEVELS
    nonzero = y[y != 0]
    torch.testing.assert_close(nonzero, torch.full_like(nonzero, 1 / (1 - p)), rtol=1e-2, atol=0)
    assert y.dtype == dtype


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    dropped = dropout(torch.ones(1 << 20), p=0.5) == 0
    for far in (1, 2, 3, 4, 8, 1024):
        both = (dropped[far:] & dropped[:-far]).double().mean()
        assert abs(float(both) - 0.25) < 0.005, far


def test_gradients_have_the_dropout_mask_of_the_output():
    torch.manual_seed(0)
    x = torch.randn(30, 7, dtype=torch.float64, requires_grad=True)
    y = dropout(x, p=0.3)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(grad == 0, y == 0)
    torch.testing.assert_close(y.detach(), x.detach() * grad)


def test_the_dropout_mask_depends_on_torchs_seed_and_the_call_count():
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = dropout(x, p=0.5), dropout(x, p=0.5)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, p=0.5), first)
    assert torch.equal(dropout(x, p=0.5), second)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(0, 5), (1,), (3, 1, 7), (2, 3, 5, 4)])
def test_any_shape_works_including_noncontiguous_ones(shape):
    torch.manual_seed(1)
    assert dropout(torch.ones(shape), p=0.4).shape == shape
    transposed = torch.arange(12.0).view(3, 4).T
    y = dropout(transposed, p=0.5)
    nonzero = y != 0
    torch.testing.assert_close(y[nonzero], 2 * transposed[nonzero], rtol=1e-4, atol=0)


def test_layers_drop_in_training_alone():
    layer, x = Dropout(0.5), torch.ones(100)
    assert not torch.equal(layer(x), x)
    assert layer.eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_a_gpu_uses_the_librarys_dropout():
    select = kernels.OPS["dropout"].select
    assert select(Call("cpu", torch.float32)).run is dropout
    assert select(Call("cuda", torch.float32)).name == "torch.nn.functional.dropout"
