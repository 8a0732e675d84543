"""Beam search: what its definition finds, whatever leaves the batch on the way."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

import presets as small
from regard.models import PRESETS
from regard.search import SearchRequest, search
from regard.search.beam import _compacted_indices
from regard.search.top_k import top_k_pairs
from regard.special_tokens import BOS, EOS, PAD
from search_cases import FEW, SlowBeam, forced, lines, model
from search_options import wanted


@pytest.mark.parametrize("name", ["bahdanau2015", "sutskever2014"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all_targets(name, length_penalty):
    built = model(name)
    request = SearchRequest((5, 9, 4))
    banned = frozenset(range(7, small.V_Y)) | {1}
    options = wanted(
        beam_size=40, max_length=3, length_penalty=length_penalty, banned=banned, nbest=40
    )
    answers = search([built], [request], options)[0]
    all_targets = [token_ids for n in range(4) for token_ids in product((4, 5, 6), repeat=n)]
    scores = {}
    for token_ids in all_targets:
        log_probs, _ = forced(built, request, token_ids)
        total = float(log_probs[range(len(token_ids) + 1), [*token_ids, EOS]].sum())
        scores[token_ids] = total / (len(token_ids) + 1) ** length_penalty
    assert len(answers) == len(all_targets) == 40
    assert answers[0].token_ids == max(scores, key=scores.__getitem__)
    ranked = [answer.normalized_score(length_penalty) for answer in answers]
    assert ranked == sorted(ranked, reverse=True)
    assert {answer.token_ids for answer in answers} == set(all_targets)
    assert ranked == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-5)


@pytest.mark.parametrize("name", PRESETS)
def test_a_beam_of_one_is_greedy(name):
    built = model(name)
    requests = lines(13, seed=6)
    ends = 0
    for request, (answer,) in zip(
        requests, search([built], requests, wanted(max_length=6, banned=FEW)), strict=True
    ):
        token_ids = []
        while True:
            following = forced(built, request, token_ids)[0][-1].clone()
            following[[PAD, BOS, *FEW]] = -np.inf
            token_id = int(following.argmax())
            if token_id == EOS or len(token_ids) == 6:
                break
            token_ids.append(token_id)
        assert answer.token_ids == tuple(token_ids)
        assert answer.truncated == (token_id != EOS)
        ends += not answer.truncated
    assert name == "cho2014" or ends > 0


@pytest.mark.parametrize("name", ["bahdanau2015", "luong2015", "vaswani2017"])
@pytest.mark.parametrize(
    ("stop", "length_penalty", "nbest"),
    [
        ("full", 0.0, 4),
        ("full", 1.0, 4),
        ("likeliest", 0.0, 1),
        ("likeliest", 1.0, 1),
        ("likeliest", 2.0, 2),
    ],
)
def test_removing_finished_lines_changes_nothing(name, stop, length_penalty, nbest):
    built = model(name)
    requests = lines(13, seed=6)
    ways = {"beam_size": 4, "max_length": 7, "banned": FEW}
    ways |= {"length_penalty": length_penalty, "nbest": nbest, "stop": stop}
    slow = SlowBeam(built, requests, **ways)
    hypotheses = search([built], requests, wanted(**ways, batch_size=13))
    # lines must be done at different times, or nothing is shown
    assert len({max(len(token_ids) for token_ids, _ in ends) for ends in slow.finished}) > 1
    assert stop == "full" or any(len(ends) > 4 for ends in slow.finished)
    for answers, expected in zip(hypotheses, slow.answers(), strict=True):
        assert [answer.token_ids for answer in answers] == [
            token_ids for token_ids, _ in expected[:nbest]
        ]
        totals = [total for _, total in expected[:nbest]]
        assert [answer.score for answer in answers] == pytest.approx(totals, abs=1e-4)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_n_best_outputs_are_sorted_and_unique(name, length_penalty):
    options = wanted(beam_size=6, nbest=5, max_length=7, length_penalty=length_penalty)
    for answers in search([model(name)], lines(9, seed=8), options):
        assert len(answers) == 5
        assert len({answer.token_ids for answer in answers}) == 5
        values = [sum(a.scores) / (len(a.token_ids) + 1) ** length_penalty for a in answers]
        assert all(one >= other for one, other in pairwise(values))


def test_a_wider_beam_never_ranks_below_greedy_on_its_own_measure():
    built = model("luong2015")
    requests = lines(12, seed=5)
    greedy = search([built], requests, wanted(max_length=6, length_penalty=0.0))
    wide = search([built], requests, wanted(max_length=6, length_penalty=0.0, beam_size=60))
    assert all(w[0].score >= g[0].score - 1e-5 for w, g in zip(wide, greedy, strict=True))


def indifferent():
    """A model to which all tokens are equal."""
    built = model("bahdanau2015")
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.zero_()
    return built


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_equal_scores_are_ranked_by_the_lower_id(beam_size):
    built = indifferent()
    requests = [SearchRequest((5, 9, 4))]
    slow = SlowBeam(built, requests, beam_size=beam_size, max_length=3)
    options = wanted(beam_size=beam_size, nbest=beam_size, max_length=3, num_candidates=4)
    (answers,) = search([built], requests, options)
    assert [a.token_ids for a in answers] == [token_ids for token_ids, _ in slow.answers()[0]][
        :beam_size
    ]
    # PAD = 0 and BOS = 2 are no tokens
    assert all(
        [token_id for token_id, _ in place] == [1, 3, 4, 5] for place in answers[0].candidates
    )


def test_ranking_takes_the_highest_and_the_first_of_equals():
    never = -np.inf
    scores = torch.tensor(
        [
            [0.0, 3.0, 1.0, 3.0, 2.0, 1.0, 1.0],
            [never, never, 5.0, never, never, never, never],
            [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        ]
    )
    first, second, third = top_k_pairs(scores, 4)
    assert first == [(1, 3.0), (3, 3.0), (4, 2.0), (2, 1.0)]
    assert second == [(2, 5.0)]
    assert third == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]
    assert [len(row) for row in top_k_pairs(scores, 10)] == [7, 1, 7]


def test_ranking_agrees_with_a_stable_sort():
    rng = np.random.default_rng(0)
    # few different values: many equals, also where the list is cut
    scores = rng.integers(0, 9, (200, 31)).astype(np.float32)
    for row, candidates in zip(scores, top_k_pairs(torch.tensor(scores), 10), strict=True):
        order = np.argsort(-row, kind="stable")[:10]
        assert candidates == [(int(i), float(row[i])) for i in order]


def test_remaining_lines_keep_their_rows_if_possible():
    live = np.array([True, False, True, False, False, True, True])
    assert _compacted_indices(live).tolist() == [0, 5, 2, 6]
    assert _compacted_indices(~live).tolist() == [3, 1, 4]
    assert _compacted_indices(np.ones(3, dtype=bool)).tolist() == [0, 1, 2]
