"""What search refuses, in one sentence, and what it does when there is no room."""

import pytest
import torch

import presets as small
from regard.errors import InputError
from regard.search import SearchRequest, beam, search
from search_cases import lines, model
from search_options import wanted

FULL = [
    torch.OutOfMemoryError("no room"),
    MemoryError(),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
]


def crowded(monkeypatch, error, most):
    """Let no batch of more lines than so many fit; return the sizes that were tried."""
    real, sizes = beam._BeamSearch, []

    def careful(models, requests, options):
        sizes.append(len(requests))
        if len(requests) > most:
            raise error
        return real(models, requests, options)

    monkeypatch.setattr(beam, "_BeamSearch", careful)
    return sizes


@pytest.mark.parametrize("error", FULL)
def test_a_batch_that_exceeds_memory_is_halved(monkeypatch, error):
    built, requests = model("cho2014"), lines(7)
    expected = search([built], requests, wanted(max_length=3))
    sizes = crowded(monkeypatch, error, most=2)
    assert search([built], requests, wanted(max_length=3)) == expected
    assert sizes == [7, 3, 1, 2, 4, 2, 2]


@pytest.mark.parametrize(
    ("beam_size", "sentence"),
    [
        (
            1,
            "A source has 3 tokens and does not fit into memory with beam_size = 1. Shorten it.",
        ),
        (
            4,
            "A source has 3 tokens and does not fit into memory with beam_size = 4. "
            "Use beam_size = 1.",
        ),
    ],
)
def test_a_single_line_that_exceeds_memory_is_refused(monkeypatch, beam_size, sentence):
    crowded(monkeypatch, FULL[0], most=0)
    with pytest.raises(InputError) as refused:
        search([model("cho2014")], [SearchRequest((5, 9, 4))], wanted(beam_size=beam_size))
    assert str(refused.value) == sentence


def test_other_errors_are_propagated(monkeypatch):
    sizes = crowded(monkeypatch, RuntimeError("a mistake"), most=0)
    with pytest.raises(RuntimeError, match="a mistake"):
        search([model("cho2014")], lines(3), wanted())
    assert sizes == [3]


def test_a_source_with_more_tokens_than_positions_is_refused():
    built = model("vaswani2017", max_length=9)
    assert search([built], [SearchRequest((5,) * 9)], wanted(max_length=2))
    with pytest.raises(InputError) as refused:
        search([built], [SearchRequest((5,)), SearchRequest((5,) * 10)], wanted())
    assert str(refused.value) == (
        "A source has 10 tokens; the model has positions for 9. Shorten it."
    )


def test_a_ban_of_all_tokens_is_refused():
    with pytest.raises(InputError) as refused:
        search([model("cho2014")], lines(1), wanted(banned=frozenset(range(small.V_Y))))
    assert str(refused.value) == (
        "banned has all 16 tokens of the target; it must leave at least one."
    )


@pytest.mark.parametrize("pins", [{0: 3}, {2: -1}, {-1: 0}])
def test_a_pin_outside_the_line_is_refused(pins):
    ((step, position),) = pins.items()
    with pytest.raises(InputError) as refused:
        SearchRequest((5, 9, 4), pins=pins)
    assert str(refused.value) == (
        f"pins is {{{step}: {position}}}; it must map a step, from 0, to a position below 3."
    )


@pytest.mark.parametrize("settings", [{"beam_size": 1}, {"beam_size": 3}, {"temperature": 1.0}])
def test_a_model_with_nan_outputs_is_refused(settings):
    built = model("bahdanau2015")
    with torch.no_grad():
        built.readout.weight.fill_(torch.nan)
    with pytest.raises(InputError) as refused:
        search([built], lines(2), wanted(max_length=4, **settings))
    assert str(refused.value) == (
        "The scores of the model are not numbers. Use a model with finite weights."
    )
