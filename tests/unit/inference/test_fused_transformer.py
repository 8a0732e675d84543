"""The fused step of a Transformer decoder is the step of the model itself."""

from dataclasses import replace

import pytest
import torch

import presets as small
from letters import assert_within
from regard.inference import kv_cache
from regard.inference.prepare import choose_step
from regard.models import build, preset
from regard.special_tokens import BOS

D, H, L = 8, 2, 3


def build_model(pre_norm=False, **decoder):
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


def start_both(built):
    torch.manual_seed(1)
    mask = torch.arange(6) < torch.tensor([6, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    fused_step, _ = choose_step(built)
    fused = fused_step(built)
    return fused, *(m.start(source, mask) for m in (built, fused))


@pytest.mark.parametrize("pre_norm", [False, True])
def test_steps_are_those_of_the_model_if_rows_are_reordered(pre_norm, monkeypatch):
    monkeypatch.setattr(kv_cache, "GROWTH", 3)
    built = build_model(pre_norm)
    fused, (memory, state), (fused_memory, fused_state) = start_both(built)
    tokens = torch.full((4,), BOS)
    for step in range(8):
        state, expected = built.step(state, tokens, memory)
        fused_state, scored = fused.step(fused_state, tokens, fused_memory)
        assert_within(scored.logits, expected.logits, 1e-12)
        assert_within(scored.weights, expected.weights, 1e-12)
        assert torch.equal(fused_state.position, state.position)
        if step in (2, 3, 6):
            # as a beam gathers them: one twice, one not at all
            index = torch.tensor([2, 0, 0, 3])
            state, memory = state.gather(index), memory.gather(index)
            fused_state, fused_memory = fused_state.gather(index), fused_memory.gather(index)
        tokens = torch.randint(4, small.V_Y, (4,))


def test_forced_weights_are_used():
    built = build_model()
    fused, (memory, state), (fused_memory, fused_state) = start_both(built)
    pins = torch.full((4, L, H, 6), torch.nan, dtype=torch.float64)
    pins[0, 1] = torch.eye(6)[2]
    tokens = torch.full((4,), BOS)
    _, expected = built.step(state, tokens, memory, forced_weights=pins)
    _, scored = fused.step(fused_state, tokens, fused_memory, forced_weights=pins)
    assert_within(scored.logits, expected.logits, 1e-12)
    assert torch.equal(scored.weights[0, 1, 0], torch.eye(6, dtype=torch.float64)[2])


@pytest.mark.parametrize("positions", ["rotary", "relative"])
def test_other_transformers_are_stepped_by_the_reference(positions):
    built = build_model(attention_positions=positions)
    assert choose_step(built) == (None, f"its positions are {positions}")
    assert choose_step(build_model().train())[0] is None
