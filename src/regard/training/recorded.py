"""Training on a GPU: loss and gradients as recorded work, said once for each shape of a batch.

A replay computes what the calls would, in the same order. Batches come in few shapes, so that
there are few recordings. Nothing here waits for the device.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar, final

import torch
from torch import Tensor, nn

from regard.data.batches import Batch


@contextmanager
def repeatable(device: torch.device, precision: str) -> Iterator[None]:
    """Let a GPU, too, give the same bits each time; in tf32 where that is asked for."""
    if device.type != "cuda":
        yield
        return
    # the library's products take one workspace, and with it one order
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision()
    # filling memory that is about to be written would take its time
    memory: Any = torch.utils.deterministic
    fill, memory.fill_uninitialized_memory = memory.fill_uninitialized_memory, False
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        memory.fill_uninitialized_memory = fill
        torch.set_float32_matmul_precision(before[1])


T = TypeVar("T")


def ahead(items: Iterator[T], count: int = 4) -> Generator[T, None, None]:
    """Yield items that a thread of its own makes meanwhile, a few of them in advance.

    Close it: the thread is waited for, and when Python ends it is too late for that.
    """
    made: Queue[T | BaseException] = Queue(count)
    left = Event()

    def make() -> None:
        end: BaseException = StopIteration()
        try:
            for item in items:
                _put(made, item, left)
                if left.is_set():
                    return
        except BaseException as error:
            end = error
        _put(made, end, left)

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        while not isinstance(item := made.get(), BaseException):
            yield item
        if not isinstance(item, StopIteration):
            raise item
    finally:
        left.set()
        # still at work when Python ends, it would take the whole process down with it
        thread.join()


def _put(queue: "Queue[T]", item: T, left: Event) -> None:
    """Wait for a place, but not for one that nobody will make."""
    while not left.is_set():
        with suppress(Full):
            queue.put(item, timeout=0.1)
            break


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Batch


@final
class Recorded:
    """Adds the gradients of a batch to the parameters', by the recording of its shape."""

    def __init__(self, model: nn.Module, loss: Callable[[Batch], Tensor]) -> None:
        self.loss = loss
        self.parameters = [part for part in model.parameters() if part.requires_grad]
        self.device = self.parameters[0].device
        self.total = torch.zeros((), device=self.device)
        self.share = torch.zeros((), device=self.device)
        self.recordings: dict[tuple[int, ...], _Recording] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, batches: list[Batch], tokens: int) -> Callable[[], float]:
        """Add the gradients of the mean loss of a word; return what reads their summed loss."""
        self.total.zero_()
        self.share.fill_(1 / tokens)
        for parameter in self.parameters:
            # one place for each gradient, which every recording knows
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        for batch in batches:
            self._add(batch)
        return _later(self.total)

    def _add(self, batch: Batch) -> None:
        if batch.shape not in self.recordings:
            self.recordings[batch.shape] = self._record(batch.to(self.device))
        recording = self.recordings[batch.shape]
        for field in fields(Batch):
            place: Tensor = getattr(recording.batch, field.name)
            # only memory that stays where it is can be read while nobody waits
            place.copy_(getattr(batch, field.name).pin_memory(), non_blocking=True)
        recording.graph.replay()

    def _record(self, batch: Batch) -> _Recording:
        """Do it once for nothing, so that everything is compiled and loaded; then record it."""
        kept = [parameter.grad for parameter in self.parameters], self.total
        random = torch.cuda.get_rng_state(self.device)
        self.total = torch.zeros_like(self.total)
        for parameter in self.parameters:
            parameter.grad = None
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            self._compute(batch)
        torch.cuda.current_stream().wait_stream(beside)
        torch.cuda.set_rng_state(random, self.device)
        for parameter, grad in zip(self.parameters, kept[0], strict=True):
            parameter.grad = grad
        self.total = kept[1]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self._compute(batch)
        return _Recording(graph, batch)

    def _compute(self, batch: Batch) -> None:
        loss = self.loss(batch)
        torch.autograd.backward(loss * self.share)
        self.total.add_(loss.detach())


def _later(value: Tensor) -> Callable[[], float]:
    """Send a number to the host; return what waits for it, and for nothing that comes after."""
    host = torch.empty_like(value, device="cpu", pin_memory=True)
    host.copy_(value, non_blocking=True)
    sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
    sent.record()

    def read() -> float:
        sent.synchronize()
        return float(host)

    return read
