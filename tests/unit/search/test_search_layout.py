"""The copy that is decoded with: the model's own numbers, laid otherwise, and never out of date."""

import gc
import weakref

import pytest
import torch
from search_cases import lines, model

from regard.models import PRESETS
from regard.search import Request, search
from regard.search.layout import laid_out
from search_options import wanted


@pytest.mark.parametrize("name", PRESETS)
def test_the_matrices_of_the_decoder_lie_by_columns_and_are_the_same(name):
    built = model(name)
    laid = laid_out(built).model
    assert laid is not built
    found = dict(laid.named_parameters(remove_duplicate=False))
    columns = 0
    for key, weight in built.named_parameters(remove_duplicate=False):
        assert torch.equal(found[key], weight)
        # the model that is trained and saved is left as it is
        assert weight.is_contiguous()
        if weight.dim() == 2 and key.split(".")[0] in ("decoder", "readout"):
            assert found[key].t().is_contiguous()
            columns += 1
        else:
            assert found[key] is weight
    assert columns > 2


def test_a_tied_matrix_is_read_by_rows_and_written_by_columns():
    built = model("vaswani2017")
    built.readout.weight = built.target_embedding.weight
    laid = laid_out(built).model
    assert laid.target_embedding.weight is built.target_embedding.weight
    assert laid.readout.weight.t().is_contiguous()
    assert torch.equal(laid.readout.weight, built.target_embedding.weight)


def test_of_a_model_that_learns_no_more_it_is_kept_until_a_weight_changes():
    built = model("bahdanau2015").requires_grad_(False)
    first = laid_out(built).model
    assert laid_out(built).model is first
    built.readout.weight.mul_(2)
    second = laid_out(built).model
    assert second is not first
    assert torch.equal(second.readout.weight, built.readout.weight)
    built.double()
    assert laid_out(built).model.readout.weight.dtype == torch.float64


@pytest.mark.parametrize("fused", [False, True])
def test_a_search_after_an_update_is_that_of_the_updated_model(fused):
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


def test_it_goes_when_the_model_goes():
    built = model("cho2014").requires_grad_(False)
    laid = weakref.ref(laid_out(built).model)
    assert laid() is not None
    del built
    gc.collect()
    assert laid() is None


def test_a_model_made_for_inference_alone_can_be_searched():
    with torch.inference_mode():
        built = model("bahdanau2015").requires_grad_(False)
    usual = model("bahdanau2015")
    requests = [Request((5, 9, 4))]
    (found,), (expected,) = (search([m], requests, wanted(max_length=4)) for m in (built, usual))
    assert found[0].scores == expected[0].scores
