"""Lines are batched by length; a batch has one core, and outputs do not depend on the cores."""

import threading

import numpy as np
import pytest
import torch

from regard.inference.parallel import batches_by_length, run_on_all_cores
from regard.search import search
from search_cases import FEW, lines, model
from search_options import wanted

CPU = torch.device("cpu")


@pytest.fixture
def threads():
    """Set how many threads torch has, as a machine of so many cores would."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_lines_are_batched_by_length_and_none_is_lost(threads):
    threads(1)
    outputs = batches_by_length([3, 20, 8, 9, 1, 20, 10], batch_size=2, min_lines=1, device=CPU)
    assert outputs == [[1, 5], [6, 3], [2, 0], [4]]
    assert batches_by_length([], batch_size=2, min_lines=1, device=CPU) == []


def test_few_lines_are_distributed_over_the_cores_unless_too_few(threads):
    def sizes(count, **more):
        return [len(numbers) for numbers in batches_by_length([5] * count, device=CPU, **more)]

    threads(2)
    assert sizes(32, batch_size=32, min_lines=6) == [16, 16]
    assert sizes(9, batch_size=32, min_lines=6) == [6, 3]
    assert sizes(32, batch_size=32, min_lines=32) == [32]
    assert sizes(100, batch_size=32, min_lines=6) == [32, 32, 32, 4]
    threads(4)
    assert sizes(32, batch_size=32, min_lines=6) == [8, 8, 8, 8]


def test_batches_for_a_gpu_are_whole_tiles():
    outputs = batches_by_length([5] * 100, batch_size=32, min_lines=51, device=torch.device("cuda"))
    assert [len(numbers) for numbers in outputs] == [51, 49]


def test_batches_run_in_parallel_with_one_thread_per_product(threads):
    threads(2)
    meeting = threading.Barrier(2, timeout=60)

    def work(batch):
        meeting.wait()
        return torch.get_num_threads(), sum(batch)

    outputs = {tuple(batch): result for batch, result in run_on_all_cores(work, [[1, 2], [3]], CPU)}
    assert outputs == {(1, 2): (1, 3), (3,): (1, 3)}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("count", [1, 5])
def test_an_error_in_a_batch_is_propagated_and_threads_are_restored(threads, count):
    threads(2)

    def work(batch):
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        list(run_on_all_cores(work, [[number] for number in range(count)], CPU))
    assert torch.get_num_threads() == 2
    # a thread that comes later has as many as before
    counts = []
    late = threading.Thread(target=lambda: counts.append(torch.get_num_threads()))
    late.start()
    late.join()
    assert counts == [2]


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
def test_the_output_is_bitwise_the_same_on_any_number_of_cores(threads, name):
    built = model(name)
    requests = lines(50, longest=20)
    outputs = []
    for count in (1, 2, 3):
        threads(count)
        options = wanted(beam_size=3, nbest=3, max_length=5, banned=FEW, batch_size=16)
        outputs.append(search([built], requests, options))
    for other in outputs[1:]:
        for answers, expected in zip(other, outputs[0], strict=True):
            assert [a.token_ids for a in answers] == [b.token_ids for b in expected]
            assert [a.scores for a in answers] == [b.scores for b in expected]
            for one, same in zip(answers, expected, strict=True):
                np.testing.assert_array_equal(one.weights, same.weights)


def test_a_model_is_prepared_by_one_thread(threads, monkeypatch):
    counts = []

    def choose_step(model):
        counts.append(torch.get_num_threads())
        return None, ""

    monkeypatch.setattr("regard.inference.prepare.choose_step", choose_step)
    threads(2)
    search([model("bahdanau2015")], lines(1, longest=3), wanted(max_length=2))
    assert counts == [1]
    assert torch.get_num_threads() == 2
