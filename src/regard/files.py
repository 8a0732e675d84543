"""A file that is written in one move: either the whole of it is there, or the old one still is."""

import os
from pathlib import Path


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
