"""Batches that processes of their own work on: each once, whatever becomes of a process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

from regard.inference.worker_processes import (
    MIN_BATCHES_PER_CORE,
    run_in_processes,
    worth_processes,
)

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


PROCESSES_AND_THREADS = """
import numpy as np
import torch
from regard.inference import parallel
from regard.search import search
from search_cases import lines, model
from search_options import wanted

torch.set_num_threads(2)
requests = lines(100)
used = []
worth_processes = parallel.worth_processes
for beam_size in (1, 3):
    outputs = []
    for allowed in (True, False):
        def decide(*sizes):
            used.append(allowed and worth_processes(*sizes))
            return used[-1]

        parallel.worth_processes = decide
        num_done = []
        options = wanted(beam_size=beam_size, max_length=6, batch_size=5)
        outputs.append(search([model("bahdanau2015")], requests, options, progress=num_done.append))
        assert sum(num_done) == 100
    for one, other in zip(*outputs, strict=True):
        assert [a.token_ids for a in one] == [b.token_ids for b in other]
        assert [a.scores for a in one] == [b.scores for b in other]
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a.weights, b.weights)
assert used == [True, False, True, False], used
"""


def test_outputs_of_processes_are_those_of_threads():
    # a fork is safe only in a process without other threads, which a test runner may have
    subprocess.run(
        [sys.executable, "-c", PROCESSES_AND_THREADS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=120,
    )
