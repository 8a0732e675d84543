"""The digest in a file: any changed bit is noticed; files of earlier versions have none."""

import hashlib
import random
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from regard.errors import ModelFileError
from regard.safetensors_files import (
    ALTERED,
    DIGEST_KEY,
    check_digest,
    read_digest,
    read_metadata,
    read_tensors,
    write_tensors,
)

COMPAT = Path(__file__).parents[2] / "compat"


@pytest.fixture
def path(tmp_path):
    # a name that looks like the digest must not be mistaken for it
    metadata = {"name": f'"{DIGEST_KEY}": "{"0" * 64}"', "zeros": "0" * 64, "猫": [1]}
    write_tensors(tmp_path / "file", {"x": torch.arange(100.0)}, metadata)
    return tmp_path / "file"


def test_the_digest_is_that_of_the_file_with_zeros_in_its_place(path):
    content, digest = path.read_bytes(), check_digest(path)
    zeros = content.replace(digest.encode(), b"0" * 64)
    assert hashlib.sha256(zeros).hexdigest() == digest == read_digest(path)


def test_the_digest_is_not_part_of_the_metadata_that_are_read(path):
    assert DIGEST_KEY not in read_metadata(path)
    assert read_metadata(path) == read_tensors(path)[1]


def test_every_flipped_bit_is_noticed(path):
    content, rng = path.read_bytes(), random.Random(1)
    for place in range(len(content)):
        bit = 1 << rng.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        # a file whose key is damaged counts as one without a digest
        with suppress(ModelFileError):
            assert check_digest(path) is None
    path.write_bytes(content + b"\0")
    with pytest.raises(ModelFileError) as caught:
        check_digest(path)
    assert caught.value.problem == ALTERED


def test_a_flipped_bit_of_a_tensor_is_named_as_damage(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    read_tensors(path)
    with pytest.raises(ModelFileError, match="does not match its digest, so it was damaged"):
        check_digest(path)


def test_files_of_earlier_versions_have_no_digest():
    assert check_digest(COMPAT / "luong2015.regard") is None
