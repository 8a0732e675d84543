"""The run folder: the state from which a run resumes bit for bit, its checkpoints and its logs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.atomic_files import replace_file
from regard.errors import ModelFileError, unreadable, unwritable
from regard.model_file import unique_tensors
from regard.models.seq2seq import Seq2Seq
from regard.renamed_parameters import with_new_names
from regard.safetensors_files import (
    ALTERED,
    check_digest,
    read_metadata,
    read_tensors,
    write_tensors,
)
from regard.training import messages
from regard.training.early_stopping import TrainingProgress
from regard.training.optimizer import optimizer_tensors, restore_optimizer
from regard.training.state_checks import (
    check_files,
    check_optimizer,
    check_shapes,
    describe_files,
    parse_progress,
)


@final
@dataclass(frozen=True)
class RunFolder:
    """Everything that a run needs to resume; the model file itself is elsewhere."""

    path: Path

    @property
    def state(self) -> Path:
        """The state of the last save."""
        return self.path / "state.safetensors"

    def checkpoint(self, step: int) -> Path:
        """The weights at a validation."""
        return self.path / f"step-{step:08d}.safetensors"

    def save(
        self,
        progress: TrainingProgress,
        model: Seq2Seq,
        optimizer: Optimizer,
        recipe: dict[str, Any],
    ) -> None:
        """Write the state atomically, then delete the checkpoints that are no longer needed."""
        tensors = {f"model/{name}": part for name, part in unique_tensors(model).items()}
        for name, part in optimizer_tensors(optimizer, model).items():
            tensors[f"optimizer/{name}"] = part
        needed_checkpoints = self._needed_checkpoints(progress)
        metadata = {"progress": progress.to_json(), "recipe": recipe}
        metadata["files"] = describe_files(self.path, needed_checkpoints)
        write_tensors(self.state, tensors, metadata)
        for path in self.path.glob("step-*.safetensors"):
            if path not in needed_checkpoints:
                path.unlink()

    def _needed_checkpoints(self, progress: TrainingProgress) -> set[Path]:
        """Return the checkpoints from which the final model may be made."""
        if progress.best is None:
            return set()
        steps = {progress.best_step, *(step for _, step in progress.checkpoints)}
        return {self.checkpoint(step) for step in steps}

    def save_checkpoint(self, step: int, model: Seq2Seq) -> None:
        """Write the weights of a step."""
        write_tensors(self.checkpoint(step), unique_tensors(model), {"step": step})

    def load(self, model: Seq2Seq, optimizer: Optimizer) -> TrainingProgress:
        """Restore model and optimizer from the last save, if there is one.

        Refuse it if the state, a checkpoint or a log is not as it was saved.
        """
        if not self.state.exists():
            return TrainingProgress()
        metadata = self._checked_metadata()
        progress = parse_progress(self.state, metadata)
        check_files(self.state, metadata, self._needed_checkpoints(progress))
        tensors, _ = read_tensors(self.state)
        weights = with_new_names(_without_prefix("model/", tensors))
        check_shapes(self.state, weights, model)
        optimizer_state = with_new_names(_without_prefix("optimizer/", tensors))
        check_optimizer(self.state, optimizer_state, model, optimizer)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        restore_optimizer(optimizer, model, optimizer_state)
        return progress

    def progress(self) -> TrainingProgress:
        """Return how far the run was at the last save."""
        if not self.state.exists():
            return TrainingProgress()
        return parse_progress(self.state, read_metadata(self.state, check_size=True))

    def recipe(self) -> dict[str, Any] | None:
        """Return everything that decides the result of the run; None if nothing is saved."""
        if not self.state.exists():
            return None
        recipe = self._checked_metadata().get("recipe")
        if not isinstance(recipe, dict):
            raise ModelFileError(str(self.state), messages.NO_RECIPE)
        return recipe

    def _checked_metadata(self) -> dict[str, Any]:
        """Return the metadata of the state, if the whole state is as it was saved."""
        metadata = read_metadata(self.state, check_size=True)
        # only states of earlier versions have no digest; they name no files either
        if check_digest(self.state) is None and "files" in metadata:
            raise ModelFileError(str(self.state), ALTERED)
        return metadata

    def clear(self) -> None:
        """Delete a run: its state, its checkpoints, its logs."""
        logs = ("log.jsonl", "throughput.jsonl", "pace.jsonl", "dev.jsonl", "summary.json")
        for pattern in ("state.safetensors", "plan.json", "step-*.safetensors", *logs):
            for path in self.path.glob(pattern):
                path.unlink()

    def average_checkpoints(self, steps: Sequence[int], model: Seq2Seq) -> dict[str, Tensor]:
        """Checkpoint averaging: return the mean weights, summed in order of step in float64."""
        total: dict[str, Tensor] = {}
        for step in sorted(steps):
            path = self.checkpoint(step)
            if not path.exists():
                raise ModelFileError(str(path), messages.missing_checkpoint())
            check_digest(path)
            weights = with_new_names(read_tensors(path)[0])
            check_shapes(path, weights, model)
            for name, part in weights.items():
                total[name] = total.get(name, 0.0) + part.double()
        return {name: (part / len(steps)).float() for name, part in total.items()}

    def log(self, entry: dict[str, Any], name: str = "log.jsonl") -> None:
        """Append a line to the log of the run, or to another log with a step in each line."""
        path = self.path / name
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, sort_keys=True) + "\n")
        except OSError as error:
            raise ModelFileError(str(path), unwritable(error)) from error

    def last_logged(self, name: str) -> dict[str, Any]:
        """Return the last complete line of a log, or nothing."""
        entries = [entry for _, entry in self._entries(name)]
        return entries[-1] if entries else {}

    def shorten_log(self, step: int, name: str = "log.jsonl") -> None:
        """Delete the lines after a step, which will be logged again, and incomplete ones."""
        path = self.path / name
        if path.exists():
            lines = [line + b"\n" for line, entry in self._entries(name) if entry["step"] <= step]
            try:
                replace_file(path, *lines)
            except OSError as error:
                raise ModelFileError(str(path), unwritable(error)) from error

    def _entries(self, name: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Yield each complete line of a log with its entry."""
        path = self.path / name
        try:
            lines = path.read_bytes().split(b"\n") if path.exists() else []
        except OSError as error:
            raise ModelFileError(str(path), unreadable(error, str(path))) from error
        for line in lines:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and type(entry.get("step")) is int:
                yield line, entry


def _without_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
