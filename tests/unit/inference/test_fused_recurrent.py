"""The fused steps of Bahdanau's and Luong's decoders are the steps of the model itself."""

import pytest
import torch

import presets as small
from letters import assert_within
from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.inference import fused_recurrent
from regard.inference.fused_recurrent import MAX_PROJECTED_LENGTH, FusedBahdanauStep
from regard.inference.prepare import choose_step
from regard.models import build
from regard.special_tokens import BOS

E, D = small.E, 2 * small.D
READOUTS = {
    "linear": ("new_state",),
    "tanh": ("new_state", "context"),
    "maxout": ("old_state", "previous", "context"),
}


def build_model(kind, cell, score, readout, *, embedding=None, attention=None, **decoder):
    config = ModelConfig(
        source=EmbeddingConfig(size=E),
        target=embedding or EmbeddingConfig(size=E),
        # both directions: keys as wide as a state, so that every score can ask
        encoder=RecurrentEncoderConfig(hidden_size=small.D, bidirectional=True),
        summary="backward",
        decoder=kind(
            hidden_size=D,
            cell=cell,
            attention=AttentionConfig(score=score, align_size=small.A, **(attention or {})),
            **decoder,
        ),
        readout=readout,
    )
    torch.manual_seed(0)
    built = build(config, small.V_X, small.V_Y).double().eval().requires_grad_(False)
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return built


def assert_steps_agree(built, *, width=6, forced_weights=False):
    """Step both along the same tokens: logits, weights and states differ by rounding alone."""
    fused_step, _ = choose_step(built)
    fused = fused_step(built)
    torch.manual_seed(1)
    mask = torch.arange(width) < torch.tensor([width, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    memory, state = built.start(source, mask)
    fused_memory, fused_state = fused.start(source, mask)
    tokens = torch.full((4,), BOS)
    for _ in range(4):
        pins = None
        if forced_weights:
            pins = torch.full((4, 1, 1, width), torch.nan, dtype=torch.float64)
            pins[0] = torch.eye(width)[1]
        state, expected = built.step(state, tokens, memory, forced_weights=pins)
        fused_state, scored = fused.step(fused_state, tokens, fused_memory, forced_weights=pins)
        assert_within(scored.logits, expected.logits, 1e-12)
        assert_within(scored.weights, expected.weights, 1e-12)
        assert_within(fused_state.output, state.output, 1e-12)
        assert torch.equal(fused_state.position, state.position)
        tokens = torch.randint(4, small.V_Y, (4,))


@pytest.mark.parametrize(("readout", "bias"), [("linear", True), ("tanh", False), ("maxout", True)])
@pytest.mark.parametrize("cell", ["gru_before", "gru_after", "lstm"])
@pytest.mark.parametrize("score", ["additive", "concat", "dot", "scaled_dot", "bilinear"])
@pytest.mark.parametrize("kind", ["looks first", "moves first", "is not fed"])
def test_steps_are_those_of_the_model(kind, score, cell, bias, readout):
    decoder = BahdanauDecoderConfig if kind == "looks first" else LuongDecoderConfig
    options = {} if kind == "looks first" else {"input_feeding": kind == "moves first"}
    read = ReadoutConfig(kind=readout, inputs=READOUTS[readout], size=small.R, bias=bias)
    assert_steps_agree(build_model(decoder, cell, score, read, bias=bias, **options))


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
@pytest.mark.parametrize("width", [MAX_PROJECTED_LENGTH, MAX_PROJECTED_LENGTH + 1])
def test_steps_are_those_of_the_model_for_longer_sources(kind, width):
    read = ReadoutConfig(kind="tanh", inputs=("previous", "context", "new_state"))
    assert_steps_agree(build_model(kind, "gru_before", "additive", read), width=width)


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
def test_steps_are_those_of_the_model_for_many_tokens(kind, monkeypatch):
    monkeypatch.setattr(fused_recurrent, "MAX_TABLE_TOKENS", small.V_Y - 1)
    read = ReadoutConfig(kind="maxout", inputs=("previous", "new_state"))
    assert_steps_agree(build_model(kind, "gru_after", "additive", read))


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
def test_forced_weights_are_used(kind):
    read = ReadoutConfig(kind="tanh", inputs=("context", "new_state"))
    assert_steps_agree(build_model(kind, "gru_before", "dot", read), forced_weights=True)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"num_layers": 2}, "it has 2 layers"),
        ({"cell": "elman"}, "its cell is ElmanCell"),
        ({"score": "location"}, "its score is LocationScore"),
        ({"attention": {"coverage": True}}, "its score uses coverage"),
        ({"attention": {"window": "local_m"}}, "it has a local window"),
        (
            {"embedding": EmbeddingConfig(size=E, positions="sinusoidal")},
            "its embedding has positions",
        ),
        (
            {"readout": ReadoutConfig(inputs=("new_state", "context"))},
            "its linear readout reads more than the new state",
        ),
        (
            {"kind": LuongDecoderConfig, "attentional": False, "input_feeding": False},
            "it is not attentional",
        ),
    ],
    ids=str,
)
def test_other_models_are_stepped_by_the_reference_and_why(other, reason):
    usual = {
        "kind": BahdanauDecoderConfig,
        "cell": "gru_before",
        "score": "additive",
        "readout": ReadoutConfig(kind="tanh"),
    }
    assert choose_step(build_model(**usual))[0] is FusedBahdanauStep
    assert choose_step(build_model(**{**usual, **other})) == (None, reason)


def test_a_model_in_training_mode_is_stepped_by_the_reference():
    read = ReadoutConfig(kind="tanh")
    built = build_model(BahdanauDecoderConfig, "gru_before", "additive", read).train()
    assert choose_step(built) == (None, "the model is in training mode")
