"""Lines go together by length, a batch has one core, and nothing depends on how many there are."""

import threading

import numpy as np
import pytest
import torch
from search_cases import FEW, lines, model

from regard.models import PRESETS
from regard.nn.rows import each_part
from regard.search import Request, search
from regard.search.beam import _packed
from regard.search.threads import batches, one_core_each
from regard.search.tiles import ROWS, Tiles, span
from search_options import wanted

CPU = torch.device("cpu")


@pytest.fixture
def threads():
    """Set how many threads torch has, as a machine of so many cores would."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_source_is_padded_a_little_and_by_its_length_alone():
    lengths = [0, 1, 8, 9, 63, 64, 65, 128, 129, 200, 256, 257]
    assert [span(n) for n in lengths] == [8, 8, 8, 16, 64, 64, 80, 128, 160, 224, 256, 320]
    assert span(3, limit=5) == 5
    assert all(n <= span(n) < max(9, 1.25 * n) or n <= 32 for n in range(1, 2000))


def test_lines_go_together_by_length_and_none_is_lost(threads):
    threads(1)
    found = batches([3, 20, 8, 9, 1, 20, 10], batch_size=2, least=1, device=CPU)
    assert found == [[1, 5], [6, 3], [2, 0], [4]]
    assert batches([], batch_size=2, least=1, device=CPU) == []


def test_few_lines_are_shared_out_among_the_cores_unless_too_few(threads):
    def sizes(count, **more):
        return [len(numbers) for numbers in batches([5] * count, device=CPU, **more)]

    threads(2)
    assert sizes(32, batch_size=32, least=6) == [16, 16]
    assert sizes(9, batch_size=32, least=6) == [6, 3]
    assert sizes(32, batch_size=32, least=32) == [32]
    assert sizes(100, batch_size=32, least=6) == [32, 32, 32, 4]
    threads(4)
    assert sizes(32, batch_size=32, least=6) == [8, 8, 8, 8]


def test_a_gpu_is_given_whole_tiles():
    found = batches([5] * 100, batch_size=32, least=51, device=torch.device("cuda"))
    assert [len(numbers) for numbers in found] == [51, 49]


def test_batches_are_worked_on_at_once_and_each_product_has_one_thread(threads):
    threads(2)
    meeting = threading.Barrier(2, timeout=60)

    def work(batch):
        meeting.wait()
        return torch.get_num_threads(), sum(batch)

    found = {tuple(batch): result for batch, result in one_core_each(work, [[1, 2], [3]], CPU)}
    assert found == {(1, 2): (1, 3), (3,): (1, 3)}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("count", [1, 5])
def test_an_error_in_a_batch_is_passed_on_and_the_threads_are_given_back(threads, count):
    threads(2)

    def work(batch):
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        list(one_core_each(work, [[number] for number in range(count)], CPU))
    assert torch.get_num_threads() == 2
    # a thread that comes later has as many as before
    seen = []
    late = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    late.start()
    late.join()
    assert seen == [2]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_the_answer_is_the_same_on_any_number_of_cores_to_the_last_bit(threads, name):
    built = model(name)
    requests = lines(50, longest=20)
    found = []
    for count in (1, 2, 3):
        threads(count)
        options = wanted(beam_size=3, nbest=3, max_length=5, banned=FEW, batch_size=16)
        found.append(search([built], requests, options))
    for other in found[1:]:
        for answers, expected in zip(other, found[0], strict=True):
            assert [a.words for a in answers] == [b.words for b in expected]
            assert [a.scores for a in answers] == [b.scores for b in expected]
            for one, same in zip(answers, expected, strict=True):
                np.testing.assert_array_equal(one.weights, same.weights)


def test_what_is_done_ahead_is_done_by_one_thread(threads, monkeypatch):
    found = []

    def ahead(model):
        found.append(torch.get_num_threads())

    monkeypatch.setattr("regard.search.layout.ahead", ahead)
    threads(2)
    search([model("bahdanau2015")], lines(1, longest=3), wanted(max_length=2))
    assert found == [1]
    assert torch.get_num_threads() == 2


def counted(monkeypatch):
    """Return a list to which every step adds how many tiles it computed."""
    real, tiles = Tiles.step, []

    def step(self, words, imposed):
        tiles.append(self.num_tiles)
        return real(self, words, imposed)

    monkeypatch.setattr(Tiles, "step", step)
    return tiles


def test_lines_that_are_done_leave_in_whole_tiles(monkeypatch, threads):
    threads(1)
    requests = [Request((4 + n % 7, 4 + n % 5, 4 + n % 3)) for n in range(70)]
    tiles = counted(monkeypatch)
    options = wanted(max_length=6, banned=FEW, batch_size=70)
    found = search([model("bahdanau2015")], requests, options)
    lengths = [len(answer.words) for (answer,) in found]
    # a line of n words takes n + 1 steps, the last for EOS
    left = [sum(n >= step for n in lengths) for step in range(max(lengths) + 1)]
    assert tiles == [-(-count // ROWS) for count in left]
    assert len(set(tiles)) > 1


def test_at_the_first_step_a_line_has_one_row_however_wide_the_beam(monkeypatch, threads):
    threads(1)
    tiles = counted(monkeypatch)
    options = wanted(beam_size=5, min_length=2, max_length=2)
    search([model("bahdanau2015")], [Request((5, 9))] * 32, options)
    assert tiles == [1, 5, 5]


def test_only_what_changes_is_copied():
    tiles = Tiles.start(model("luong2015"), [(5, 9), (4,)])
    assert tiles.gather(np.arange(2)) is tiles
    several = tiles.gather(np.array([1, 1, 0]))
    assert torch.equal(several.memories[0].mask[:3].sum(dim=1), torch.tensor([1, 1, 2]))
    moved, _, _ = several.step(torch.tensor([4, 5, 6]), None)
    # rows of one source change places: their states move, what they look at need not
    swapped = moved.gather(np.array([1, 0, 2]))
    assert swapped.memories[0] is several.memories[0]
    assert torch.equal(swapped.states[0].shown[:3], moved.states[0].shown[[1, 0, 2]])
    left = swapped.gather(np.array([2]))
    assert torch.equal(left.memories[0].keys[0], tiles.memories[0].keys[0])
    # of two tiles only the one that lost a row is filled anew
    wide = tiles.gather(np.arange(2 * ROWS) % 2)
    rows = np.delete(np.arange(2 * ROWS), [ROWS])
    fewer = wide.gather(rows)
    assert fewer.memories[0] is wide.memories[0]
    assert fewer.memories[1].mask[0].sum() == 1


def test_lines_that_stay_keep_their_places_where_they_can():
    live = np.array([True, False, True, False, False, True, True])
    assert _packed(live).tolist() == [0, 5, 2, 6]
    assert _packed(~live).tolist() == [3, 1, 4]
    assert _packed(np.ones(3, dtype=bool)).tolist() == [0, 1, 2]


def lies_whole(record):
    """Return whether every tensor of a record is one block of memory, no view into a larger one."""
    found = []
    each_part(lambda part: found.append(part.is_contiguous()) or part, record)
    return all(found)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_rows_lie_in_memory_as_they_do_once_rows_have_moved(name):
    tiles = Tiles.start(model(name), [(5, 9, 4), (4, 4), (7,)])
    for _ in range(3):
        assert lies_whole(tiles.memories[0])
        assert lies_whole(tiles.states[0]) or name == "gehring2017"
        tiles, _, _ = tiles.step(torch.tensor([4, 5, 6]), None)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("beam_size", [1, 5])
def test_no_model_depends_on_who_leaves_first(name, beam_size):
    built = model(name)
    # more than fill a tile, so that rows move to another when it goes
    requests = lines(70, seed=3)
    options = wanted(beam_size=beam_size, max_length=5, banned=FEW, batch_size=70)
    together = search([built], requests, options)
    assert len({len(answers[0].words) for answers in together}) > 1 or name == "cho2014"
    for number in range(0, 70, 14):
        (alone,) = search([built], [requests[number]], options)
        assert [a.words for a in alone] == [a.words for a in together[number]]
        assert [a.scores for a in alone] == [a.scores for a in together[number]]
