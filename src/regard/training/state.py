"""The state from which a run goes on, to the last bit, and the checkpoints beside it.

All randomness of an update is a function of the seed and the update's number, and the order of the
pairs one of seed and epoch: nothing random has to be kept.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.errors import ModelFileError, unwritable
from regard.models.seq2seq import Seq2Seq
from regard.store import KEY, read_tensors, unique_tensors, write_tensors
from regard.training.optimizer import optimizer_tensors, restore_optimizer


@dataclass(frozen=True)
class Progress:
    """How far a run has come; `kept` are the checkpoints worth keeping, as (score, step)."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    kept: tuple[tuple[float, int], ...] = ()
    finished: bool = False

    def validated(
        self, score: float, *, higher_is_better: bool, keep: int, best_of: bool
    ) -> "Progress":
        """Take note of a validation, and of which checkpoints are still worth keeping."""
        sign = 1 if higher_is_better else -1
        better = self.best is None or sign * score > sign * self.best
        kept = [*self.kept, (score, self.step)]
        if best_of:
            # the best first; of equals the earlier
            kept.sort(key=lambda pair: (-sign * pair[0], pair[1]))
            kept = kept[:keep]
        else:
            kept = kept[-keep:]
        return replace(
            self,
            best=score if better else self.best,
            best_step=self.step if better else self.best_step,
            stale=0 if better else self.stale + 1,
            kept=tuple(kept),
        )


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps what it needs to go on: never the model file itself."""

    path: Path

    @property
    def state(self) -> Path:
        """The state of the last save."""
        return self.path / "state.safetensors"

    def checkpoint(self, step: int) -> Path:
        """The weights after a validation."""
        return self.path / f"step-{step:08d}.safetensors"

    def save(
        self,
        progress: Progress,
        model: Seq2Seq,
        optimizer: Optimizer,
        recipe: dict[str, Any],
    ) -> None:
        """Write the state in one move, then drop checkpoints that nothing refers to any more."""
        tensors = {f"model/{name}": part for name, part in unique_tensors(model).items()}
        for name, part in optimizer_tensors(optimizer, model).items():
            tensors[f"optimizer/{name}"] = part
        write_tensors(self.state, tensors, {"progress": asdict(progress), "recipe": recipe})
        kept = {self.checkpoint(step) for _, step in progress.kept}
        kept.add(self.checkpoint(progress.best_step))
        for old in self.path.glob("step-*.safetensors"):
            if old not in kept:
                old.unlink()

    def save_checkpoint(self, step: int, model: Seq2Seq) -> None:
        """Write the weights of this step."""
        write_tensors(self.checkpoint(step), unique_tensors(model), {"step": step})

    def load(self, model: Seq2Seq, optimizer: Optimizer) -> Progress:
        """Bring model and optimizer to the last save; without one, they are at the beginning."""
        if not self.state.exists():
            return Progress()
        tensors, metadata = read_tensors(self.state)
        weights = _under("model/", tensors)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        restore_optimizer(optimizer, model, _under("optimizer/", tensors))
        return _progress(metadata)

    def progress(self) -> Progress:
        """How far the last save had come."""
        metadata = self._metadata()
        return Progress() if metadata is None else _progress(metadata)

    def clear(self) -> None:
        """Forget a run: its state, its checkpoints, what was written of it."""
        written = ("log.jsonl", "pace.jsonl", "dev.jsonl", "summary.json")
        for name in ("state.safetensors", "step-*.safetensors", *written):
            for path in self.path.glob(name):
                path.unlink()

    def recipe(self) -> dict[str, Any] | None:
        """What the result of the saved run depends on; None if nothing has been saved."""
        metadata = self._metadata()
        return None if metadata is None else metadata["recipe"]

    def _metadata(self) -> dict[str, Any] | None:
        """Read the header of the saved state, without its tensors."""
        return read_metadata(self.state) if self.state.exists() else None

    def average(self, steps: list[int]) -> dict[str, Tensor]:
        """Average the weights of checkpoints, in the order of their steps, in float64."""
        total: dict[str, Tensor] = {}
        for step in sorted(steps):
            if not self.checkpoint(step).exists():
                raise ModelFileError(
                    str(self.checkpoint(step)),
                    "it is gone, but the average needs it; --overwrite to begin anew would do",
                )
            for name, part in read_tensors(self.checkpoint(step))[0].items():
                total[name] = total.get(name, 0.0) + part.double()
        return {name: (part / len(steps)).float() for name, part in total.items()}

    def log(self, entry: dict[str, Any], name: str = "log.jsonl") -> None:
        """Add a line to the run's log, or to another that has a step in each line."""
        path = self.path / name
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, sort_keys=True) + "\n")
        except OSError as error:
            raise ModelFileError(str(path), unwritable(error)) from error

    def last_logged(self, name: str) -> dict[str, Any]:
        """Return the last whole line of a log, or nothing."""
        path = self.path / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return next((json.loads(line) for line in reversed(lines) if _complete(line)), {})

    def shorten_log(self, step: int, name: str = "log.jsonl") -> None:
        """Forget what was logged after a step: it will be logged again."""
        path = self.path / name
        if not path.exists():
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if _complete(line) and json.loads(line)["step"] <= step]
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def read_metadata(path: Path) -> dict[str, Any]:
    """Read the JSON of a file of tensors, and none of its tensors."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as opened:
            metadata = json.loads((opened.metadata() or {})[KEY])
    except (SafetensorError, OSError, ValueError, KeyError):
        metadata = None
    # reading all of it puts into words what is wrong
    return metadata if isinstance(metadata, dict) else read_tensors(path)[1]


def _progress(metadata: dict[str, Any]) -> Progress:
    found = metadata["progress"]
    return Progress(**{**found, "kept": tuple(tuple(pair) for pair in found["kept"])})


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _complete(line: str) -> bool:
    """Whether a line was written to its end."""
    try:
        return "step" in json.loads(line)
    except ValueError:
        return False
