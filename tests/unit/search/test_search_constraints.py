"""What a target must be, must begin with, must look at and may not hold; what else it could be."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

import presets as small
from regard.errors import InputError
from regard.search import NEG_INF, Constraint, Hypothesis, SearchRequest, search
from regard.special_tokens import BOS, EOS, PAD
from search_cases import FEW, forced, lines, model
from search_options import wanted


def test_lengths_prefixes_and_bans_are_obeyed():
    built = model("bahdanau2015")
    requests = lines(9, seed=7)
    for beam_size in (1, 3):
        for answers in search([built], requests, wanted(beam_size=beam_size, min_length=4)):
            assert len(answers[0].token_ids) >= 4
        same = search([built], requests, wanted(beam_size=beam_size, same_length=True))
        for request, answers in zip(requests, same, strict=True):
            assert len(answers[0].token_ids) == len(request.source)
            assert not answers[0].truncated
        prefixed = [SearchRequest(r.source, prefix=(11, 12)) for r in requests]
        for answers in search([built], prefixed, wanted(beam_size=beam_size, max_length=5)):
            assert answers[0].token_ids[:2] == (11, 12)
        free = search([built], requests, wanted(beam_size=beam_size, max_length=5))
        used = {token_id for answers in free for token_id in answers[0].token_ids}
        banned = wanted(beam_size=beam_size, max_length=5, banned=frozenset(used))
        for answers in search([built], requests, banned):
            assert not used & set(answers[0].token_ids)


def test_an_output_of_minimum_length_is_the_best_of_that_length():
    built = model("bahdanau2015")
    for request in lines(5, seed=7):
        (answer,) = search([built], [request], wanted(min_length=3, max_length=5))[0]
        token_ids = []
        while len(token_ids) < 5:
            following = forced(built, request, token_ids)[0][-1].clone()
            following[[PAD, BOS, *([EOS] if len(token_ids) < 3 else [])]] = -np.inf
            if (token_id := int(following.argmax())) == EOS:
                break
            token_ids.append(token_id)
        assert answer.token_ids == tuple(token_ids)


def test_a_banned_word_may_still_be_forced():
    request = SearchRequest((5, 9, 4), prefix=(11, 12))
    options = wanted(max_length=3, banned=frozenset({11, 12}))
    (answer,) = search([model("bahdanau2015")], [request], options)[0]
    assert answer.token_ids[:2] == (11, 12)
    assert not {11, 12} & set(answer.token_ids[2:])


def test_a_prefix_longer_than_the_maximum_length_is_written_whole():
    request = SearchRequest((5, 9, 4), prefix=(11, 12, 13))
    (answer,) = search([model("bahdanau2015")], [request], wanted(max_length=2))[0]
    assert (answer.token_ids, answer.truncated) == ((11, 12, 13), True)


def test_a_prefix_that_the_model_would_write_anyway_changes_nothing():
    built = model("vaswani2017")
    for request in lines(5, seed=2):
        (free,) = search([built], [request], wanted(max_length=6))[0]
        prefixed = SearchRequest(request.source, prefix=free.token_ids[:3])
        assert search([built], [prefixed], wanted(max_length=6))[0] == [
            Hypothesis(free.token_ids, free.scores, pytest.approx(free.weights), free.truncated)
        ]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_pinned_attention_is_used_and_changes_what_follows(name):
    built = model(name)
    request = SearchRequest((5, 9, 4, 7))
    (free,) = search([built], [request], wanted(max_length=5, min_length=5))[0]
    pinned = SearchRequest(request.source, prefix=free.token_ids[:2], pins={1: 3})
    (answer,) = search([built], [pinned], wanted(max_length=5, min_length=5))[0]
    assert (answer.weights[1, ..., 3] == 1).all()
    assert answer.weights[1].sum() == answer.weights[1].shape[0] * answer.weights[1].shape[1]
    np.testing.assert_array_equal(answer.weights[0], free.weights[0])
    assert answer.scores[1] != free.scores[1]


def test_candidates_are_the_best_tokens_at_each_position_including_eos():
    built = model("luong2015")
    requests = lines(5)
    options = wanted(beam_size=2, nbest=2, max_length=4, num_candidates=3, banned=frozenset({7}))
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        for answer in answers:
            log_probs, _ = forced(built, request, answer.token_ids)
            log_probs[:, [PAD, BOS]] = -np.inf
            assert len(answer.candidates) == len(answer.token_ids) + 1
            for t, candidates in enumerate(answer.candidates):
                # what the model would like, also where it may not
                values, token_ids = log_probs[t].sort(descending=True, stable=True)
                assert [token_id for token_id, _ in candidates] == token_ids[:3].tolist()
                expected = values[:3].tolist()
                assert [value for _, value in candidates] == pytest.approx(expected, abs=1e-5)


def test_all_tokens_are_candidates_if_more_are_requested():
    (answer,) = search([model("luong2015")], lines(1), wanted(num_candidates=100, max_length=2))[0]
    assert all(len(place) == small.V_Y - 2 for place in answer.candidates)
    assert sorted(w for w, _ in answer.candidates[0]) == [1, *range(3, small.V_Y)]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_an_output_is_truncated_only_if_the_model_would_continue(beam_size):
    """At its greatest length EOS is forced, but it may be what the model would write anyway."""
    built = model("bahdanau2015", seed=2)
    prefixes = ((), (4,), (5, 4, 6))
    requests = [
        SearchRequest(one.source, prefix) for one in lines(9, seed=3) for prefix in prefixes
    ]
    cases = set()
    for max_length in (1, 4):
        size = {"beam_size": beam_size, "nbest": beam_size, "max_length": max_length}
        outputs = search([built], requests, wanted(**size, banned=FEW))
        for request, answer in ((r, a) for r, x in zip(requests, outputs, strict=True) for a in x):
            at_the_end = len(answer.token_ids) == max(max_length, len(request.prefix))
            following = forced(built, request, answer.token_ids)[0][-1].clone()
            following[[PAD, BOS, *FEW]] = -np.inf
            assert answer.truncated == (at_the_end and int(following.argmax()) != EOS)
            cases.add((at_the_end, answer.truncated))
    assert cases == {(False, False), (True, False), (True, True)}


def test_an_output_that_ends_at_its_maximum_length_is_complete():
    built = model("bahdanau2015", seed=2)
    num_whole = 0
    for request in lines(30, seed=3):
        (free,) = search([built], [request], wanted(max_length=6, banned=FEW))[0]
        length = len(free.token_ids)
        if free.truncated or length < 2:
            continue
        for least in (0, length):
            exact = wanted(max_length=length, min_length=least, banned=FEW)
            (same,) = search([built], [request], exact)[0]
            assert (same.token_ids, same.truncated) == (free.token_ids, False)
        (less,) = search([built], [request], wanted(max_length=length - 1, banned=FEW))[0]
        assert (less.token_ids, less.truncated) == (free.token_ids[:-1], True)
        num_whole += 1
    assert num_whole > 3


def test_an_output_beyond_the_positions_is_truncated():
    built = model("vaswani2017", max_length=5)
    # all words are alike, so that none is likelier than EOS
    torch.nn.init.zeros_(built.readout.weight)
    requests = [SearchRequest((5, 9, 4, 4, 4), prefix=(4, 5, 6, 7, 8)[:n]) for n in (4, 5)]
    short = search([built], requests, wanted(max_length=3))
    assert [(answer.token_ids, answer.truncated) for (answer,) in short] == [
        ((4, 5, 6, 7), False),
        ((4, 5, 6, 7), True),
    ]
    for more in ({"min_length": 5}, {"same_length": True}):
        (answer,) = search([built], requests[:1], wanted(max_length=5, **more))[0]
        assert (answer.token_ids, answer.truncated) == ((4, 5, 6, 7), True)


def test_a_model_with_few_positions_stops_in_time():
    built = model("vaswani2017", max_length=9)
    for answers in search([built], lines(4), wanted(max_length=50, min_length=50)):
        assert len(answers[0].token_ids) == 8
        assert answers[0].truncated


def test_an_output_of_source_length_is_truncated_only_at_the_last_position():
    built = model("vaswani2017", max_length=9)
    requests = [SearchRequest((5,) * length) for length in (0, 3, 8, 9)]
    best = [answers[0] for answers in search([built], requests, wanted(same_length=True))]
    assert [len(answer.token_ids) for answer in best] == [0, 3, 8, 8]
    assert [answer.truncated for answer in best] == [False, False, False, True]


class Alternates(Constraint):
    """No token stands beside itself, and of the last two tokens one is even."""

    def restrict(self, log_probs, requests, position, generated):
        for scores, request, hypotheses in zip(log_probs, requests, generated, strict=True):
            for row, token_ids in zip(scores, hypotheses, strict=True):
                assert len(token_ids) == position
                wrong = [w for w in range(4, small.V_Y) if not allowed(request, (*token_ids, w))]
                row[wrong] = NEG_INF


def allowed(request, token_ids):
    """Whether words may stand there, but for the prefix, of which nothing is asked."""
    pairs = list(pairwise(token_ids))[max(0, len(request.prefix) - 1) :]
    return all(one != other and (one * other) % 2 == 0 for one, other in pairs)


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_a_beam_wide_enough_finds_the_best_of_all_targets_that_satisfy_a_constraint(name):
    built = model(name)
    banned = frozenset(range(8, small.V_Y)) | {1}
    options = wanted(
        beam_size=90, nbest=90, max_length=3, banned=banned, constraint=Alternates(None)
    )
    requests = [SearchRequest((5, 9, 4)), SearchRequest((4,), prefix=(5, 5))]
    for request, answers in zip(requests, search([built], requests, options), strict=True):
        every = [
            (*request.prefix, *rest)
            for n in range(4 - len(request.prefix))
            for rest in product((4, 5, 6, 7), repeat=n)
        ]
        every = [target for target in every if allowed(request, target)]
        scores = {}
        for target in every:
            log_probs, _ = forced(built, request, target)
            total = float(log_probs[range(len(target) + 1), [*target, EOS]].sum())
            scores[target] = total / (len(target) + 1)
        assert {answer.token_ids for answer in answers} == set(every)
        assert answers[0].token_ids == max(scores, key=scores.__getitem__)
        ranked = [answer.normalized_score(1.0) for answer in answers]
        assert ranked == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_constraint_does_not_depend_on_neighbours_to_the_last_bit(beam_size):
    built, requests = model("bahdanau2015"), lines(20, seed=4)
    ways = {"beam_size": beam_size, "nbest": beam_size, "max_length": 6, "banned": FEW}
    options = wanted(**ways, constraint=Alternates(None))
    together = search([built], requests, options)
    free = search([built], requests, wanted(**ways))
    assert any(a[0].token_ids != b[0].token_ids for a, b in zip(together, free, strict=True))
    for request, answers in zip(requests, together, strict=True):
        (alone,) = search([built], [request], options)
        assert [(x.token_ids, x.scores) for x in alone] == [
            (x.token_ids, x.scores) for x in answers
        ]
        assert all(allowed(request, answer.token_ids) for answer in answers)


class Bounded(Constraint):
    """As many words as the source has, and one more; the second is 11 whatever is banned."""

    def length(self, request):
        return len(request.source) + 1 if request.source[0] == 5 else None

    def forced_token(self, request, position):
        return 11 if position == 1 else None

    def restrict(self, log_probs, requests, position, generated):
        assert position != 1


def test_a_constraint_may_fix_the_length_and_force_tokens():
    requests = [
        SearchRequest((5, 9, 4)),
        SearchRequest((6, 4)),
        SearchRequest((5,), prefix=(12, 13)),
    ]
    options = wanted(max_length=5, banned=frozenset({11}), constraint=Bounded(None))
    first, second, third = (x for (x,) in search([model("bahdanau2015")], requests, options))
    assert (len(first.token_ids), first.token_ids[1], first.truncated) == (4, 11, False)
    assert len(second.token_ids) < 2 or second.token_ids[1] == 11
    assert third.token_ids == (12, 13)
    assert all(11 not in (*x.token_ids[:1], *x.token_ids[2:]) for x in (first, second, third))


class Nothing(Constraint):
    def restrict(self, log_probs, requests, position, generated):
        log_probs.fill_(NEG_INF)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_constraint_that_nothing_satisfies_is_named(beam_size):
    options = wanted(beam_size=beam_size, constraint=Nothing(None))
    with pytest.raises(InputError, match=r"No output satisfies search\.constraint = none\. Use"):
        search([model("bahdanau2015")], lines(3), options)


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0}, {"beam_size": 3}])
def test_rules_that_contradict_each_other_are_named(settings):
    banned = frozenset({11, 12})
    options = wanted(constraint=Nothing(None), banned=banned, min_length=1, **settings)
    with pytest.raises(InputError) as refused:
        search([model("bahdanau2015")], [SearchRequest((5, 9), prefix=(7,))], options)
    assert str(refused.value) == (
        "No output satisfies search.constraint = none, the prefix, 2 banned tokens, "
        f"search.min_length = 1 and search.max_length = {options.config.max_length} together. "
        "Leave one of them out, or use a wider beam."
    )
