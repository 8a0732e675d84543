"""Search: greedy, beam and sampling, under constraints, and the same in whatever company."""

from itertools import product

import numpy as np
import pytest
import torch

import presets as small
from regard.models import PRESETS
from regard.search import Hypothesis, Options, Request, search
from regard.search.beam import draw
from regard.symbols import BOS, EOS, PAD

WITHOUT = ("cho2014", "sutskever2014")


def lines(count, seed=0, longest=9):
    rng = np.random.default_rng(seed)
    return [
        Request(tuple(map(int, rng.integers(4, small.V_X, rng.integers(0, longest)))))
        for _ in range(count)
    ]


def model(name, **options):
    if name in ("gehring2017", "vaswani2017"):
        options.setdefault("max_length", 71)
    return small.model(name, dtype=torch.float32, **options)


def forced(built, request, words):
    """Score given words and EOS through `unroll`: log-probabilities [T,V], weights [T,L,H,S]."""
    source = torch.tensor([request.source or (PAD,)])
    mask = torch.full(source.shape, bool(request.source))
    fed = torch.tensor([[BOS, *words]])
    with torch.no_grad():
        scored = built(source, mask, fed, need_weights=True)
    log_probs = scored.logits[0].log_softmax(dim=-1)
    return log_probs, None if scored.weights is None else scored.weights[0]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_is_shown_is_what_a_forced_rescoring_computes(name, beam_size):
    built = model(name)
    requests = lines(7)
    options = Options(beam_size=beam_size, nbest=beam_size, max_length=8)
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        assert len(answers) == beam_size
        for answer in answers:
            log_probs, weights = forced(built, request, answer.words)
            chosen = log_probs[range(len(answer.words) + 1), [*answer.words, EOS]]
            assert np.abs(np.array(answer.scores) - chosen.numpy()).max() < 1e-5
            assert answer.score == pytest.approx(float(chosen.sum()), abs=1e-4)
            assert (answer.weights is None) == (name in WITHOUT)
            if answer.weights is not None and request.source:
                assert np.abs(answer.weights - weights.numpy()).max() < 1e-5


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017", "gehring2017", "luong2015"])
@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_line_does_not_depend_on_its_neighbours_to_the_last_bit(name, beam_size):
    built = model(name)
    requests = lines(64, longest=40)
    options = Options(beam_size=beam_size, nbest=beam_size, max_length=12)
    alone = [search([built], [request], options)[0] for request in requests[:6]]
    rng = np.random.default_rng(1)
    for batch_size in (7, 33, 64):
        order = rng.permutation(len(requests))
        answers = search([built], [requests[i] for i in order], options, batch_size=batch_size)
        by_line = dict(zip(order, answers, strict=True))
        for number, expected in enumerate(alone):
            for one, other in zip(by_line[number], expected, strict=True):
                assert one.words == other.words
                assert one.scores == other.scores
                np.testing.assert_array_equal(one.weights, other.weights)


def test_greedy_takes_the_best_word_each_time():
    built = model("bahdanau2015")
    for request in lines(5, seed=3):
        (answer,) = search([built], [request], Options(max_length=6))[0]
        log_probs, _ = forced(built, request, answer.words)
        log_probs[:, [PAD, BOS]] = -np.inf
        best = log_probs.argmax(dim=-1).tolist()
        assert best[: len(answer.words)] == list(answer.words)
        assert answer.cut == (len(answer.words) == 6)
        if not answer.cut:
            assert best[-1] == EOS


