"""Refuses to train into a place that cannot be written, or that would lose an older model."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import ConfigError, DataError, RegardError, unwritable
from regard.pipeline.request import TrainRequest
from regard.training.run_folder import RunFolder


def check_writable(out: Path) -> None:
    """Notice before training that the model could not be saved."""
    try:
        if out.is_dir():
            raise DataError(str(out), None, f"it is a folder; {out / 'model.regard'} would do")
        parent = out.absolute().parent
        while not parent.exists():
            parent = parent.parent
    except OSError as error:
        problem = f"it cannot be reached ({error.strerror}); --out in another folder would do"
        raise DataError(str(out), None, problem) from None
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        problem = f"this user cannot write to {parent}; --out in another folder would do"
        raise DataError(str(out), None, problem)


def check_overwrite(request: TrainRequest, folder: RunFolder) -> None:
    """Keep an older model and an older run from being overwritten unintentionally."""
    if request.resume and request.overwrite:
        problem = "resume = true goes on with what overwrite = true would lose"
        raise ConfigError("train", [f"{problem}; one of them would do"])
    files = (request.out, folder.state)
    existing = [path for path in files if path is not None and path.exists()]
    if not existing or request.overwrite or (request.resume and folder.state.exists()):
        return
    would = "--overwrite to begin anew or another --out would do"
    problem = (
        f"it is there already, but it must not be lost; --resume to go on with its run, {would}"
    )
    if request.resume:
        problem = f"it is there, but the run that it came from is not; {would}"
    raise DataError(str(existing[0]), None, problem)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create a folder; if a stage that fills it is refused, a new one is removed again."""
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
