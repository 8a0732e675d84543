"""Sampling: seeded, by a line alone, and only among the words it may."""

import numpy as np
import pytest

from regard.search import search
from regard.search.sampling import sample_token
from search_cases import forced, lines, model
from search_options import wanted


def test_samples_depend_on_the_seed_and_not_on_neighbours():
    built = model("bahdanau2015")
    requests = lines(9, seed=4)
    options = wanted(temperature=1.0, beam_size=3, nbest=3, max_length=6, seed=5)
    together = search([built], requests, options)
    for request, answers in zip(requests, together, strict=True):
        assert search([built], [request], options)[0][0].scores == answers[0].scores
        assert len(answers) == 3
    other = search([built], requests, wanted(temperature=1.0, max_length=6, seed=6))
    assert any(a[0].token_ids != b[0].token_ids for a, b in zip(together, other, strict=True))


def test_samples_follow_their_probabilities():
    log_probs = np.log(np.array([0.1, 0.6, 0.3]))
    generator = np.random.default_rng(0)

    def shares(**options):
        config = wanted(**options).config
        samples = [sample_token(log_probs, config, generator) for _ in range(20_000)]
        return np.bincount(samples, minlength=3) / len(samples)

    np.testing.assert_allclose(shares(temperature=1.0), [0.1, 0.6, 0.3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_k=2), [0, 2 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_p=0.7), [0, 2 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_p=0.5), [0, 1, 0])
    squared = np.array([0.01, 0.36, 0.09]) / 0.46
    np.testing.assert_allclose(shares(temperature=0.5), squared, atol=0.02)


@pytest.mark.parametrize("top_k", [1, 2, 5])
def test_top_k_samples_stay_among_the_likeliest_tokens(top_k):
    built = model("bahdanau2015")
    requests = lines(6, seed=4)
    options = wanted(temperature=2.0, top_k=top_k, beam_size=4, nbest=4, max_length=6)
    ranks = set()
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        for answer in answers:
            log_probs, _ = forced(built, request, answer.token_ids)
            log_probs[:, [0, 2]] = -np.inf
            order = log_probs.argsort(dim=-1, descending=True).tolist()
            ranks |= {order[t].index(word) for t, word in enumerate(answer.token_ids)}
    assert ranks == set(range(top_k))


def test_top_p_samples_stay_within_the_probability_mass():
    built = model("bahdanau2015")
    requests = lines(6, seed=4)
    options = wanted(temperature=1.0, top_p=0.4, beam_size=4, nbest=4, max_length=6)
    above = []
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        for answer in answers:
            probs = forced(built, request, answer.token_ids)[0].exp()
            probs[:, [0, 2]] = 0.0
            probs /= probs.sum(dim=-1, keepdim=True)
            for t, word in enumerate(answer.token_ids):
                above.append(float(probs[t][probs[t] > probs[t, word]].sum()))
    # the word that reaches the share is the last one
    assert 0 < max(above) < 0.4


def test_samples_at_a_low_temperature_are_greedy():
    built = model("bahdanau2015")
    requests = lines(6, seed=4)
    cold = search([built], requests, wanted(temperature=1e-3, max_length=6))
    greedy = search([built], requests, wanted(max_length=6))
    assert [a[0].token_ids for a in cold] == [a[0].token_ids for a in greedy]


def test_the_seed_decides_the_samples():
    built, requests = model("bahdanau2015"), lines(9, seed=4)

    def drawn(seed):
        options = wanted(temperature=1.0, max_length=6, seed=seed)
        return [answer.token_ids for (answer,) in search([built], requests, options)]

    assert drawn(5) == drawn(5) != drawn(6)
