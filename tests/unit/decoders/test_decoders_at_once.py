"""Recurrent decoders whose whole line is one op, against the loop of their steps."""

import pytest
import torch

from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.decoders.base import unroll_by_steps
from regard.models import build, preset

E, D, A = 5, 7, 11
SCORES = ("additive", "concat", "dot", "scaled_dot", "bilinear")
CELLS = ("gru_before", "gru_after", "lstm")
SIZES = {
    "bahdanau2015": {"embedding_size": E, "hidden_size": D, "align_size": A, "readout_size": 3},
    "luong2015": {"embedding_size": E, "hidden_size": D, "num_layers": 1},
}


def decoder(kind, *, cell="gru_before", bias=True, train=False, **attention):
    """A decoder of one layer, in double precision, with random weights."""
    options = {"cell": cell, "hidden_size": D, "bias": bias}
    make = BahdanauDecoderConfig if kind == "bahdanau" else LuongDecoderConfig
    words = EmbeddingConfig(size=E)
    config = ModelConfig(
        source=words,
        target=words,
        encoder=RecurrentEncoderConfig(cell=cell, hidden_size=D),
        summary="last",
        decoder=make(
            initial_state="tanh", attention=AttentionConfig(align_size=A, **attention), **options
        ),
        readout=ReadoutConfig(),
    )
    torch.manual_seed(0)
    built = build(config, 13, 17).double().train(train)
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return built


def lines(model):
    """Three sources, of which one is empty, and five embedded words for each."""
    source = torch.tensor([[4, 5, 6], [7, 0, 0], [0, 0, 0]])
    encoded = model.encode(source, source > 0)
    words = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 9, 4, 5], [1, 6, 4, 4, 4]])
    return encoded, model.target_embedding(words)


def everything(model, unroll):
    """What a line gives, and the gradient of each parameter."""
    encoded, previous = lines(model)
    memory, state = model.decoder.start(encoded)
    end, step = unroll(model.decoder, state, previous, memory)
    made = [step.old_state, step.new_state, step.context, step.weights, end.output, end.layers[0].h]
    made += [] if end.layers[0].c is None else [end.layers[0].c]
    assert end.coverage is None
    assert end.position.tolist() == [5, 5, 5]
    generator = torch.Generator().manual_seed(1)
    weighed = [
        (part * torch.randn(part.shape, generator=generator, dtype=part.dtype)).sum()
        for part in made
    ]
    parts = {"encoder", "decoder", "target_embedding"}
    learned = {n: p for n, p in model.named_parameters() if n.split(".")[0] in parts}
    total = torch.stack(weighed).sum()
    slopes = torch.autograd.grad(total, list(learned.values()), allow_unused=True)
    return made, dict(zip(learned, slopes, strict=True))


def at_once(decoder, *given):
    return decoder.unroll(*given)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_the_fused_recurrence_equals_its_steps_with_every_gradient(kind, cell, score):
    model = decoder(kind, cell=cell, score=score)
    assert model.decoder.why_stepwise is None
    (made, slopes), (steps, expected) = (
        everything(model, at_once),
        everything(model, unroll_by_steps),
    )
    for one, other in zip(made, steps, strict=True):
        assert one.shape == other.shape
        assert (one - other).abs().max() <= 1e-12
    for name, slope in expected.items():
        assert (slopes[name] is None) == (slope is None), name
        if slope is not None:
            assert (slopes[name] - slope).abs().max() <= 1e-11 * max(1, slope.abs().max()), name


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_a_decoder_without_biases_runs_fused_too(kind):
    model = decoder(kind, bias=False, score="additive")
    made, steps = everything(model, at_once)[0], everything(model, unroll_by_steps)[0]
    for one, other in zip(made, steps, strict=True):
        assert (one - other).abs().max() <= 1e-12


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_an_empty_source_has_no_weights_and_no_context(kind):
    model = decoder(kind, score="bilinear")
    encoded, previous = lines(model)
    memory, state = model.decoder.start(encoded)
    step = model.decoder.unroll(state, previous, memory)[1]
    assert not step.weights[2].any()
    assert not step.context[2].any()
    assert step.weights[:2].sum(dim=-1).allclose(torch.ones(2, 5, 1, 1, dtype=torch.float64))


def calls(monkeypatch, model):
    """How many steps a line of five words takes."""
    count = 0
    step = type(model.decoder).step

    def counted(*given, **options):
        nonlocal count
        count += 1
        return step(*given, **options)

    monkeypatch.setattr(type(model.decoder), "step", counted)
    encoded, previous = lines(model)
    memory, state = model.decoder.start(encoded)
    model.decoder.unroll(state, previous, memory)
    return count


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_attention_dropout_runs_step_by_step_in_training_alone(kind, monkeypatch):
    sentence = "its weights are dropped in training"
    model = decoder(kind, score="additive", dropout=0.5, train=True)
    assert model.decoder.why_stepwise == sentence
    assert calls(monkeypatch, model) == 5
    assert model.eval().decoder.why_stepwise is None
    monkeypatch.undo()
    assert calls(monkeypatch, model) == 0


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("bahdanau2015", {"num_layers": 2}, "it has 2 layers"),
        ("bahdanau2015", {"cell": "elman"}, "its cell is ElmanCell"),
        ("luong2015", {"score": "location"}, "its score is LocationScore"),
        ("luong2015", {"score": "gaussian"}, "its score is GaussianScore"),
        ("luong2015", {"window": "local_m"}, "it has a local window"),
        ("luong2015", {"num_layers": 3}, "it has 3 layers"),
        ("luong2015", {"num_layers": 3, "input_feeding": False}, None),
        ("luong2015", {}, None),
        ("bahdanau2015", {}, None),
    ],
)
def test_a_decoder_explains_why_it_runs_step_by_step(name, options, sentence):
    model = build(preset(name)(**{**SIZES[name], **options}), 13, 17)
    assert model.decoder.why_stepwise == sentence


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_coverage_and_forced_weights_run_step_by_step(kind, monkeypatch):
    model = decoder(kind, score="additive", coverage=True)
    assert model.decoder.why_stepwise == "its score uses coverage"
    assert calls(monkeypatch, model) == 5
    monkeypatch.undo()

    model = decoder(kind, score="additive")
    encoded, previous = lines(model)
    memory, state = model.decoder.start(encoded)
    forced_weights = torch.full((3, 5, 1, 1, 3), torch.nan, dtype=torch.float64)
    forced_weights[0, 2] = torch.tensor([0.0, 0.0, 1.0])
    step = model.decoder.unroll(state, previous, memory, forced_weights=forced_weights)[1]
    assert step.weights[0, 2, 0, 0].tolist() == [0.0, 0.0, 1.0]
    assert (step.context[0, 2] - memory.values[0, 2]).abs().max() <= 1e-15


def test_a_decoder_that_feeds_a_plain_state_runs_step_by_step():
    model = decoder("luong", score="additive")
    model.decoder.W_c = None
    assert model.decoder.why_stepwise == "it feeds a state that is not attentional"


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_the_fused_recurrence_in_bfloat16_stays_near_float32(kind):
    model = decoder(kind, cell="lstm", score="additive").float()

    def shown():
        encoded, previous = lines(model)
        memory, state = model.decoder.start(encoded)
        return model.decoder.unroll(state, previous, memory)[1].new_state

    exact = shown()
    with torch.autocast("cpu", torch.bfloat16):
        rough = shown()
    assert rough.dtype == torch.bfloat16
    assert (rough - exact).norm() <= 0.02 * exact.norm()
