"""An encoder whose words are rows of a table reads what the encoder itself reads."""

from dataclasses import replace

import pytest
import torch

import presets as small
from letters import assert_within
from regard.config.model import EmbeddingConfig, RecurrentEncoderConfig
from regard.models import build, preset
from regard.models import reader as module
from regard.models.reader import reader
from regard.search import Request, search
from search_options import wanted


def made(embedding=None, **encoder):
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
def test_it_reads_what_the_encoder_reads(cell, bidirectional, turned, bias):
    built = made(cell=cell, bidirectional=bidirectional, reversed_source=turned, bias=bias)
    torch.manual_seed(1)
    mask = torch.arange(5) < torch.tensor([5, 1, 3, 0])[:, None]
    source = torch.randint(4, small.V_X, mask.shape) * mask
    expected = built.encode(source, mask)
    built.reader = reader(built.encoder, built.source_embedding)
    assert built.reader is not None
    found = built.encode(source, mask)
    for name in ("keys", "values", "last", "summary"):
        assert_within(getattr(found, name), getattr(expected, name), 1e-12)
    assert_within(found.states[0].h, expected.states[0].h, 1e-12)
    if cell == "lstm":
        assert_within(found.states[0].c, expected.states[0].c, 1e-12)
    assert torch.equal(found.mask, mask)


@pytest.mark.parametrize(
    "other",
    [
        {"num_layers": 2},
        {"cell": "elman"},
        {"embedding": EmbeddingConfig(size=small.E, positions="sinusoidal")},
    ],
    ids=str,
)
def test_of_other_encoders_there_is_none(other):
    built = made(**other)
    assert reader(built.encoder, built.source_embedding) is None


def test_of_many_words_and_in_training_there_is_none(monkeypatch):
    built = made()
    assert reader(built.encoder, built.source_embedding) is not None
    assert reader(built.encoder, built.source_embedding.train()) is None
    built.eval()
    monkeypatch.setattr(module, "WORDS", small.V_X - 1)
    assert reader(built.encoder, built.source_embedding) is None


def test_a_search_sees_that_the_encoder_has_changed():
    built = made().float()
    request, options = Request((5, 9, 4)), wanted(max_length=4)
    before = search([built], [request], options)[0][0]
    built.encoder.stack.layers[0].W.weight.mul_(-1)
    after = search([built], [request], options)[0][0]
    assert before.scores != after.scores
