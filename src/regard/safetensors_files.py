"""Safetensors files with tensors and one JSON object as metadata; reading them runs no code.

The metadata hold a digest of the whole file: the SHA-256 of its bytes, computed while 64 zeros
stand in the digest's own place. Files of earlier versions have none.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from regard.atomic_files import replace_file
from regard.errors import ModelFileError, unreadable, unwritable

if TYPE_CHECKING:
    from torch import Tensor

KEY = "regard"
"""The metadata key of the JSON object."""

DIGEST_KEY = "file_sha256"
"""The key of the digest in that object."""

MAX_HEADER_BYTES = 100_000_000
"""Longer headers are refused: the length in a damaged file could be anything."""

UNDAMAGED = "Use an undamaged copy of a file written by regard."
DAMAGED = f"It is damaged or no model of regard. {UNDAMAGED}"
ALTERED = f"Its content does not match its digest, so it was damaged or edited. {UNDAMAGED}"
FOREIGN = f"It has tensors, but no metadata of regard. {UNDAMAGED}"

_ZEROS = b"0" * 64
# the quotes are escaped once, for the JSON object is a string in the JSON of the header; inside a
# string of the object they would be escaped twice
_DIGEST = re.compile(rb'\\"%s\\": \\"([0-9a-f]{64})\\"' % DIGEST_KEY.encode())
_CHUNK = 1 << 20


def write_tensors(path: Path, tensors: "Mapping[str, Tensor]", metadata: Mapping[str, Any]) -> None:
    """Write tensors, metadata and digest atomically; sorted keys make equal content equal bytes."""
    from safetensors.torch import save

    metadata = {**metadata, DIGEST_KEY: _ZEROS.decode()}
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False, allow_nan=False)
    content = save({name: part.contiguous() for name, part in tensors.items()}, {KEY: text})
    (length,) = struct.unpack("<Q", content[:8])
    place = _place_of_digest(content[: 8 + length])
    assert place is not None  # noqa: S101 (the key is in the metadata)
    digest = hashlib.sha256(content).hexdigest().encode()
    view = memoryview(content)
    try:
        replace_file(path, view[:place], digest, view[place + len(digest) :])
    except OSError as error:
        raise ModelFileError(str(path), unwritable(error)) from error


def read_tensors(path: Path) -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """Read tensors and metadata, or say in one sentence why they cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb") as file:
            _refuse_pickle(path, file.read(9))
    except OSError as error:
        raise ModelFileError(str(path), unreadable(error, str(path))) from error
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelFileError(str(path), DAMAGED) from error
    return tensors, _parse_metadata(path, text)


def read_digest(path: Path) -> str | None:
    """Return the digest that a file carries, unchecked; None for files of earlier versions."""
    # refuses what is no file of regard
    read_metadata(path)
    with open(path, "rb") as file:
        header = _raw_header(file)
    place = _place_of_digest(header)
    return None if place is None else header[place : place + len(_ZEROS)].decode()


def check_digest(path: Path) -> str | None:
    """Refuse a file that does not match its digest; return the digest, None if it has none."""
    expected = read_digest(path)
    if expected is None:
        return None
    with open(path, "rb") as file:
        header = _raw_header(file)
        digest = hashlib.sha256(header.replace(expected.encode(), _ZEROS, 1))
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != expected:
        raise ModelFileError(str(path), ALTERED)
    return expected


def read_metadata(path: Path, *, check_size: bool = False) -> dict[str, Any]:
    """Read the metadata alone, from the header; needs neither torch nor the tensors.

    `check_size` also refuses a file whose tensors are cut off, without reading them.
    """
    try:
        with open(path, "rb") as file:
            _refuse_pickle(path, file.read(9))
            file.seek(0)
            header = _read_header(file)
            if check_size and path.stat().st_size != file.tell() + _size_of_tensors(header):
                raise ValueError("the tensors are cut off")
    except OSError as error:
        raise ModelFileError(str(path), unreadable(error, str(path))) from error
    except (ValueError, KeyError, TypeError, struct.error, RecursionError) as error:
        raise ModelFileError(str(path), DAMAGED) from error
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else {}
    return _parse_metadata(path, metadata.get(KEY) if isinstance(metadata, dict) else None)


def _place_of_digest(header: bytes) -> int | None:
    """Return where the digest begins in a file; None if it has none, or several."""
    matches = list(_DIGEST.finditer(header))
    return matches[0].start(1) if len(matches) == 1 else None


def _raw_header(file: BinaryIO) -> bytes:
    """Read the header with its length, which was checked before."""
    length = file.read(8)
    return length + file.read(*struct.unpack("<Q", length))


def _read_header(file: BinaryIO) -> Any:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length} bytes")
    header = file.read(length)
    if len(header) < length:
        raise ValueError("the header is cut off")
    return json.loads(header)


def _size_of_tensors(header: dict[str, Any]) -> int:
    """Return how many bytes the tensors of a header take."""
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    return max((entry["data_offsets"][1] for entry in entries), default=0)


def _refuse_pickle(path: Path, head: bytes) -> None:
    pickled = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK")
    # the length of a header may begin with the same bytes, but the header follows it
    if head.startswith(pickled) and not head.endswith(b"{"):
        problem = f"It is a pickle, which can run any code when it is loaded. {UNDAMAGED}"
        raise ModelFileError(str(path), problem)


def _parse_metadata(path: Path, text: Any) -> dict[str, Any]:
    try:
        metadata = json.loads(text or "", parse_constant=_refuse_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(str(path), FOREIGN) from error
    if not isinstance(metadata, dict):
        raise ModelFileError(str(path), FOREIGN)
    metadata.pop(DIGEST_KEY, None)
    return metadata


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
