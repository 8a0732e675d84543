"""The tree of a search: all that was ever kept, and what led to it."""

import pytest

from regard.search import SearchRequest, search
from regard.special_tokens import EOS
from search_cases import FEW, SlowBeam, lines, model
from search_options import wanted


def path(tree, place):
    """Return the places from the first word to one node."""
    parent = tree[place].parent
    return [*([] if parent is None else path(tree, parent)), place]


def prefix_of(tree, place):
    return tuple(tree[p].token_id for p in path(tree, place))


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
@pytest.mark.parametrize("stop", ["full", "likeliest"])
def test_the_search_tree_has_every_hypothesis_of_the_beam(name, stop):
    built = model(name)
    requests = lines(9, seed=6)
    ways = {"beam_size": 4, "nbest": 2, "max_length": 7, "banned": FEW, "stop": stop}
    slow, options = SlowBeam(built, requests, **ways), wanted(**ways, keep_tree=True)
    for answers, expected in zip(search([built], requests, options), slow.beam, strict=True):
        tree = answers[0].tree
        assert answers[1].tree == ()
        prefixes = [prefix_of(tree, place) for place in range(len(tree))]
        assert len(set(prefixes)) == len(prefixes)
        assert set(prefixes) == set(expected)
        in_nbest = {
            p
            for place, token_ids in enumerate(prefixes)
            if token_ids in [(*a.token_ids, EOS) for a in answers]
            for p in path(tree, place)
        }
        for place, node in enumerate(tree):
            before = 0.0 if node.parent is None else tree[node.parent].total
            assert node.parent is None or node.parent < place
            assert node.position == len(prefixes[place]) - 1
            assert node.total == pytest.approx(before + node.score, abs=1e-5)
            assert node.finished == (node.token_id == EOS)
            assert node.in_nbest == (place in in_nbest)


def test_the_best_output_is_a_path_of_the_search_tree():
    (answers,) = search(
        [model("luong2015")], lines(1), wanted(beam_size=3, max_length=5, keep_tree=True)
    )
    tree = answers[0].tree
    ends = [place for place, node in enumerate(tree) if node.finished and node.in_nbest]
    assert len(ends) == 1
    assert prefix_of(tree, ends[0]) == (*answers[0].token_ids, EOS)
    assert tuple(tree[place].score for place in path(tree, ends[0])) == answers[0].scores


def test_greedy_search_has_no_branches():
    for (answer,) in search([model("cho2014")], lines(5), wanted(max_length=4, keep_tree=True)):
        assert [node.parent for node in answer.tree] == [None, *range(len(answer.token_ids))]
        assert tuple(node.token_id for node in answer.tree) == (*answer.token_ids, EOS)
        assert all(node.in_nbest for node in answer.tree)


def test_samples_are_separate_chains_of_the_search_tree():
    options = wanted(temperature=1.0, beam_size=3, nbest=3, max_length=5, keep_tree=True)
    (answers,) = search([model("bahdanau2015")], lines(1), options)
    tree = answers[0].tree
    assert sum(node.parent is None for node in tree) == 3
    ends = [prefix_of(tree, place) for place, node in enumerate(tree) if node.finished]
    assert sorted(ends) == sorted((*answer.token_ids, EOS) for answer in answers)
    assert all(node.in_nbest for node in tree)


@pytest.mark.parametrize("name", ["bahdanau2015", "gehring2017"])
def test_the_search_tree_has_the_prefix_and_pinned_attention(name):
    built = model(name)
    request = SearchRequest((5, 9, 4, 7), prefix=(11, 12), pins={1: 3, 2: 0})
    options = wanted(beam_size=3, nbest=3, max_length=6, min_length=3, keep_tree=True)
    (answers,) = search([built], [request], options)
    tree = answers[0].tree
    assert [(n.parent, n.token_id) for n in tree if n.position < 2] == [(None, 11), (0, 12)]
    assert all((answers[0].weights[t, ..., s] == 1).all() for t, s in request.pins.items())
    by_prefix = {prefix_of(tree, place): place for place in range(len(tree))}
    for answer in answers:
        places = path(tree, by_prefix[(*answer.token_ids, EOS)])
        assert tuple(tree[place].score for place in places) == answer.scores
    free = search([built], [SearchRequest(request.source, prefix=(11, 12))], options)[0][0].tree
    assert free[0].score == tree[0].score
    assert free[1].score != tree[1].score


def test_the_search_tree_is_optional():
    assert search([model("cho2014")], lines(1), wanted(max_length=3))[0][0].tree == ()
