"""Rows as tensors: fed begins with BOS, target ends in EOS, PAD fills up behind both."""

import dataclasses

import pytest
import torch

from regard.data.batches import Batch, make_batch
from regard.data.corpus import write_corpus
from regard.special_tokens import BOS, EOS, PAD


@pytest.fixture
def corpus(tmp_path):
    rows = [([5, 6, 7], [8]), ([9], [10, 11]), ([], [12]), ([13, 14], [])]
    return write_corpus(tmp_path / "c", rows)


def test_rows_are_padded_on_the_right(corpus):
    batch = make_batch(corpus, [1, 0, 3])
    assert batch.source.tolist() == [[9, PAD, PAD], [5, 6, 7], [13, 14, PAD]]
    assert batch.source_mask.tolist() == [
        [True, False, False],
        [True, True, True],
        [True, True, False],
    ]
    assert batch.fed.tolist() == [[BOS, 10, 11], [BOS, 8, PAD], [BOS, PAD, PAD]]
    assert batch.target.tolist() == [[10, 11, EOS], [8, EOS, PAD], [EOS, PAD, PAD]]
    assert batch.target_mask.tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, False],
    ]


def test_ids_are_int64_and_masks_bool(corpus):
    batch = make_batch(corpus, [0])
    kinds = [getattr(batch, field.name).dtype for field in dataclasses.fields(batch)]
    assert kinds == [torch.int64, torch.bool, torch.int64, torch.int64, torch.bool]


def test_the_tokens_that_count_are_those_of_the_target_with_eos(corpus):
    assert make_batch(corpus, [0, 1, 2, 3]).num_tokens == 2 + 3 + 2 + 1


def test_an_empty_source_has_one_masked_position(corpus):
    batch = make_batch(corpus, [2])
    assert batch.source.tolist() == [[PAD]]
    assert batch.source_mask.tolist() == [[False]]


def test_a_batch_moves_to_a_device_as_a_whole(corpus):
    batch = make_batch(corpus, torch.tensor([0, 1]).numpy())
    moved = batch.to("meta")
    for field in dataclasses.fields(Batch):
        tensor = getattr(moved, field.name)
        assert tensor.device.type == "meta"
        assert tensor.shape == getattr(batch, field.name).shape
    assert batch.source.device.type == "cpu"


def test_a_batch_is_immutable(corpus):
    batch = make_batch(corpus, [0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.source = batch.target


def test_a_padded_batch_has_its_rows_and_masks_the_rest(corpus):
    batch = make_batch(corpus, [1, 0])
    padded = batch.padded_to(3, 4, 5)
    assert padded.source.tolist() == [[9, PAD, PAD, PAD], [5, 6, 7, PAD], [PAD] * 4]
    assert padded.fed.tolist() == [[BOS, 10, 11, PAD, PAD], [BOS, 8, PAD, PAD, PAD], [PAD] * 5]
    assert padded.target.tolist() == [[10, 11, EOS, PAD, PAD], [8, EOS, PAD, PAD, PAD], [PAD] * 5]
    assert padded.source_mask.sum(dim=1).tolist() == [1, 3, 0]
    assert padded.target_mask.sum(dim=1).tolist() == [3, 2, 0]
    assert padded.num_tokens == batch.num_tokens
