"""Prefetching: a background thread prepares batches while the device computes."""

from collections.abc import Generator, Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")


def prefetch(iterator: Iterator[T], count: int = 4) -> Generator[T, None, None]:
    """Yield the elements of an iterator, which a thread fetches up to `count` elements in advance.

    Close the generator: this waits for the thread, which Python cannot do while it exits.
    """
    queue: Queue[T | BaseException] = Queue(count)
    closed = Event()

    def fill_queue() -> None:
        end: BaseException = StopIteration()
        try:
            for element in iterator:
                _put(queue, element, closed)
                if closed.is_set():
                    return
        except BaseException as error:
            end = error
        _put(queue, end, closed)

    thread = Thread(target=fill_queue, daemon=True)
    thread.start()
    try:
        while not isinstance(element := queue.get(), BaseException):
            yield element
        if not isinstance(element, StopIteration):
            raise element
    finally:
        closed.set()
        # a thread that still runs while Python exits can crash the process
        thread.join()


def _put(queue: "Queue[T]", element: T, closed: Event) -> None:
    """Wait for a free place in the queue, until the consumer closes it."""
    while not closed.is_set():
        with suppress(Full):
            queue.put(element, timeout=0.1)
            break
