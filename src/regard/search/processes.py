"""Batches worked on by processes of their own: threads of one wait for each other.

A process is a fork: it has the model without a copy, and ends when its share is done or nobody
listens. What one of them did not deliver, whatever became of it, is done here.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar, cast

Result = TypeVar("Result")

ENOUGH = 8
"""Batches for each core from which on a process of its own is worth its start."""


def worth_processes(count: int, cores: int) -> bool:
    """Whether so many batches are worth processes, and a fork is safe: nobody else is at work."""
    alone = threading.active_count() == 1 and threading.current_thread() is threading.main_thread()
    return sys.platform == "linux" and alone and count >= ENOUGH * cores > ENOUGH


def in_processes(
    work: Callable[[list[int]], Result], batches: Sequence[list[int]], cores: int
) -> Iterator[tuple[list[int], Result]]:
    """Yield each batch with what came of it, in any order."""
    context = get_context("fork")
    left = dict(enumerate(batches))
    running: dict[Any, ForkProcess] = {}
    try:
        for core in range(cores):
            here, there = context.Pipe(duplex=False)
            share = {number: left[number] for number in range(core, len(batches), cores)}
            process = context.Process(target=_deliver, args=(work, share, there), daemon=True)
            process.start()
            there.close()
            running[here] = process
        while running:
            for pipe in cast("list[Connection]", wait(list(running))):
                try:
                    number, result = cast("tuple[int, Result]", pipe.recv())
                except (EOFError, OSError):
                    running.pop(pipe).join()
                    continue
                yield left.pop(number), result
    finally:
        for process in running.values():
            process.terminate()
            process.join()
    for batch in left.values():
        yield batch, work(batch)


def _deliver(
    work: Callable[[list[int]], Any], share: dict[int, list[int]], pipe: Connection
) -> None:
    """Work on a share; an error is met again, and told, where the rest is done."""
    # who is interrupted is the one who waits
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for number, batch in share.items():
            pipe.send((number, work(batch)))
    except Exception:
        pipe.close()
