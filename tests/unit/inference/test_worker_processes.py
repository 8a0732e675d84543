"""Batches that processes of their own work on: each once, whatever becomes of a process."""

import multiprocessing
import os
import signal
import threading

import numpy as np
import pytest
import torch

from regard.inference import parallel
from regard.inference.worker_processes import (
    MIN_BATCHES_PER_CORE,
    run_in_processes,
    worth_processes,
)
from regard.search import search
from search_cases import lines, model
from search_options import wanted

BATCHES = [[number, number + 100] for number in range(7)]


def in_order(outputs):
    return sorted(outputs, key=lambda pair: pair[0])


def test_every_batch_runs_once_in_a_worker_process():
    def work(batch):
        return sum(batch), os.getpid()

    outputs = in_order(run_in_processes(work, BATCHES, 2))
    assert [(batch, total) for batch, (total, _) in outputs] == [(b, sum(b)) for b in BATCHES]
    process_ids = {process for _, (_, process) in outputs}
    assert len(process_ids) == 2
    assert os.getpid() not in process_ids
    assert multiprocessing.active_children() == []


def test_batches_of_a_killed_process_run_in_the_caller():
    here = os.getpid()

    def work(batch):
        if batch[0] == 3 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    outputs = {batch[0]: process for batch, process in run_in_processes(work, BATCHES, 2)}
    assert sorted(outputs) == list(range(7))
    # 1 came before, 5 would have come after
    assert outputs[3] == outputs[5] == here
    assert here not in (outputs[0], outputs[1], outputs[2], outputs[4], outputs[6])


def test_an_error_of_a_worker_is_raised_with_its_type():
    def work(batch):
        if batch[0] == 2:
            raise ValueError("two")
        return 0

    with pytest.raises(ValueError, match="two"):
        list(run_in_processes(work, BATCHES, 2))
    assert multiprocessing.active_children() == []


def test_workers_stop_with_their_caller():
    never = threading.Event()

    def work(batch):
        if batch[0] > 1:
            never.wait(60)
        return 0

    outputs = run_in_processes(work, BATCHES, 2)
    next(outputs)
    outputs.close()
    assert multiprocessing.active_children() == []


def test_processes_are_for_many_batches_in_a_single_threaded_caller(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr("sys.platform", "linux")
    assert worth_processes(2 * MIN_BATCHES_PER_CORE, 2)
    assert not worth_processes(2 * MIN_BATCHES_PER_CORE - 1, 2)
    assert not worth_processes(100 * MIN_BATCHES_PER_CORE, 1)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not worth_processes(2 * MIN_BATCHES_PER_CORE, 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr("sys.platform", "darwin")
    assert not worth_processes(2 * MIN_BATCHES_PER_CORE, 2)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_outputs_of_processes_equal_those_of_threads(monkeypatch, beam_size):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    requests = lines(60)
    options = wanted(beam_size=beam_size, max_length=6, batch_size=5)
    answers = []
    try:
        for processes in (False, True):
            monkeypatch.setattr(parallel, "worth_processes", lambda *_, yes=processes: yes)
            num_done = []
            answers.append(
                search([model("bahdanau2015")], requests, options, progress=num_done.append)
            )
            assert sum(num_done) == 60
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*answers, strict=True):
        assert [a.token_ids for a in one] == [b.token_ids for b in other]
        assert [a.scores for a in one] == [b.scores for b in other]
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)
