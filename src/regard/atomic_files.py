"""Atomic writes, which replace a file completely or not at all, and fingerprints of files."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint_json(tree: Any) -> str:
    """Return the SHA-256 of what JSON keeps of a tree, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def replace_file(path: Path, *content: bytes | memoryview) -> None:
    """Write a temporary file beside the old one, then rename it over the old one.

    Raises OSError if the file cannot be written; the caller words the message.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    # the new name is on disk only when its folder is
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
