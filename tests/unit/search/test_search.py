"""Search: greedy, beam and sampling, under constraints, and the same in whatever company."""

import numpy as np
import pytest

from regard.models import PRESETS
from regard.search import SearchRequest, search
from regard.special_tokens import EOS
from search_cases import FEW, WITHOUT, forced, lines, model
from search_options import wanted


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_outputs_of_the_search_equal_those_of_forced_decoding(name, beam_size):
    built = model(name)
    requests = lines(7)
    options = wanted(beam_size=beam_size, nbest=beam_size, max_length=8)
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        assert len(answers) == beam_size
        for answer in answers:
            log_probs, weights = forced(built, request, answer.token_ids)
            target_log_probs = log_probs[range(len(answer.token_ids) + 1), [*answer.token_ids, EOS]]
            assert np.abs(np.array(answer.scores) - target_log_probs.numpy()).max() < 1e-5
            assert answer.score == pytest.approx(float(target_log_probs.sum()), abs=1e-4)
            assert (answer.weights is None) == (name in WITHOUT)
            if answer.weights is not None and request.source:
                assert np.abs(answer.weights - weights.numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_line_does_not_depend_on_its_neighbours_to_the_last_bit(name, beam_size):
    built = model(name)
    requests = lines(40, longest=60)
    # a line whose attention is pinned must not disturb the others
    requests[7] = SearchRequest((5, 9, 4), prefix=(6, 5), pins={0: 2, 2: 1})
    ways = {"beam_size": beam_size, "nbest": beam_size, "max_length": 5, "banned": FEW}
    alone = [search([built], [request], wanted(**ways))[0] for request in requests[:8]]
    rng = np.random.default_rng(1)
    for batch_size in (7, 40):
        order = rng.permutation(len(requests))
        options = wanted(**ways, batch_size=batch_size)
        answers = search([built], [requests[i] for i in order], options)
        by_line = dict(zip(order, answers, strict=True))
        for number, expected in enumerate(alone):
            for one, other in zip(by_line[number], expected, strict=True):
                assert one.token_ids == other.token_ids
                assert one.scores == other.scores
                np.testing.assert_array_equal(one.weights, other.weights)


def test_an_ensemble_is_the_mean_of_its_members_probabilities():
    members = [model("bahdanau2015", seed=seed) for seed in (0, 1)]
    request = SearchRequest((5, 9, 4))
    (answer,) = search(members, [request], wanted(max_length=4))[0]
    probs = sum(forced(m, request, answer.token_ids)[0].exp() for m in members) / 2
    target_log_probs = probs.log()[range(len(answer.token_ids) + 1), [*answer.token_ids, EOS]]
    assert np.abs(np.array(answer.scores) - target_log_probs.numpy()).max() < 1e-5
    assert search(members[:1] * 2, [request], wanted())[0][0].token_ids == (
        search(members[:1], [request], wanted())[0][0].token_ids
    )


def test_progress_counts_every_line():
    num_lines = []
    search(
        [model("cho2014")], lines(11), wanted(max_length=3, batch_size=4), progress=num_lines.append
    )
    assert sum(num_lines) == 11
