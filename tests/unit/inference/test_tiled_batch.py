"""Rows are decoded in whole tiles, and no line depends on the lines it is batched with."""

import numpy as np
import pytest
import torch

from regard.inference.batch_invariance import TiledBatch, padded_length
from regard.inference.fixed_row_matmul import TILE_ROWS
from regard.inference.step_decoder import ReferenceStepDecoder
from regard.models import PRESETS
from regard.nn.tensor_record import map_tensors
from regard.search import SearchRequest, search
from search_cases import FEW, lines, model
from search_options import wanted


@pytest.fixture
def threads():
    """Set how many threads torch has, as a machine of so many cores would."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_source_is_padded_a_little_and_by_its_length_alone():
    lengths = [0, 1, 8, 9, 63, 64, 65, 128, 129, 200, 256, 257]
    assert [padded_length(n) for n in lengths] == [8, 8, 8, 16, 64, 64, 80, 128, 160, 224, 256, 320]
    assert padded_length(3, limit=5) == 5
    assert all(n <= padded_length(n) < max(9, 1.25 * n) or n <= 32 for n in range(1, 2000))


def count_tiles(monkeypatch):
    """Return a list to which every step adds how many tiles it computed."""
    real, tiles = TiledBatch.step, []

    def step(self, tokens, forced_weights):
        tiles.append(self.num_tiles)
        return real(self, tokens, forced_weights)

    monkeypatch.setattr(TiledBatch, "step", step)
    return tiles


def test_finished_lines_are_removed_in_whole_tiles(monkeypatch, threads):
    threads(1)
    requests = [SearchRequest((4 + n % 7, 4 + n % 5, 4 + n % 3)) for n in range(70)]
    tiles = count_tiles(monkeypatch)
    options = wanted(max_length=6, banned=FEW, batch_size=70)
    answers = search([model("bahdanau2015")], requests, options)
    lengths = [len(answer.token_ids) for (answer,) in answers]
    # a line of n words takes n + 1 steps, the last for EOS
    left = [sum(n >= step for n in lengths) for step in range(max(lengths) + 1)]
    assert tiles == [-(-count // TILE_ROWS) for count in left]
    assert len(set(tiles)) > 1


def test_a_line_has_one_row_at_the_first_step_for_any_beam(monkeypatch, threads):
    threads(1)
    tiles = count_tiles(monkeypatch)
    options = wanted(beam_size=5, min_length=2, max_length=2)
    search([model("bahdanau2015")], [SearchRequest((5, 9))] * 32, options)
    assert tiles == [1, 5, 5]


def test_only_changed_rows_are_copied():
    tiles = TiledBatch.start(ReferenceStepDecoder(model("luong2015")), [(5, 9), (4,)])
    assert tiles.gather(np.arange(2)) is tiles
    several = tiles.gather(np.array([1, 1, 0]))
    assert torch.equal(several.memories[0].mask[:3].sum(dim=1), torch.tensor([1, 1, 2]))
    stepped, _, _ = several.step(torch.tensor([4, 5, 6]), None)
    # rows of one source change places: their states move, what they look at need not
    swapped = stepped.gather(np.array([1, 0, 2]))
    assert swapped.memories[0] is several.memories[0]
    assert torch.equal(swapped.states[0].output[:3], stepped.states[0].output[[1, 0, 2]])
    left = swapped.gather(np.array([2]))
    assert torch.equal(left.memories[0].keys[0], tiles.memories[0].keys[0])
    # of two tiles only the one that lost a row is filled anew
    wide = tiles.gather(np.arange(2 * TILE_ROWS) % 2)
    rows = np.delete(np.arange(2 * TILE_ROWS), [TILE_ROWS])
    fewer = wide.gather(rows)
    assert fewer.memories[0] is wide.memories[0]
    assert fewer.memories[1].mask[0].sum() == 1


def lies_whole(record):
    """Return whether every tensor of a record is one block of memory, no view into a larger one."""
    contiguous = []
    map_tensors(lambda part: contiguous.append(part.is_contiguous()) or part, record)
    return all(contiguous)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_rows_have_the_memory_layout_of_reordered_rows(name):
    tiles = TiledBatch.start(ReferenceStepDecoder(model(name)), [(5, 9, 4), (4, 4), (7,)])
    for _ in range(3):
        assert lies_whole(tiles.memories[0])
        assert lies_whole(tiles.states[0]) or name == "gehring2017"
        tiles, _, _ = tiles.step(torch.tensor([4, 5, 6]), None)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("beam_size", [1, 5])
def test_no_model_depends_on_which_line_finishes_first(name, beam_size):
    built = model(name)
    # more than fill a tile, so that rows move to another when it goes
    requests = lines(70, seed=3)
    options = wanted(beam_size=beam_size, max_length=5, banned=FEW, batch_size=70)
    together = search([built], requests, options)
    assert len({len(answers[0].token_ids) for answers in together}) > 1 or name == "cho2014"
    for number in range(0, 70, 14):
        (alone,) = search([built], [requests[number]], options)
        assert [a.token_ids for a in alone] == [a.token_ids for a in together[number]]
        assert [a.scores for a in alone] == [a.scores for a in together[number]]
