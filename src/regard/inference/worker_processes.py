"""Worker processes for many batches: threads of one process wait for each other.

A worker is a fork: it shares the model's memory, and ends after its share of the batches or with
its caller. If a worker fails to return a batch, the caller computes it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar, cast

Output = TypeVar("Output")

MIN_BATCHES_PER_CORE = 8
"""Batches per core that make it worth starting a process."""


def worth_processes(num_batches: int, cores: int) -> bool:
    """Whether so many batches are worth processes, and a fork is safe: no other thread runs."""
    alone = threading.active_count() == 1 and threading.current_thread() is threading.main_thread()
    enough = num_batches >= MIN_BATCHES_PER_CORE * cores > MIN_BATCHES_PER_CORE
    return sys.platform == "linux" and alone and enough


def run_in_processes(
    work: Callable[[list[int]], Output], batches: Sequence[list[int]], cores: int
) -> Iterator[tuple[list[int], Output]]:
    """Yield each batch with its output, in any order."""
    context = get_context("fork")
    unfinished_batches = dict(enumerate(batches))
    running: dict[Any, ForkProcess] = {}
    try:
        for core in range(cores):
            receiver, sender = context.Pipe(duplex=False)
            share = {
                number: unfinished_batches[number] for number in range(core, len(batches), cores)
            }
            arguments = work, share, sender
            process = context.Process(target=_compute_share, args=arguments, daemon=True)
            process.start()
            sender.close()
            running[receiver] = process
        while running:
            for receiver in cast("list[Connection]", wait(list(running))):
                try:
                    number, output = cast("tuple[int, Output]", receiver.recv())
                except (EOFError, OSError):
                    running.pop(receiver).join()
                    continue
                yield unfinished_batches.pop(number), output
    finally:
        for process in running.values():
            process.terminate()
            process.join()
    for batch in unfinished_batches.values():
        yield batch, work(batch)


def _compute_share(
    work: Callable[[list[int]], Any], share: dict[int, list[int]], sender: Connection
) -> None:
    """Compute a share; after an error the caller computes the rest, and raises it there."""
    # an interrupt is for the caller
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for number, batch in share.items():
            sender.send((number, work(batch)))
    except Exception:
        sender.close()
