"""Which lines are searched together, and by which core.

A product's float32 result may change with how many threads compute it. Here one thread computes
each, whatever the machine has, and other cores search other lines: the answer is the same on any
number of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import get_num_threads, set_num_threads

from regard.search.processes import in_processes, worth_processes
from regard.search.tiles import span

Result = TypeVar("Result")


def batches(
    lengths: Sequence[int], batch_size: int, least: int, device: torch.device
) -> list[list[int]]:
    """Return which lines go together: alike in length, the longest first.

    There are enough batches for every core, unless they would have fewer lines than `least`. A GPU
    is given no fewer, whatever was asked for: it would take as long.
    """
    share = -(-len(lengths) // _cores(device))
    size = min(batch_size, max(share, least)) if device.type == "cpu" else max(batch_size, least)
    groups = defaultdict(list)
    # stable, and by length within a span too: what is alike in length is done at about one time
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        groups[span(lengths[number])].append(number)
    return [
        numbers[first : first + size]
        for numbers in groups.values()
        for first in range(0, len(numbers), size)
    ]


def one_core_each(
    work: Callable[[list[int]], Result], batches: Sequence[list[int]], device: torch.device
) -> Iterator[tuple[list[int], Result]]:
    """Yield each batch with what came of it, in any order, several cores working at once."""
    cores = min(_cores(device), len(batches))
    with one_thread(device):
        if cores <= 1:
            for batch in batches:
                yield batch, work(batch)
            return
        if worth_processes(len(batches), cores):
            yield from in_processes(work, batches, cores)
            return
        # what is set for this thread is what new ones begin with
        with ThreadPoolExecutor(cores) as pool:
            waiting = {pool.submit(work, batch): batch for batch in batches}
            try:
                for done in as_completed(waiting):
                    yield waiting[done], done.result()
            finally:
                # after an error, or where nobody wants the rest
                pool.shutdown(cancel_futures=True)


def _cores(device: torch.device) -> int:
    # a GPU is one, whoever feeds it
    return get_num_threads() if device.type == "cpu" else 1


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Let one thread compute each product of the calling thread."""
    before = get_num_threads()
    if before == 1 or device.type != "cpu":
        yield
        return
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(before)
