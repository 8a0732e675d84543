"""The same numbers on a GPU: run where there is one, `pytest -m gpu`."""

import pytest
import torch

import presets as small
from regard.models import PRESETS
from regard.nn.attention import Attention
from regard.nn.scores import ScaledDotScore

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_computes_on_cuda_what_it_computes_on_the_cpu(name):
    model = small.model(name)
    _, _, given = small.batch(model)
    here = model(*given, need_weights=True)
    there = model.cuda()(*(part.cuda() for part in given), need_weights=True)
    assert (there.logits.cpu() - here.logits).abs().max() <= 1e-9
    if here.weights is not None:
        assert (there.weights.cpu() - here.weights).abs().max() <= 1e-9
    there.logits.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_preset_steps_on_cuda_as_it_unrolls(name, dtype):
    model = small.model(name, dtype=dtype).cuda()
    _, _, given = small.batch(model)
    source, mask, fed = (part.cuda() for part in given)
    unrolled = model(source, mask, fed).logits
    memory, state = model.start(source, mask)
    for t in range(fed.shape[1]):
        state, step = model.step(state, fed[:, t], memory)
        bound = 1e-4 if dtype == torch.float32 else 0.25
        assert (step.logits - unrolled[:, t]).abs().max() <= bound


def test_a_row_with_nothing_visible_is_zero_in_the_fused_attention_too():
    attention = Attention(ScaledDotScore())
    for dtype in (torch.float32, torch.bfloat16):
        query, keys = (torch.randn(2, 2, n, 32, device="cuda", dtype=dtype) for n in (5, 7))
        keys.requires_grad_()
        mask = torch.ones(2, 1, 7, dtype=torch.bool, device="cuda")
        mask[0] = False
        context, _ = attention(query, attention.remember(keys, keys, mask), need_weights=False)
        assert not context[0].any()
        assert context[1].any()
        context.sum().backward()
        assert keys.grad.isfinite().all()
