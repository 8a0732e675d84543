"""How a run ends: the best weights so far are scored, unless a user waits, and saved."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, final

from regard.errors import ModelFileError
from regard.metrics.tasks import label
from regard.pipeline import messages
from regard.pipeline.preprocessing import PreprocessedData
from regard.pipeline.validation import Validator
from regard.saved_model import SavedModel
from regard.training.checkpoints import load_best_weights, load_final_weights
from regard.training.early_stopping import TrainingProgress
from regard.training.estimate import format_minutes
from regard.training.loop import TrainingJob
from regard.translator import Translator, load

Log = Callable[[str], None]


class TrainOutcome(NamedTuple):
    """How a run ended: its model so far, the signal that stopped it, and what would continue it."""

    translator: Translator | None
    stopped_by: int | None = None
    continues_with: Literal["nothing", "resume", "more time"] = "nothing"


@final
@dataclass(frozen=True)
class EndedRun:
    """A run after its last update; `max_steps` is what its settings asked for, without a plan."""

    job: TrainingJob
    progress: TrainingProgress
    saved: SavedModel
    scored: PreprocessedData
    """Its validation sources are those that the model is scored on."""

    max_steps: int

    def interrupted(self, out: Path | None, signal: int, log: Log) -> TrainOutcome:
        """Save the best model so far without delay: a user is waiting for the end."""
        log(messages.stopped_after(self.progress.step, self.max_steps))
        if out is None:
            return TrainOutcome(None, signal)
        if self._keeps(out):
            log(messages.unchanged_model(out))
            return TrainOutcome(load(out, device="cpu"), signal, "resume")
        load_best_weights(self.job, self.progress)
        translator = Translator(replace(self.saved, summary=self._summary()))
        translator.save(out)
        log(messages.saved_unfinished(out, self.progress.best_step or self.progress.step))
        return TrainOutcome(translator, signal, "resume")

    def completed(self, out: Path | None, log: Log) -> TrainOutcome:
        """Score the final model and save it; also where the time ended before the updates did."""
        progress = self.progress
        load_weights = load_final_weights if progress.checkpoints else load_best_weights
        load_weights(self.job, progress)
        validator = Validator(self.saved, self.scored)
        translator = validator.score_final_model(self._summary(), self.job.folder.path)
        if out is not None:
            translator.save(out)
        saved_as = "" if out is None else f"saved {out}; "
        num_scored, num_sources = len(self.scored.dev), translator.summary["dev_sources"]
        of_all = f" of {num_sources:,}" * (num_scored < num_sources)
        scores = ", ".join(
            f"{label(s['name'])} {s['value']:.2f}" for s in translator.summary["scores"]
        )
        log(f"{saved_as}validation sources {num_scored:,}{of_all}: {scores}")
        if not progress.finished:
            log(messages.stopped_after(progress.step, self.max_steps))
            return TrainOutcome(translator, None, "resume")
        if progress.step == self.job.config.max_steps < self.max_steps:
            duration = format_minutes(self.job.config.max_minutes)
            log(messages.time_was_over(progress.step, self.max_steps, duration))
            return TrainOutcome(translator, None, "more time")
        return TrainOutcome(translator)

    def _summary(self) -> dict[str, object]:
        """Return the training summary with how far the run came."""
        progress = self.progress
        summary = {"best_step": progress.best_step, "steps": progress.step}
        unfinished = {} if progress.finished else {"unfinished": True}
        return self.saved.summary | summary | unfinished

    def _keeps(self, out: Path) -> bool:
        """Whether a model file is at least as good as what the run has: it must not be lost."""
        if not out.exists():
            return False
        if not self.progress.checkpoints:
            return True
        try:
            summary = load(out, device="cpu").summary
        except ModelFileError:
            return False
        same = ("pairs", "dev", "seed")
        return summary.get("best_step") == self.progress.best_step and all(
            summary.get(name) == self.saved.summary.get(name) for name in same
        )
