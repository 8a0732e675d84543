"""The progress of a run: its best score, early stopping, and which checkpoints to keep.

The randomness of an update depends only on the seed and the number of the update, the order of the
pairs only on seed and epoch. Progress therefore holds no random state.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, final


@final
@dataclass(frozen=True)
class TrainingProgress:
    """Position of a run in its data, its best score, and its checkpoints as (score, step)."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    checkpoints: tuple[tuple[float, int], ...] = ()
    finished: bool = False

    def out_of_patience(self, patience: int) -> bool:
        """Whether that many validations in a row did not improve the score; 0 never stops."""
        return 0 < patience <= self.stale

    def after_validation(
        self, score: float, *, higher_is_better: bool, num_checkpoints: int, best_of: bool
    ) -> "TrainingProgress":
        """Return the progress after a validation; `best_of` ranks checkpoints by score."""
        sign = 1 if higher_is_better else -1
        better = self.best is None or sign * score > sign * self.best
        checkpoints = [*self.checkpoints, (score, self.step)]
        if best_of:
            # best first; among equals the earlier one
            checkpoints.sort(key=lambda pair: (-sign * pair[0], pair[1]))
            checkpoints = checkpoints[:num_checkpoints]
        else:
            checkpoints = checkpoints[-num_checkpoints:]
        return replace(
            self,
            best=score if better else self.best,
            best_step=self.step if better else self.best_step,
            stale=0 if better else self.stale + 1,
            checkpoints=tuple(checkpoints),
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "TrainingProgress":
        """Read what `to_json` wrote; regard 0.1 called the checkpoints `kept`."""
        pairs = fields.get("checkpoints", fields.get("kept", []))
        fields = {name: value for name, value in fields.items() if name != "kept"}
        return cls(**{**fields, "checkpoints": tuple(tuple(pair) for pair in pairs)})
