"""Safetensors files: the metadata alone is what is read with the tensors, and damage is refused."""

import json
import struct

import pytest
import torch

from regard.errors import ModelFileError
from regard.safetensors_files import KEY, MAX_HEADER_BYTES, read_metadata, read_tensors
from regard.safetensors_files import write_tensors as write

METADATA = {"progress": {"step": 7}, "name": "猫"}


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "a.safetensors", {"x": torch.arange(1000.0)}, METADATA)
    return tmp_path / "a.safetensors"


def with_header(path, text):
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def test_the_metadata_alone_is_the_metadata(path):
    assert read_metadata(path) == read_tensors(path)[1] == METADATA


def test_metadata_is_readable_if_the_tensors_are_truncated(path):
    path.write_bytes(path.read_bytes()[:-3000])
    assert read_metadata(path) == METADATA
    with pytest.raises(ModelFileError, match="damaged"):
        read_tensors(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 9) + b"{}",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", MAX_HEADER_BYTES + 1) + b'{"__metadata__": {"regard": "{}"}}',
        struct.pack("<Q", 2) + b"\xff\xfe",
        struct.pack("<Q", 200_000) + b"[" * 200_000,
    ],
)
def test_damaged_files_get_an_error_message(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="It is damaged or no model of regard"):
        read_metadata(path)


@pytest.mark.parametrize("text", ["", "[1]", "2", "{", "[" * 200_000])
def test_metadata_must_be_an_object(path, text):
    with_header(path, json.dumps({"__metadata__": {KEY: text}}).encode())
    for read in (read_metadata, read_tensors):
        with pytest.raises(ModelFileError, match="no metadata of regard"):
            read(path)


@pytest.mark.parametrize("header", [{}, {"__metadata__": {}}, {"__metadata__": {"other": "{}"}}])
def test_a_safetensors_file_of_another_program_is_not_a_model(path, header):
    with_header(path, json.dumps(header).encode())
    with pytest.raises(ModelFileError, match="no metadata of regard"):
        read_metadata(path)


def test_pickles_and_missing_files_get_error_messages(path, tmp_path):
    path.write_bytes(b"\x80\x04" + b"x" * 20)
    with pytest.raises(ModelFileError, match="It is a pickle"):
        read_metadata(path)
    with pytest.raises(ModelFileError, match="no such file"):
        read_metadata(tmp_path / "nowhere")
