"""A line has the same output in any batch on a GPU too."""

import pytest
import torch

import presets as small
from regard.models import PRESETS
from regard.search import SearchRequest, search
from search_options import wanted

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("name", PRESETS)
def test_a_line_in_any_batch_is_translated_as_alone(name, beam_size):
    model = small.model(name, dtype=torch.float32).cuda()
    generator = torch.Generator().manual_seed(1)
    lines = [
        tuple(torch.randint(4, small.V_X, (int(n),), generator=generator).tolist())
        for n in torch.randint(1, 9, (300,), generator=generator)
    ]
    options = wanted(beam_size=beam_size, max_length=12, batch_size=300)
    together = search([model], [SearchRequest(line) for line in lines], options)
    for line, answers in list(zip(lines, together, strict=True))[::11]:
        (alone,) = search([model], [SearchRequest(line)], options)
        assert [a.token_ids for a in alone] == [a.token_ids for a in answers]
        assert [a.scores for a in alone] == [a.scores for a in answers]
