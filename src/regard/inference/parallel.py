"""Which lines are decoded together, and on which core.

A product's float32 result may change with the number of threads that compute it. Here one thread
computes each product, and the other cores decode other lines: the output does not depend on the
number of cores.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import get_num_threads, set_num_threads

from regard.inference.batch_invariance import padded_length
from regard.inference.worker_processes import run_in_processes, worth_processes

Output = TypeVar("Output")


def batches_by_length(
    lengths: Sequence[int], batch_size: int, min_lines: int, device: torch.device
) -> list[list[int]]:
    """Return the numbers of the lines of each batch: of one padded length, the longest first.

    There are enough batches for every core, unless they would have fewer than `min_lines` lines. A
    GPU gets no fewer than that, whatever the batch size: it would take as long.
    """
    share = -(-len(lengths) // _num_cores(device))
    on_cpu = device.type == "cpu"
    size = min(batch_size, max(share, min_lines)) if on_cpu else max(batch_size, min_lines)
    groups = defaultdict(list)
    # stable, and by length within a group too: lines of similar length end at about the same step
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        groups[padded_length(lengths[number])].append(number)
    return [
        numbers[first : first + size]
        for numbers in groups.values()
        for first in range(0, len(numbers), size)
    ]


def run_on_all_cores(
    work: Callable[[list[int]], Output], batches: Sequence[list[int]], device: torch.device
) -> Iterator[tuple[list[int], Output]]:
    """Yield each batch with its output, in any order; each core works on one batch at a time."""
    cores = min(_num_cores(device), len(batches))
    with single_thread(device):
        if cores <= 1:
            for batch in batches:
                yield batch, work(batch)
            return
        if worth_processes(len(batches), cores):
            yield from run_in_processes(work, batches, cores)
            return
        # new threads begin with the number of threads that is set for this one
        with ThreadPoolExecutor(cores) as pool:
            futures = {pool.submit(work, batch): batch for batch in batches}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                # after an error, or if the caller stops early
                pool.shutdown(cancel_futures=True)


def _num_cores(device: torch.device) -> int:
    # a GPU counts as one core
    return get_num_threads() if device.type == "cpu" else 1


@contextmanager
def single_thread(device: torch.device) -> Iterator[None]:
    """Compute each product of the calling thread with one thread."""
    num_threads = get_num_threads()
    if num_threads == 1 or device.type != "cpu":
        yield
        return
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(num_threads)
