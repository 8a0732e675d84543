"""The prepared model: the model's own numbers in another layout, and never out of date."""

import gc
import weakref

import pytest
import torch

from regard.inference import explain_decoding, prepare_for_inference
from regard.models import PRESETS
from regard.search import SearchRequest, search
from search_cases import lines, model
from search_options import wanted


@pytest.mark.parametrize("name", PRESETS)
def test_decoder_matrices_are_column_major_with_equal_values(name):
    built = model(name)
    prepared = prepare_for_inference(built).model
    assert prepared is not built
    copies = dict(prepared.named_parameters(remove_duplicate=False))
    columns = 0
    for key, weight in built.named_parameters(remove_duplicate=False):
        assert torch.equal(copies[key], weight)
        # the model that is trained and saved is left as it is
        assert weight.is_contiguous()
        if weight.dim() == 2 and key.split(".")[0] in ("decoder", "readout"):
            assert copies[key].t().is_contiguous()
            columns += 1
        else:
            assert copies[key] is weight
    assert columns > 2


def test_a_tied_matrix_is_row_major_for_input_and_column_major_for_output():
    built = model("vaswani2017")
    built.readout.weight = built.target_embedding.weight
    prepared = prepare_for_inference(built).model
    assert prepared.target_embedding.weight is built.target_embedding.weight
    assert prepared.readout.weight.t().is_contiguous()
    assert torch.equal(prepared.readout.weight, built.target_embedding.weight)


def test_a_frozen_model_is_cached_until_a_weight_changes():
    built = model("bahdanau2015").requires_grad_(False)
    first = prepare_for_inference(built).model
    assert prepare_for_inference(built).model is first
    built.readout.weight.mul_(2)
    second = prepare_for_inference(built).model
    assert second is not first
    assert torch.equal(second.readout.weight, built.readout.weight)
    built.double()
    assert prepare_for_inference(built).model.readout.weight.dtype == torch.float64


@pytest.mark.parametrize("fused", [False, True])
def test_a_search_after_an_update_uses_the_updated_model(fused):
    trained, requests = model("luong2015", seed=1), lines(5)
    options = wanted(max_length=4)
    before = search([trained], requests, options)
    optimizer = torch.optim.Adam(trained.parameters(), lr=0.3, fused=fused)
    for seed, parameter in enumerate(trained.parameters()):
        torch.manual_seed(seed)
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    # another model of the same weights, which no search has seen
    fresh = model("luong2015", seed=2)
    fresh.load_state_dict(trained.state_dict())
    after = search([trained], requests, options)
    assert [a[0].scores for a in after] == [b[0].scores for b in search([fresh], requests, options)]
    assert [a[0].scores for a in after] != [b[0].scores for b in before]


def test_the_cache_does_not_keep_a_model_alive():
    built = model("cho2014").requires_grad_(False)
    prepared = weakref.ref(prepare_for_inference(built).model)
    assert prepared() is not None
    del built
    gc.collect()
    assert prepared() is None


def test_a_model_created_in_inference_mode_can_be_searched():
    with torch.inference_mode():
        built = model("bahdanau2015").requires_grad_(False)
    usual = model("bahdanau2015")
    requests = [SearchRequest((5, 9, 4))]
    (hypotheses,), (expected,) = (
        search([m], requests, wanted(max_length=4)) for m in (built, usual)
    )
    assert hypotheses[0].scores == expected[0].scores


def test_every_decision_is_reported_with_its_reason():
    decisions = explain_decoding(model("bahdanau2015"), "cpu")
    assert decisions["decoder step"].implementation == "FusedBahdanauStep"
    assert decisions["source encoder"].implementation == "table lookup"
    assert decisions["token projections"].implementation == "table lookup"
    decisions = explain_decoding(model("luong2015", num_layers=2), "cpu")
    assert decisions["decoder step"] == ("reference", "it has 2 layers")
    assert decisions["source encoder"] == ("the model's own", "it has 2 layers")
    decisions = explain_decoding(model("vaswani2017"), "cuda")
    assert decisions["decoder step"].implementation == "reference"
    assert "the model is on cuda" in decisions["decoder step"].reason


@pytest.mark.parametrize("name", PRESETS)
def test_the_reported_step_decoder_is_the_one_in_use(name):
    built = model(name)
    decisions = {part: d.implementation for part, d in explain_decoding(built, "cpu").items()}
    decoder = prepare_for_inference(built).decoder
    names = {"reference": "ReferenceStepDecoder"}
    step = decisions["decoder step"]
    assert type(decoder).__name__ == names.get(step, step)
    assert (decoder.table_encoder is None) == (decisions["source encoder"] == "the model's own")
