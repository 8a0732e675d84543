"""Encoded pairs on disk: ids end to end, and where each line begins.

A corpus is a folder of three files. `ids.npy` holds the ids of source, target, source, target …
(int32); `offsets.npy` where each of them begins and the last one ends (int64); `corpus.json` the
counts and the fingerprint. Rows are read with `pread`, not through a memory map: mapped pages count
as memory of the process, and a few hundred random rows touch nearly all of them.
"""

import hashlib
import json
import os
import shutil
import struct
import weakref
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from regard.data import messages
from regard.errors import DataError, unwritable

Ids = NDArray[np.int32]

_VERSION = 1
_NAMES = {"ids.npy", "offsets.npy", "corpus.json"}
_IDS, _OFFSETS = np.dtype("<i4"), np.dtype("<i8")
_HEADER = 128
_CHUNK = 1 << 16


class EncodedBlock(NamedTuple):
    """Some pairs as ids: for each side, the lines end to end and the length of each."""

    source_ids: NDArray[Any]
    source_lengths: NDArray[Any]
    target_ids: NDArray[Any]
    target_lengths: NDArray[Any]


def write_corpus(folder: Path, rows: Iterable[tuple[list[int], list[int]]]) -> "Corpus":
    """Write rows as they come, as `write_blocks` does."""
    return write_blocks(folder, _encode_blocks(rows))


