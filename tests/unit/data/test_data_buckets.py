"""Batches by length: every row once, under the budget, little padding, and always the same."""

import os
import time
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import length_buckets
from regard.data.length_buckets import (
    MAX_WIDTHS,
    ROW_MULTIPLE,
    Buckets,
    batches_by_length,
    choose_widths,
)

CASES = int(os.environ.get("REGARD_CASES", "500"))
many = settings(max_examples=CASES, deadline=None)
lengths = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=60)
budgets = st.integers(1, 300)
numbers = st.integers(0, 2**32)


def arrays(pairs):
    columns = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def same(one, other):
    return [batch.tolist() for batch in one] == [batch.tolist() for batch in other]


def sentences(count, seed=0, mean=25):
    """Lengths as of sentences and their translations: skewed, and alike but not the same."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.lognormal(np.log(mean), 0.5, count), 1, 400).astype(np.int32)
    target = np.clip(source * rng.lognormal(0.05, 0.2, count), 1, 400).astype(np.int32)
    return source, target


@many
@given(pairs=lengths, batch_tokens=budgets, seed=numbers, epoch=numbers, window=st.integers(1, 80))
def test_every_row_occurs_once_and_no_batch_exceeds_the_budget(
    pairs, batch_tokens, seed, epoch, window
):
    source, target = arrays(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(length_buckets, "WINDOW", window)
        batches = Buckets(source, target, batch_tokens, seed).epoch(epoch)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(pairs)))
    for batch in batches:
        width = max(max(pairs[row]) + 1 for row in batch)
        assert len(batch) == 1 or width * len(batch) <= batch_tokens


@many
@given(pairs=lengths, batch_tokens=budgets, seed=numbers, epoch=numbers)
def test_an_epoch_depends_on_its_arguments_alone(pairs, batch_tokens, seed, epoch):
    source, target = arrays(pairs)
    one = Buckets(source, target, batch_tokens, seed)
    one.epoch(epoch + 1)
    np.random.seed(epoch % 7)
    other = Buckets(source.copy(), target.copy(), batch_tokens, seed)
    assert same(one.epoch(epoch), other.epoch(epoch))


def test_the_arrays_of_lengths_are_not_modified():
    source, target = sentences(1000)
    kept = source.copy(), target.copy()
    Buckets(source, target, 512, 0).epoch(0)
    assert np.array_equal(source, kept[0])
    assert np.array_equal(target, kept[1])


def test_a_batch_is_filled_to_the_budget():
    # rows of width 5 + 1, seven of them under 42 tokens
    five = np.full(21, 5, dtype=np.int32)
    assert [len(batch) for batch in Buckets(five, five, 42, 0).epoch(0)] == [7, 7, 7]
    assert [len(batch) for batch in Buckets(five, five, 41, 0).epoch(0)].count(6) == 3


def test_the_longer_side_counts():
    long, short = np.full(6, 9, dtype=np.int32), np.full(6, 2, dtype=np.int32)
    for source, target in ((long, short), (short, long)):
        assert [len(batch) for batch in Buckets(source, target, 30, 0).epoch(0)] == [3, 3]


def test_a_row_over_the_budget_is_a_batch_of_its_own():
    source = np.array([3, 100, 3], dtype=np.int32)
    batches = Buckets(source, source, 8, 0).epoch(0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0, 2], [1]]


def test_epochs_and_seeds_differ_in_rows_and_order():
    source, target = sentences(2000)
    one, other = Buckets(source, target, 512, 1), Buckets(source, target, 512, 2)
    assert not same(one.epoch(0), one.epoch(1))
    assert not same(one.epoch(0), other.epoch(0))
    companions = {frozenset(batch.tolist()) for batch in one.epoch(0)}
    assert len(companions & {frozenset(batch.tolist()) for batch in one.epoch(1)}) < 10


def test_batches_are_not_ordered_by_length():
    source, target = sentences(20_000)
    widths = [int(source[batch].max()) for batch in Buckets(source, target, 512, 0).epoch(0)]
    # of two neighbours either may be the longer: in sorted batches nearly none would fall
    falls = sum(after < before for before, after in pairwise(widths))
    assert 0.4 < falls / len(widths) < 0.6


@pytest.mark.parametrize("mean", [8, 25, 80])
def test_padding_wastes_less_than_a_twentieth(mean):
    source, target = sentences(100_000, mean=mean)
    batches = Buckets(source, target, 4096, 0).epoch(3)
    cells = sum(len(b) * (int(source[b].max()) + int(target[b].max()) + 1) for b in batches)
    true = int(source.sum()) + int(target.sum()) + len(target)
    assert 1 - true / cells < 0.05


def test_a_million_pairs_take_seconds_and_several_windows():
    source, target = sentences(1_000_000)
    start = time.process_time()
    batches = Buckets(source, target, 4096, 0).epoch(0)
    assert time.process_time() - start < 5
    assert np.bincount(np.concatenate(batches), minlength=1_000_000).tolist() == [1] * 1_000_000


@many
@given(given=st.lists(st.integers(0, 50), max_size=60), batch_tokens=budgets)
def test_batches_by_length_can_be_undone(given, batch_tokens):
    batches, restored = batches_by_length(np.array(given, dtype=np.int64), batch_tokens)
    computed = [given[row] for batch in batches for row in batch]
    assert computed == sorted(given)
    assert [computed[place] for place in restored] == given
    for batch in batches:
        width = max(given[row] + 1 for row in batch)
        assert len(batch) == 1 or width * len(batch) <= batch_tokens


def test_batches_by_length_sorts_stably_by_length():
    batches, restored = batches_by_length(np.array([4, 1, 4, 2, 1]), 6)
    assert [batch.tolist() for batch in batches] == [[1, 4], [3], [0], [2]]
    assert restored.tolist() == [3, 0, 4, 2, 1]


@many
@given(
    pairs=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=8),
    most=st.integers(1, 5),
)
def test_no_other_widths_pad_less(pairs, most):
    widths, weights = (np.array(column) for column in zip(*pairs, strict=True))

    def filled(chosen):
        return sum(n * (min(c for c in chosen if c >= w) - w) for w, n in pairs)

    chosen = choose_widths(widths, weights, most).tolist()
    known = sorted(set(widths.tolist()))
    assert len(chosen) == min(most, len(known))
    assert sorted(set(chosen)) == chosen
    others = [(*some, known[-1]) for some in combinations(known[:-1], len(chosen) - 1)]
    assert filled(chosen) == min(filled(other) for other in others)


@many
@given(pairs=lengths.filter(bool), batch_tokens=budgets, seed=numbers, epoch=st.integers(0, 9))
def test_batches_of_every_epoch_fit_into_few_shapes(pairs, batch_tokens, seed, epoch):
    source, target = arrays(pairs)
    made = Buckets(source, target, batch_tokens, seed)
    shapes = made.padded_shapes()
    assert max(len(shapes.sources), len(shapes.targets)) <= MAX_WIDTHS
    for batch in made.epoch(epoch):
        given = len(batch), max(1, source[batch].max()), target[batch].max() + 1
        roomy = shapes.shape(*given)
        assert all(room >= size for room, size in zip(roomy, given, strict=True))
        assert roomy[0] % ROW_MULTIPLE == 0
        assert roomy[0] - given[0] < ROW_MULTIPLE
        assert roomy[1] in shapes.sources
        assert roomy[2] in shapes.targets


def test_lines_of_one_length_are_not_padded():
    source = np.full(1000, 50, dtype=np.int32)
    shapes = Buckets(source, source - 1, 80 * 51, 1).padded_shapes()
    assert shapes.shape(80, 50, 50) == (80, 50, 50)
