"""What a target must be, must begin with, must look at and may not hold; what else it could be."""

import numpy as np
import pytest
import torch

import presets as small
from regard.search import Hypothesis, Request, search
from regard.special_tokens import BOS, EOS, PAD
from search_cases import FEW, forced, lines, model
from search_options import wanted


def test_lengths_prefixes_and_bans_are_kept():
    built = model("bahdanau2015")
    requests = lines(9, seed=7)
    for beam_size in (1, 3):
        for answers in search([built], requests, wanted(beam_size=beam_size, min_length=4)):
            assert len(answers[0].words) >= 4
        same = search([built], requests, wanted(beam_size=beam_size, same_length=True))
        for request, answers in zip(requests, same, strict=True):
            assert len(answers[0].words) == len(request.source)
            assert not answers[0].cut
        prefixed = [Request(r.source, prefix=(11, 12)) for r in requests]
        for answers in search([built], prefixed, wanted(beam_size=beam_size, max_length=5)):
            assert answers[0].words[:2] == (11, 12)
        free = search([built], requests, wanted(beam_size=beam_size, max_length=5))
        used = {word for answers in free for word in answers[0].words}
        banned = wanted(beam_size=beam_size, max_length=5, banned=frozenset(used))
        for answers in search([built], requests, banned):
            assert not used & set(answers[0].words)


def test_a_target_of_the_least_length_is_the_best_of_those():
    built = model("bahdanau2015")
    for request in lines(5, seed=7):
        (answer,) = search([built], [request], wanted(min_length=3, max_length=5))[0]
        words = []
        while len(words) < 5:
            following = forced(built, request, words)[0][-1].clone()
            following[[PAD, BOS, *([EOS] if len(words) < 3 else [])]] = -np.inf
            if (word := int(following.argmax())) == EOS:
                break
            words.append(word)
        assert answer.words == tuple(words)


def test_a_banned_word_may_still_be_forced():
    request = Request((5, 9, 4), prefix=(11, 12))
    options = wanted(max_length=3, banned=frozenset({11, 12}))
    (answer,) = search([model("bahdanau2015")], [request], options)[0]
    assert answer.words[:2] == (11, 12)
    assert not {11, 12} & set(answer.words[2:])


def test_a_prefix_longer_than_the_greatest_length_is_written_whole():
    request = Request((5, 9, 4), prefix=(11, 12, 13))
    (answer,) = search([model("bahdanau2015")], [request], wanted(max_length=2))[0]
    assert (answer.words, answer.cut) == ((11, 12, 13), True)


def test_a_prefix_that_the_model_would_write_anyway_changes_nothing():
    built = model("vaswani2017")
    for request in lines(5, seed=2):
        (free,) = search([built], [request], wanted(max_length=6))[0]
        prefixed = Request(request.source, prefix=free.words[:3])
        assert search([built], [prefixed], wanted(max_length=6))[0] == [
            Hypothesis(free.words, free.scores, pytest.approx(free.weights), free.cut)
        ]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_pinned_attention_is_used_and_changes_what_follows(name):
    built = model(name)
    request = Request((5, 9, 4, 7))
    (free,) = search([built], [request], wanted(max_length=5, min_length=5))[0]
    pinned = Request(request.source, prefix=free.words[:2], pins={1: 3})
    (answer,) = search([built], [pinned], wanted(max_length=5, min_length=5))[0]
    assert (answer.weights[1, ..., 3] == 1).all()
    assert answer.weights[1].sum() == answer.weights[1].shape[0] * answer.weights[1].shape[1]
    np.testing.assert_array_equal(answer.weights[0], free.weights[0])
    assert answer.scores[1] != free.scores[1]


def test_candidates_are_the_best_words_at_each_position_the_end_included():
    built = model("luong2015")
    requests = lines(5)
    options = wanted(beam_size=2, nbest=2, max_length=4, num_candidates=3, banned=frozenset({7}))
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        for answer in answers:
            log_probs, _ = forced(built, request, answer.words)
            log_probs[:, [PAD, BOS]] = -np.inf
            assert len(answer.candidates) == len(answer.words) + 1
            for t, candidates in enumerate(answer.candidates):
                # what the model would like, also where it may not
                values, words = log_probs[t].sort(descending=True, stable=True)
                assert [word for word, _ in candidates] == words[:3].tolist()
                expected = values[:3].tolist()
                assert [value for _, value in candidates] == pytest.approx(expected, abs=1e-5)


