"""A file that is written in one move, whole or not at all; and which file it is."""

import hashlib
import os
from pathlib import Path


def fingerprint(path: Path) -> str:
    """Return what tells a file's content from any other's."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside the old one, put it in its place, and leave nothing half written.

    What cannot be written is an OSError, which the caller puts into words.
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    # a name is safe only when its folder is
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