@pytest.mark.parametrize("name", ["bahdanau2015", "sutskever2014"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all_targets(name, length_penalty):
    built = model(name)
    request = Request((5, 9, 4))
    banned = frozenset(range(7, small.V_Y)) | {1}
    options = Options(
        beam_size=40, max_length=3, length_penalty=length_penalty, banned=banned, nbest=40
    )
    answers = search([built], [request], options)[0]
    every = [words for n in range(4) for words in product((4, 5, 6), repeat=n)]
    scores = {}
    for words in every:
        log_probs, _ = forced(built, request, words)
        total = float(log_probs[range(len(words) + 1), [*words, EOS]].sum())
        scores[words] = total / (len(words) + 1) ** length_penalty
    assert len(answers) == len(every) == 40
    assert answers[0].words == max(scores, key=scores.__getitem__)
    ranked = [answer.normalized(length_penalty) for answer in answers]
    assert ranked == sorted(ranked, reverse=True)
    assert {answer.words for answer in answers} == set(every)
    assert ranked == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-5)


def test_a_wider_beam_never_ranks_below_greedy_on_its_own_measure():
    built = model("luong2015")
    requests = lines(12, seed=5)
    greedy = search([built], requests, Options(max_length=6, length_penalty=0.0))
    wide = search([built], requests, Options(max_length=6, length_penalty=0.0, beam_size=60))
    assert all(w[0].score >= g[0].score - 1e-5 for w, g in zip(wide, greedy, strict=True))


def test_lengths_prefixes_and_bans_are_kept():
    built = model("bahdanau2015")
    requests = lines(9, seed=7)
    for beam_size in (1, 3):
        for answers in search([built], requests, Options(beam_size=beam_size, min_length=4)):
            assert len(answers[0].words) >= 4
        same = search([built], requests, Options(beam_size=beam_size, same_length=True))
        for request, answers in zip(requests, same, strict=True):
            assert len(answers[0].words) == len(request.source)
            assert not answers[0].cut
        prefixed = [Request(r.source, prefix=(11, 12)) for r in requests]
        for answers in search([built], prefixed, Options(beam_size=beam_size, max_length=5)):
            assert answers[0].words[:2] == (11, 12)
        free = search([built], requests, Options(beam_size=beam_size, max_length=5))
        used = {word for answers in free for word in answers[0].words}
        banned = Options(beam_size=beam_size, max_length=5, banned=frozenset(used))
        for answers in search([built], requests, banned):
            assert not used & set(answers[0].words)


def test_a_prefix_that_the_model_would_write_anyway_changes_nothing():
    built = model("vaswani2017")
    for request in lines(5, seed=2):
        (free,) = search([built], [request], Options(max_length=6))[0]
        prefixed = Request(request.source, prefix=free.words[:3])
        assert search([built], [prefixed], Options(max_length=6))[0] == [
            Hypothesis(free.words, free.scores, pytest.approx(free.weights), free.cut)
        ]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_pinned_attention_is_used_and_changes_what_follows(name):
    built = model(name)
    request = Request((5, 9, 4, 7))
    (free,) = search([built], [request], Options(max_length=5, min_length=5))[0]
    pinned = Request(request.source, prefix=free.words[:2], pins={1: 3})
    (answer,) = search([built], [pinned], Options(max_length=5, min_length=5))[0]
    assert (answer.weights[1, ..., 3] == 1).all()
    assert answer.weights[1].sum() == answer.weights[1].shape[0] * answer.weights[1].shape[1]
    np.testing.assert_array_equal(answer.weights[0], free.weights[0])
    assert answer.scores[1] != free.scores[1]


def test_an_ensemble_is_the_mean_of_its_members_probabilities():
    members = [model("bahdanau2015", seed=seed) for seed in (0, 1)]
    request = Request((5, 9, 4))
    (answer,) = search(members, [request], Options(max_length=4))[0]
    probs = sum(forced(m, request, answer.words)[0].exp() for m in members) / 2
    chosen = probs.log()[range(len(answer.words) + 1), [*answer.words, EOS]]
    assert np.abs(np.array(answer.scores) - chosen.numpy()).max() < 1e-5
    assert search(members[:1] * 2, [request], Options())[0][0].words == (
        search(members[:1], [request], Options())[0][0].words
    )


def test_samples_are_drawn_anew_by_seed_and_not_by_company():
    built = model("bahdanau2015")
    requests = lines(9, seed=4)
    options = Options(temperature=1.0, beam_size=3, nbest=3, max_length=6, seed=5)
    together = search([built], requests, options)
    for request, answers in zip(requests, together, strict=True):
        assert search([built], [request], options)[0][0].scores == answers[0].scores
        assert len(answers) == 3
    other = search([built], requests, Options(temperature=1.0, max_length=6, seed=6))
    assert any(a[0].words != b[0].words for a, b in zip(together, other, strict=True))


def test_a_draw_follows_its_probabilities():
    log_probs = np.log(np.array([0.1, 0.6, 0.3]))
    generator = np.random.default_rng(0)

    def shares(**options):
        chosen = [draw(log_probs, Options(**options), generator) for _ in range(20_000)]
        return np.bincount(chosen, minlength=3) / len(chosen)

    np.testing.assert_allclose(shares(temperature=1.0), [0.1, 0.6, 0.3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_k=2), [0, 2 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_p=0.7), [0, 2 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(shares(temperature=1.0, top_p=0.5), [0, 1, 0])
    squared = np.array([0.01, 0.36, 0.09]) / 0.46
    np.testing.assert_allclose(shares(temperature=0.5), squared, atol=0.02)


def test_candidates_are_the_best_words_at_each_position():
    built = model("luong2015")
    request = Request((5, 9, 4))
    (answer,) = search([built], [request], Options(max_length=4, num_candidates=3))[0]
    log_probs, _ = forced(built, request, answer.words)
    assert len(answer.candidates) == len(answer.words) + 1
    for t, candidates in enumerate(answer.candidates):
        values, words = log_probs[t].topk(3)
        assert [word for word, _ in candidates] == words.tolist()
        assert [value for _, value in candidates] == pytest.approx(values.tolist(), abs=1e-5)


def test_a_model_with_few_positions_stops_in_time():
    built = model("vaswani2017", max_length=9)
    for answers in search([built], lines(4), Options(max_length=50, min_length=50)):
        assert len(answers[0].words) == 8
        assert answers[0].cut


def test_progress_counts_every_line():
    seen = []
    search([model("cho2014")], lines(11), Options(max_length=3), batch_size=4, progress=seen.append)
    assert sum(seen) == 11


def test_a_batch_that_does_not_fit_is_halved(monkeypatch):
    from regard.search import beam

    real, sizes = beam._Search, []

    def careful(models, requests, options):
        sizes.append(len(requests))
        if len(requests) > 2:
            raise torch.OutOfMemoryError("no room")
        return real(models, requests, options)

    built, requests = model("cho2014"), lines(7)
    expected = search([built], requests, Options(max_length=3))
    monkeypatch.setattr(beam, "_Search", careful)
    assert search([built], requests, Options(max_length=3)) == expected
    assert max(sizes[-2:]) <= 2
