"""TensorBoard curves of a run, if the package tensorboard is installed."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, final

from typing_extensions import override

from regard.config.settings import TrainConfig
from regard.training.progress_report import ValidationResult
from regard.training.throughput import TimedReport


@final
class TensorBoardReport(TimedReport):
    """Writes curves to a folder; a resumed run replaces the points after its last save."""

    def __init__(
        self, folder: Path, metric: str = "score", clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__(TrainConfig(), clock)
        self.folder = folder
        self.metric = metric
        self.writer: Any = None

    @override
    def __exit__(self, *error: object) -> None:
        if self.writer is not None:
            self.writer.close()

    @override
    def start(self, step: int) -> None:
        """Open the folder, and drop the points after this step."""
        super().start(step)
        with suppress(ImportError):
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=step + 1)

    @override
    def update(self, step: int, loss: float, learning_rate: float, tokens: int) -> None:
        """Add a point to each training curve; the loss is that of this update alone."""
        super().update(step, loss, learning_rate, tokens)
        self._add("train/loss", loss, step)
        self._add("train/learning_rate", learning_rate, step)
        self._add("train/tokens_per_second", self.throughput.tokens_per_second, step)

    @override
    def end_validation(self, step: int, validation: ValidationResult, best: float) -> None:
        """Add a point to the curve of the score."""
        super().end_validation(step, validation, best)
        self._add(f"dev/{self.metric}", validation.score, step)

    def _add(self, name: str, number: float, step: int) -> None:
        if self.writer is not None:
            self.writer.add_scalar(name, number, step)