def test_all_words_are_candidates_where_more_are_asked_for():
    (answer,) = search([model("luong2015")], lines(1), wanted(num_candidates=100, max_length=2))[0]
    assert all(len(place) == small.V_Y - 2 for place in answer.candidates)
    assert sorted(w for w, _ in answer.candidates[0]) == [1, *range(3, small.V_Y)]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_target_is_cut_only_where_the_model_would_have_gone_on(beam_size):
    """At its greatest length EOS is forced, but it may be what the model would write anyway."""
    built = model("bahdanau2015", seed=2)
    prefixes = ((), (4,), (5, 4, 6))
    requests = [Request(one.source, prefix) for one in lines(9, seed=3) for prefix in prefixes]
    seen = set()
    for max_length in (1, 4):
        size = {"beam_size": beam_size, "nbest": beam_size, "max_length": max_length}
        found = search([built], requests, wanted(**size, banned=FEW))
        for request, answer in ((r, a) for r, x in zip(requests, found, strict=True) for a in x):
            at_the_end = len(answer.words) == max(max_length, len(request.prefix))
            following = forced(built, request, answer.words)[0][-1].clone()
            following[[PAD, BOS, *FEW]] = -np.inf
            assert answer.cut == (at_the_end and int(following.argmax()) != EOS)
            seen.add((at_the_end, answer.cut))
    assert seen == {(False, False), (True, False), (True, True)}


def test_a_target_that_ends_by_itself_at_its_greatest_length_is_whole():
    built = model("bahdanau2015", seed=2)
    found = 0
    for request in lines(30, seed=3):
        (free,) = search([built], [request], wanted(max_length=6, banned=FEW))[0]
        length = len(free.words)
        if free.cut or length < 2:
            continue
        for least in (0, length):
            exact = wanted(max_length=length, min_length=least, banned=FEW)
            (same,) = search([built], [request], exact)[0]
            assert (same.words, same.cut) == (free.words, False)
        (less,) = search([built], [request], wanted(max_length=length - 1, banned=FEW))[0]
        assert (less.words, less.cut) == (free.words[:-1], True)
        found += 1
    assert found > 3


def test_what_does_not_fit_is_cut_whatever_the_model_would_write():
    built = model("vaswani2017", max_length=5)
    # all words are alike, so that none is likelier than EOS
    torch.nn.init.zeros_(built.readout.weight)
    requests = [Request((5, 9, 4, 4, 4), prefix=(4, 5, 6, 7, 8)[:n]) for n in (4, 5)]
    short = search([built], requests, wanted(max_length=3))
    assert [(found.words, found.cut) for (found,) in short] == [
        ((4, 5, 6, 7), False),
        ((4, 5, 6, 7), True),
    ]
    for more in ({"min_length": 5}, {"same_length": True}):
        (found,) = search([built], requests[:1], wanted(max_length=5, **more))[0]
        assert (found.words, found.cut) == ((4, 5, 6, 7), True)


def test_a_model_with_few_positions_stops_in_time():
    built = model("vaswani2017", max_length=9)
    for answers in search([built], lines(4), wanted(max_length=50, min_length=50)):
        assert len(answers[0].words) == 8
        assert answers[0].cut


def test_a_target_as_long_as_its_source_is_cut_only_where_places_end():
    built = model("vaswani2017", max_length=9)
    requests = [Request((5,) * length) for length in (0, 3, 8, 9)]
    found = [answers[0] for answers in search([built], requests, wanted(same_length=True))]
    assert [len(answer.words) for answer in found] == [0, 3, 8, 8]
    assert [answer.cut for answer in found] == [False, False, False, True]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
@pytest.mark.parametrize(("beam_size", "temperature"), [(1, 0.0), (4, 0.0), (3, 1.0)])
def test_a_pattern_is_followed_and_nothing_is_copied(name, beam_size, temperature):
    sources = [(5, 9, 5, 7), (4, 4), (8, 5, 8, 8, 5), (6,)]
    patterns = [(-1, -1, 0, -1), (-1, 0), (-1, -1, 0, 0, 1), (-1,)]
    # where a source has 9, so has what is written, though it may stand nowhere else
    fixed = [{at: 9 for at, word in enumerate(source) if word == 9} for source in sources]
    barred = [frozenset([*source, 9]) for source in sources]
    requests = [
        Request(source, barred=never, repeats=pattern, fixed=marks)
        for source, never, pattern, marks in zip(sources, barred, patterns, fixed, strict=True)
    ]
    options = wanted(
        beam_size=beam_size, nbest=beam_size, temperature=temperature, same_pattern=True
    )
    for request, answers in zip(requests, search([model(name)], requests, options), strict=True):
        assert answers
        for answer in answers:
            assert len(answer.words) == len(request.source)
            free = [word for at, word in enumerate(answer.words) if at not in request.fixed]
            assert not set(free) & request.barred
            assert all(answer.words[at] == word for at, word in request.fixed.items())
            for at, earlier in enumerate(request.repeats):
                same = [answer.words.index(word) for word in answer.words]
                assert same[at] == (at if earlier < 0 else earlier)
