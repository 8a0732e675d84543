"""The run folder: the state from which a run resumes bit for bit, its checkpoints and its logs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.errors import ModelFileError, unwritable
from regard.model_file import unique_tensors
from regard.models.seq2seq import Seq2Seq
from regard.renamed_parameters import with_new_names
from regard.safetensors_files import read_metadata, read_tensors, write_tensors
from regard.training import messages
from regard.training.early_stopping import TrainingProgress
from regard.training.optimizer import optimizer_tensors, restore_optimizer


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
        write_tensors(self.state, tensors, {"progress": progress.to_json(), "recipe": recipe})
        needed_checkpoints = {self.checkpoint(step) for _, step in progress.checkpoints}
        needed_checkpoints.add(self.checkpoint(progress.best_step))
        for path in self.path.glob("step-*.safetensors"):
            if path not in needed_checkpoints:
                path.unlink()

    def save_checkpoint(self, step: int, model: Seq2Seq) -> None:
        """Write the weights of a step."""
        write_tensors(self.checkpoint(step), unique_tensors(model), {"step": step})

    def load(self, model: Seq2Seq, optimizer: Optimizer) -> TrainingProgress:
        """Restore model and optimizer from the last save, if there is one."""
        if not self.state.exists():
            return TrainingProgress()
        tensors, metadata = read_tensors(self.state)
        weights = with_new_names(_without_prefix("model/", tensors))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        restore_optimizer(optimizer, model, with_new_names(_without_prefix("optimizer/", tensors)))
        return TrainingProgress.from_json(metadata["progress"])

    def progress(self) -> TrainingProgress:
        """Return how far the run was at the last save."""
        if not self.state.exists():
            return TrainingProgress()
        return TrainingProgress.from_json(read_metadata(self.state, check_size=True)["progress"])

    def recipe(self) -> dict[str, Any] | None:
        """Return everything that decides the result of the run; None if nothing is saved."""
        return read_metadata(self.state, check_size=True)["recipe"] if self.state.exists() else None

    def clear(self) -> None:
        """Delete a run: its state, its checkpoints, its logs."""
        logs = ("log.jsonl", "throughput.jsonl", "pace.jsonl", "dev.jsonl", "summary.json")
        for pattern in ("state.safetensors", "plan.json", "step-*.safetensors", *logs):
            for path in self.path.glob(pattern):
                path.unlink()

    def average_checkpoints(self, steps: Sequence[int]) -> dict[str, Tensor]:
        """Checkpoint averaging: return the mean weights, summed in order of step in float64."""
        total: dict[str, Tensor] = {}
        for step in sorted(steps):
            if not self.checkpoint(step).exists():
                raise ModelFileError(str(self.checkpoint(step)), messages.missing_checkpoint())
            for name, part in with_new_names(read_tensors(self.checkpoint(step))[0]).items():
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
        path = self.path / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return next((json.loads(line) for line in reversed(lines) if _complete(line)), {})

    def shorten_log(self, step: int, name: str = "log.jsonl") -> None:
        """Delete the lines after a step: they will be logged again."""
        path = self.path / name
        if not path.exists():
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if _complete(line) and json.loads(line)["step"] <= step]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _without_prefix(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _complete(line: str) -> bool:
    """Whether a line was written completely."""
    try:
        return "step" in json.loads(line)
    except ValueError:
        return False
