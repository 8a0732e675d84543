"""A model whose products are done ahead takes the same steps as the model itself."""

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
from regard.models import ahead as module
from regard.models import build
from regard.models.ahead import PLACES, ahead
from regard.special_tokens import BOS

E, D = small.E, 2 * small.D
READOUTS = {
    "linear": ("new_state",),
    "tanh": ("new_state", "context"),
    "maxout": ("old_state", "previous", "context"),
}


def made(kind, cell, score, readout, *, embedding=None, attention=None, **decoder):
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


def steps_agree(built, *, width=6, imposed=False):
    """Walk both along the same words; logits, weights and states are the same but for rounding."""
    stepper = ahead(built)
    assert stepper is not None
    torch.manual_seed(1)
    mask = torch.arange(width) < torch.tensor([width, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    (memory, state), (fast, moved) = (m.start(source, mask) for m in (built, stepper))
    words = torch.full((4,), BOS)
    for _ in range(4):
        pins = None
        if imposed:
            pins = torch.full((4, 1, 1, width), torch.nan, dtype=torch.float64)
            pins[0] = torch.eye(width)[1]
        state, expected = built.step(state, words, memory, imposed=pins)
        moved, found = stepper.step(moved, words, fast, imposed=pins)
        assert_within(found.logits, expected.logits, 1e-12)
        assert_within(found.weights, expected.weights, 1e-12)
        assert_within(moved.shown, state.shown, 1e-12)
        assert torch.equal(moved.position, state.position)
        words = torch.randint(4, small.V_Y, (4,))


@pytest.mark.parametrize(("readout", "bias"), [("linear", True), ("tanh", False), ("maxout", True)])
@pytest.mark.parametrize("cell", ["gru_before", "gru_after", "lstm"])
@pytest.mark.parametrize("score", ["additive", "concat", "dot", "scaled_dot", "bilinear"])
@pytest.mark.parametrize("kind", ["looks first", "moves first", "is not fed"])
def test_steps_are_those_of_the_model(kind, score, cell, bias, readout):
    decoder = BahdanauDecoderConfig if kind == "looks first" else LuongDecoderConfig
    options = {} if kind == "looks first" else {"input_feeding": kind == "moves first"}
    read = ReadoutConfig(kind=readout, inputs=READOUTS[readout], size=small.R, bias=bias)
    steps_agree(made(decoder, cell, score, read, bias=bias, **options))


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
@pytest.mark.parametrize("width", [PLACES, PLACES + 1])
def test_steps_are_those_of_the_model_for_longer_sources(kind, width):
    read = ReadoutConfig(kind="tanh", inputs=("previous", "context", "new_state"))
    steps_agree(made(kind, "gru_before", "additive", read), width=width)


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
def test_steps_are_those_of_the_model_for_many_words(kind, monkeypatch):
    monkeypatch.setattr(module, "WORDS", small.V_Y - 1)
    read = ReadoutConfig(kind="maxout", inputs=("previous", "new_state"))
    steps_agree(made(kind, "gru_after", "additive", read))


@pytest.mark.parametrize("kind", [BahdanauDecoderConfig, LuongDecoderConfig])
def test_imposed_weights_are_used(kind):
    read = ReadoutConfig(kind="tanh", inputs=("context", "new_state"))
    steps_agree(made(kind, "gru_before", "dot", read), imposed=True)


@pytest.mark.parametrize(
    "other",
    [
        {"num_layers": 2},
        {"cell": "elman"},
        {"score": "location"},
        {"attention": {"coverage": True}},
        {"attention": {"window": "local_m"}},
        {"embedding": EmbeddingConfig(size=E, positions="sinusoidal")},
        {"readout": ReadoutConfig(inputs=("new_state", "context"))},
        {"kind": LuongDecoderConfig, "attentional": False, "input_feeding": False},
    ],
    ids=str,
)
def test_of_other_models_there_is_none(other):
    usual = {
        "kind": BahdanauDecoderConfig,
        "cell": "gru_before",
        "score": "additive",
        "readout": ReadoutConfig(kind="tanh"),
    }
    assert ahead(made(**usual)) is not None
    assert ahead(made(**{**usual, **other})) is None


def test_of_a_model_that_learns_there_is_none():
    read = ReadoutConfig(kind="tanh")
    assert ahead(made(BahdanauDecoderConfig, "gru_before", "additive", read).train()) is None