def write_blocks(folder: Path, blocks: Iterable[EncodedBlock]) -> "Corpus":
    """Write blocks as they come; the folder appears complete or not at all.

    An older corpus in its place is replaced; a folder of anything else is refused.
    """
    folder = Path(folder)
    if folder.exists() and not _is_corpus(folder):
        raise DataError(str(folder), None, messages.NOT_A_CORPUS)
    unfinished = folder.with_name(folder.name + ".unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        metadata = _write(unfinished, blocks)
        _replace_folder(unfinished, folder)
        # the content was hashed while it was written
        return Corpus(folder, metadata, check=False)
    except OSError as error:
        raise DataError(str(folder), None, unwritable(error)) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _encode_blocks(rows: Iterable[tuple[list[int], list[int]]]) -> Iterator[EncodedBlock]:
    """Join rows until a block is full."""
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    size = 0
    for source, target in rows:
        sources.append(source)
        targets.append(target)
        size += len(source) + len(target)
        if size >= _CHUNK:
            yield EncodedBlock(*_concatenate(sources), *_concatenate(targets))
            sources, targets, size = [], [], 0
    yield EncodedBlock(*_concatenate(sources), *_concatenate(targets))


def _concatenate(lines: list[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    ids = np.fromiter(chain.from_iterable(lines), dtype=np.int32)
    return ids, np.fromiter(map(len, lines), dtype=np.int32, count=len(lines))


def _interleave(block: EncodedBlock) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ids of source, target, source, target …, and where each of them ends."""
    lengths = np.stack([block.source_lengths, block.target_lengths], axis=1).ravel()
    of_source = np.repeat(np.tile([True, False], len(block.source_lengths)), lengths)
    ids = np.empty(len(of_source), dtype=_IDS)
    ids[of_source], ids[~of_source] = block.source_ids, block.target_ids
    return ids, np.cumsum(lengths, dtype=np.int64)


def _is_corpus(folder: Path) -> bool:
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= _NAMES


def _write(folder: Path, blocks: Iterable[EncodedBlock]) -> dict[str, Any]:
    with open(folder / "ids.npy", "wb") as flat, open(folder / "offsets.npy", "wb") as starts:
        ids, offsets = _Column(flat, _IDS), _Column(starts, _OFFSETS)
        offsets.extend(np.zeros(1))
        for block in blocks:
            numbers, ends = _interleave(block)
            offsets.extend(ids.count + ends)
            ids.extend(numbers)
        digests = [ids.finish(), offsets.finish()]
    metadata = {
        "fingerprint": _fingerprint(digests),
        "ids": ids.count,
        "pairs": offsets.count // 2,
        "version": _VERSION,
    }
    with open(folder / "corpus.json", "w", encoding="utf-8") as file:
        file.write(json.dumps(metadata) + "\n")
        file.flush()
        os.fsync(file.fileno())
    _fsync_folder(folder)
    return metadata


def _replace_folder(unfinished: Path, folder: Path) -> None:
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    unfinished.rename(folder)
    _fsync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _fsync_folder(folder: Path) -> None:
    """Make the file names in a folder durable, which fsync of a file does not."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fingerprint(digests: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _header(dtype: np.dtype[Any], count: int) -> bytes:
    """Return the .npy header of an array; its size is fixed, so it can be written last."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({count},), }}"
    start = b"\x93NUMPY\x01\x00"
    size = _HEADER - len(start) - 2
    return start + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"


@final
class _Column:
    """An array that grows on disk."""

    def __init__(self, file: IO[bytes], dtype: np.dtype[Any]) -> None:
        file.write(bytes(_HEADER))
        self.file, self.dtype = file, dtype
        self.count = 0
        self.digest = hashlib.sha256()

    def extend(self, numbers: NDArray[Any]) -> None:
        raw = numbers.astype(self.dtype, copy=False).tobytes()
        self.count += len(numbers)
        self.digest.update(raw)
        self.file.write(raw)

    def finish(self) -> bytes:
        """Write the header, sync the file, and return the digest of its content."""
        self.file.seek(0)
        self.file.write(_header(self.dtype, self.count))
        self.file.flush()
        os.fsync(self.file.fileno())
        return self.digest.digest()


@final
class Corpus:
    """Encoded pairs, read from disk row by row; memory holds only offsets and lengths."""

    def __init__(self, folder: Path, metadata: dict[str, Any], *, check: bool = True) -> None:
        self.folder = folder
        self.fingerprint: str = metadata["fingerprint"]
        self._ids = self._open_column("ids.npy", _IDS, metadata["ids"])
        self._offsets = self._open_column("offsets.npy", _OFFSETS, 2 * metadata["pairs"] + 1)
        files = (self._ids, self._offsets)
        if check and _fingerprint(map(_digest, files)) != self.fingerprint:
            raise ValueError(messages.CONTENT_CHANGED)
        self._read_offsets(metadata["pairs"])

    @classmethod
    def open(cls, folder: Path) -> "Corpus":
        """Open a folder that `write_corpus` wrote, after checking its fingerprint."""
        try:
            metadata = json.loads((Path(folder) / "corpus.json").read_text(encoding="utf-8"))
            if metadata["version"] != _VERSION:
                raise ValueError(messages.wrong_version(metadata["version"], _VERSION))
            return cls(Path(folder), metadata)
        except OSError as error:
            reason = f"{Path(error.filename or folder).name}: {error.strerror}"
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else messages.UNREADABLE_METADATA
        raise DataError(str(folder), None, messages.damaged_corpus(reason))

    def __len__(self) -> int:
        return len(self.source_lengths)

    def __getitem__(self, row: int) -> tuple[Ids, Ids]:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self.read(np.array([row]))

    def read(self, rows: NDArray[Any]) -> tuple[Ids, Ids]:
        """Return the source ids of some rows end to end, and their target ids."""
        sizes = np.stack([self.source_lengths[rows], self.target_lengths[rows]], axis=1)
        starts = self._chunks[rows // _CHUNK] + self._starts[rows]
        ids = self._read(self._ids, _IDS, starts, sizes.sum(axis=1))
        of_source = np.repeat(np.tile([True, False], len(rows)), sizes.ravel())
        return ids[of_source], ids[~of_source]

    def _read(
        self, file: int, dtype: np.dtype[Any], starts: NDArray[Any], counts: NDArray[Any]
    ) -> NDArray[Any]:
        """Read several pieces of a column, end to end."""
        positions, sizes = _HEADER + starts * dtype.itemsize, counts * dtype.itemsize
        pieces = zip(sizes.tolist(), positions.tolist(), strict=True)
        content = b"".join([os.pread(file, size, place) for size, place in pieces])
        if len(content) < sizes.sum():
            raise DataError(str(self.folder), None, messages.CORPUS_CUT)
        return np.frombuffer(content, dtype=dtype)

    def _open_column(self, name: str, dtype: np.dtype[Any], count: int) -> int:
        descriptor = os.open(self.folder / name, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        if os.fstat(descriptor).st_size != _HEADER + count * dtype.itemsize:
            raise ValueError(f"{name} has the wrong size")
        if os.pread(descriptor, _HEADER, 0) != _header(dtype, count):
            raise ValueError(f"{name} has another header")
        return descriptor

    def _read_offsets(self, pairs: int) -> None:
        self.source_lengths, self.target_lengths = np.empty((2, pairs), dtype=np.int32)
        # offsets within a chunk need half the memory of offsets in the file
        self._starts = np.empty(pairs, dtype=np.uint32)
        self._chunks = np.empty(-(-pairs // _CHUNK), dtype=np.int64)
        for start in range(0, pairs, _CHUNK):
            chunk = slice(start, min(start + _CHUNK, pairs))
            count = 2 * (chunk.stop - start) + 1
            offsets = self._read(self._offsets, _OFFSETS, np.array([2 * start]), np.array([count]))
            lengths = np.diff(offsets)
            self.source_lengths[chunk], self.target_lengths[chunk] = lengths[::2], lengths[1::2]
            self._chunks[start // _CHUNK] = offsets[0]
            self._starts[chunk] = offsets[:-1:2] - offsets[0]


def _digest(descriptor: int) -> bytes:
    """Hash the content of a file after its header."""
    digest, position = hashlib.sha256(), _HEADER
    while chunk := os.pread(descriptor, _CHUNK, position):
        digest.update(chunk)
        position += len(chunk)
    return digest.digest()
