"""Limits where models would break them: lines that end early, tokens that are generated."""

import numpy as np
import pytest
import torch

from regard.search import SearchRequest, search
from regard.search.output_limits import OutputLimits
from regard.search.top_k import NEG_INF
from search_cases import FEW, lines, model
from search_options import wanted

CPU = torch.device("cpu")
NOTHING = np.zeros((0, 0, 0), dtype=np.int64)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_no_line_ends_before_its_minimum_length(beam_size):
    built, requests = model("bahdanau2015", seed=2), lines(9, seed=7)
    size = {"beam_size": beam_size, "max_length": 6, "banned": FEW}
    free = search([built], requests, wanted(**size))
    assert min(len(answers[0].token_ids) for answers in free) < 4
    for answers in search([built], requests, wanted(**size, min_length=4)):
        assert 4 <= len(answers[0].token_ids) <= 6
    for request, answers in zip(
        requests, search([built], requests, wanted(**size, same_length=True)), strict=True
    ):
        assert len(answers[0].token_ids) == len(request.source)


def test_each_line_has_its_own_limits():
    requests = [SearchRequest((4, 4, 4)), SearchRequest((4,), prefix=(5, 6)), SearchRequest((4,))]
    limits = OutputLimits(requests, wanted(same_length=True, banned=frozenset({5})), None, CPU)

    def allowed(numbers, position):
        """Return the tokens, of eight, that may stand there in the first slot of each line."""
        scores = torch.zeros(len(numbers), 2, 8)
        scores = limits.apply(scores, np.array(numbers), position, NOTHING)
        assert scores[:, 0].equal(scores[:, 1])
        return [(row > NEG_INF).nonzero()[:, 0].tolist() for row in scores[:, 0]]

    # PAD = 0 and BOS = 2 never, EOS = 3 not yet, 5 only where a prefix has it
    token_ids = [1, 4, 6, 7]
    assert allowed([0, 1, 2], 0) == [token_ids, [5], token_ids]
    assert allowed([0, 1, 2], 1) == [token_ids, [6], [3]]
    assert allowed([2, 0], 1) == [[3], token_ids]
    assert allowed([1, 0], 3) == [[3], [3]]
