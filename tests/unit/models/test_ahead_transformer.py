"""A Transformer whose caches lie ready takes the same steps as the model itself."""

from dataclasses import replace

import pytest
import torch

import presets as small
from letters import assert_within
from regard.models import ahead_transformer as module
from regard.models import build, preset
from regard.models.ahead import ahead
from regard.special_tokens import BOS

D, H, L = 8, 2, 3


def made(pre_norm=False, **decoder):
    sizes = {"model_size": D, "feed_forward_size": 12, "num_heads": H, "num_layers": L}
    config = preset("vaswani2017")(
        **sizes, pre_norm=pre_norm, tied_embeddings="none", max_length=64
    )
    config = replace(config, decoder=replace(config.decoder, **decoder))
    torch.manual_seed(0)
    built = build(config, small.V_X, small.V_Y).double().eval().requires_grad_(False)
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return built


def beginnings(built):
    torch.manual_seed(1)
    mask = torch.arange(6) < torch.tensor([6, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    stepper = ahead(built)
    return stepper, *(m.start(source, mask) for m in (built, stepper))


@pytest.mark.parametrize("pre_norm", [False, True])
def test_steps_are_those_of_the_model_also_where_rows_change_places(pre_norm, monkeypatch):
    monkeypatch.setattr(module, "ROOM", 3)
    built = made(pre_norm)
    stepper, (memory, state), (fast, moved) = beginnings(built)
    words = torch.full((4,), BOS)
    for step in range(8):
        state, expected = built.step(state, words, memory)
        moved, found = stepper.step(moved, words, fast)
        assert_within(found.logits, expected.logits, 1e-12)
        assert_within(found.weights, expected.weights, 1e-12)
        assert torch.equal(moved.position, state.position)
        if step in (2, 3, 6):
            # as a beam takes them: one twice, one not at all
            index = torch.tensor([2, 0, 0, 3])
            state, memory = state.gather(index), memory.gather(index)
            moved, fast = moved.gather(index), fast.gather(index)
        words = torch.randint(4, small.V_Y, (4,))


def test_imposed_weights_are_used():
    built = made()
    stepper, (memory, state), (fast, moved) = beginnings(built)
    pins = torch.full((4, L, H, 6), torch.nan, dtype=torch.float64)
    pins[0, 1] = torch.eye(6)[2]
    words = torch.full((4,), BOS)
    _, expected = built.step(state, words, memory, imposed=pins)
    _, found = stepper.step(moved, words, fast, imposed=pins)
    assert_within(found.logits, expected.logits, 1e-12)
    assert torch.equal(found.weights[0, 1, 0], torch.eye(6, dtype=torch.float64)[2])


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_of_other_transformers_there_is_none(positions):
    assert ahead(made(attention_positions=positions)) is None
    assert ahead(made().train()) is None
