"""An encoder by table lookup encodes what the encoder itself does."""

from dataclasses import replace

import pytest
import torch

import presets as small
from letters import assert_within
from regard.config.model import EmbeddingConfig, RecurrentEncoderConfig
from regard.inference import table_encoder
from regard.inference.step_decoder import ReferenceStepDecoder
from regard.inference.table_encoder import TableEncoder
from regard.models import build, preset
from regard.search import SearchRequest, search
from search_options import wanted


def build_model(embedding=None, **encoder):
    sizes = {"embedding_size": small.E, "hidden_size": small.D, "align_size": small.A}
    config = preset("bahdanau2015")(**sizes, readout_size=small.R)
    config = replace(
        config,
        source=embedding or EmbeddingConfig(size=small.E),
        encoder=RecurrentEncoderConfig(hidden_size=small.D, **encoder),
        summary="last",
    )
    torch.manual_seed(0)
    built = build(config, small.V_X, small.V_Y).double().eval().requires_grad_(False)
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return built


@pytest.mark.parametrize("cell", ["gru_before", "gru_after", "lstm"])
@pytest.mark.parametrize(
    ("bidirectional", "turned"), [(False, False), (False, True), (True, False)]
)
@pytest.mark.parametrize("bias", [False, True])
def test_the_prepared_encoder_equals_the_encoder(cell, bidirectional, turned, bias):
    built = build_model(cell=cell, bidirectional=bidirectional, reversed_source=turned, bias=bias)
    torch.manual_seed(1)
    mask = torch.arange(5) < torch.tensor([5, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    expected = built.encode(source, mask)
    assert TableEncoder.why_not(built) is None
    encoded = ReferenceStepDecoder(built, TableEncoder(built)).encode(source, mask)
    for name in ("keys", "values", "last", "summary"):
        assert_within(getattr(encoded, name), getattr(expected, name), 1e-12)
    assert_within(encoded.states[0].h, expected.states[0].h, 1e-12)
    if cell == "lstm":
        assert_within(encoded.states[0].c, expected.states[0].c, 1e-12)
    assert torch.equal(encoded.mask, mask)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"num_layers": 2}, "it has 2 layers"),
        ({"cell": "elman"}, "its cell is ElmanCell"),
        (
            {"embedding": EmbeddingConfig(size=small.E, positions="sinusoidal")},
            "its embedding has positions",
        ),
    ],
    ids=str,
)
def test_other_encoders_are_refused_and_why(other, reason):
    assert TableEncoder.why_not(build_model(**other)) == reason


def test_many_tokens_and_training_are_refused(monkeypatch):
    built = build_model()
    assert TableEncoder.why_not(built) is None
    built.source_embedding.train()
    assert TableEncoder.why_not(built) == "the model is in training mode"
    built.eval()
    monkeypatch.setattr(table_encoder, "MAX_TABLE_TOKENS", small.V_X - 1)
    assert TableEncoder.why_not(built) == f"it has {small.V_X} tokens, more than {small.V_X - 1}"


def test_a_search_notices_that_the_encoder_changed():
    built = build_model().float()
    request, options = SearchRequest((5, 9, 4)), wanted(max_length=4)
    before = search([built], [request], options)[0][0]
    built.encoder.stack.layers[0].W.weight.mul_(-1)
    after = search([built], [request], options)[0][0]
    assert before.scores != after.scores
