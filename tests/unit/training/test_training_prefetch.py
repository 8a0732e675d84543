"""What a thread makes in advance: in order, with its errors, and no longer than it is wanted."""

import threading
import time
from itertools import count, islice

import pytest

from regard.training.prefetch import prefetch


def test_prefetched_items_come_in_order_and_in_bounded_number():
    made = []

    def numbers():
        for number in count():
            made.append(number)
            yield number

    items = prefetch(numbers(), 3)
    assert list(islice(items, 5)) == [0, 1, 2, 3, 4]
    deadline = time.monotonic() + 5
    while len(made) < 9 and time.monotonic() < deadline:
        time.sleep(0.01)
    # five taken, three waiting, one in hand
    assert made == list(range(9))


def test_a_prefetch_error_is_raised_at_its_position():
    def numbers():
        yield 1
        raise ValueError("no more")

    items = prefetch(numbers())
    assert next(items) == 1
    with pytest.raises(ValueError, match="no more"):
        next(items)


def test_the_prefetch_thread_ends_with_its_consumer():
    before = threading.active_count()
    items = prefetch(count(), 2)
    next(items)
    assert threading.active_count() == before + 1
    items.close()
    assert threading.active_count() == before


def test_closing_waits_for_an_item_in_preparation():
    """A thread that is still at work when Python ends takes the whole process down with it."""
    begun, made = threading.Event(), []

    def numbers():
        yield 0
        begun.set()
        time.sleep(0.3)
        made.append(1)
        yield 1

    items = prefetch(numbers())
    next(items)
    begun.wait(5)
    items.close()
    assert made == [1]


def test_an_exhausted_iterator_ends():
    assert list(prefetch(iter([1, 2, 3]))) == [1, 2, 3]
