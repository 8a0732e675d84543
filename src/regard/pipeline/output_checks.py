"""Refuses output paths that cannot be written, or would overwrite an older model."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import ConfigError, DataError, RegardError, unwritable
from regard.pipeline import messages
from regard.pipeline.request import TrainRequest
from regard.training.run_folder import RunFolder


def check_writable(out: Path) -> None:
    """Refuse before training a path at which the model could not be saved."""
    try:
        if out.is_dir():
            raise DataError(str(out), None, messages.output_is_folder(out))
        parent = out.absolute().parent
        while not parent.exists():
            parent = parent.parent
    except OSError as error:
        raise DataError(str(out), None, messages.output_unreachable(error.strerror)) from None
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(str(out), None, messages.output_not_writable(parent))


def check_overwrite(request: TrainRequest, folder: RunFolder) -> None:
    """Keep an older model and an older run from being overwritten unintentionally."""
    if request.resume and request.overwrite:
        raise ConfigError("train", [messages.RESUME_AND_OVERWRITE])
    files = (request.out, folder.state)
    existing = [path for path in files if path is not None and path.exists()]
    if not existing or request.overwrite or (request.resume and folder.state.exists()):
        return
    problem = messages.OUTPUT_WITHOUT_RUN if request.resume else messages.OUTPUT_EXISTS
    raise DataError(str(existing[0]), None, problem)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create a folder; if a stage that fills it fails, remove it again if it is new."""
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = unwritable(error, "Use --out with another folder.")
        raise DataError(str(folder), None, problem) from None
    try:
        yield
    except RegardError:
        if not existed:
            shutil.rmtree(folder, ignore_errors=True)
        raise
