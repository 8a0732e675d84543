"""Checks before a run resumes: are its files as they were, and is its state that of a run?

A state names the checkpoints and logs that belong to it, each with a digest. States of earlier
versions name none; then only the content of the state is checked.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.errors import ModelFileError, unreadable
from regard.safetensors_files import check_digest, read_digest
from regard.training import messages
from regard.training.early_stopping import TrainingProgress
from regard.training.optimizer import state_names

LOGS = ("log.jsonl", "throughput.jsonl")
"""Logs that a resumed run continues."""


def describe_files(folder: Path, checkpoints: Iterable[Path]) -> dict[str, Any]:
    """Return the digest of each checkpoint, and size and digest of each log, by file name."""
    files: dict[str, Any] = {}
    for path in sorted(checkpoints):
        if path.exists() and (digest := read_digest(path)) is not None:
            files[path.name] = digest
    for name in LOGS:
        if (folder / name).exists():
            with open(folder / name, "rb") as file:
                # the state must not be on disk before the lines that it counts
                os.fsync(file.fileno())
                content = file.read()
            files[name] = [len(content), hashlib.sha256(content).hexdigest()]
    return files


def check_files(state: Path, metadata: Mapping[str, Any], checkpoints: Iterable[Path]) -> None:
    """Refuse checkpoints and logs that are not those of the state."""
    folder = state.parent
    files = _parse_files(state, metadata)
    for path in sorted(checkpoints):
        if not path.exists():
            raise ModelFileError(str(path), messages.missing_checkpoint())
        if check_digest(path) != files.get(path.name) and files:
            raise ModelFileError(str(path), messages.OTHER_CHECKPOINT)
    for name in LOGS:
        # a log that was deleted is begun anew
        if name in files and (folder / name).exists():
            _check_log(folder / name, *files[name])


def _parse_files(state: Path, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files that a state names; none in a state of an earlier version."""
    try:
        files = dict(metadata.get("files", {}))
        for name in LOGS:
            size, digest = files.get(name, [0, ""])
            if type(size) is not int or size < 0 or not isinstance(digest, str):
                raise TypeError("a log has no size or no digest")
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(state), messages.unusable_state("list of files", error)) from error
    return files


def _check_log(path: Path, size: int, digest: str) -> None:
    """Refuse a log whose first bytes have changed; those after the last save do not count."""
    try:
        with open(path, "rb") as file:
            content = file.read(size)
    except OSError as error:
        raise ModelFileError(str(path), unreadable(error, str(path))) from error
    if len(content) < size or hashlib.sha256(content).hexdigest() != digest:
        raise ModelFileError(str(path), messages.ALTERED_LOG)


def parse_progress(path: Path, metadata: Mapping[str, Any]) -> TrainingProgress:
    """Return the progress that a state holds, or refuse the state."""
    try:
        progress = TrainingProgress.from_json(metadata["progress"])
        counts = [progress.step, progress.epoch, progress.batch, progress.best_step, progress.stale]
        counts += [step for _, step in progress.checkpoints]
        scores = [score for score, _ in progress.checkpoints]
        scores += [] if progress.best is None else [progress.best]
        whole = all(type(count) is int and 0 <= count < 2**53 for count in counts)
        finite = all(type(score) in (int, float) and math.isfinite(score) for score in scores)
        if not (whole and finite and type(progress.finished) is bool):
            raise ValueError("a number is out of range")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(str(path), messages.unusable_state("progress", error)) from error
    return progress


def check_shapes(path: Path, tensors: Mapping[str, Tensor], model: nn.Module) -> None:
    """Refuse weights that are not those of a model."""
    expected = {name: parameter.shape for name, parameter in model.named_parameters()}
    for name in sorted({**expected, **tensors}):
        tensor = tensors.get(name)
        fits = tensor is not None and tensor.is_floating_point()
        if tensor is None or not fits or expected.get(name) != tensor.shape:
            raise ModelFileError(str(path), messages.other_weights(name))


def check_optimizer(
    path: Path, tensors: Mapping[str, Tensor], model: nn.Module, optimizer: Optimizer
) -> None:
    """Refuse a state that is not one of this optimizer for this model."""
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    names_by_parameter: dict[str, set[str]] = {}
    for key, tensor in tensors.items():
        parameter, _, name = key.rpartition("/")
        shape = torch.Size() if name == "step" else shapes.get(parameter)
        if parameter not in shapes or tensor.shape != shape or not tensor.is_floating_point():
            raise ModelFileError(str(path), messages.other_weights(key))
        names_by_parameter.setdefault(parameter, set()).add(name)
    for parameter, names in names_by_parameter.items():
        if names != state_names(optimizer):
            raise ModelFileError(str(path), messages.other_weights(parameter))
