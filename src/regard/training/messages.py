"""Messages of training."""

from regard.choices import printable

RESTORE = "Restore it from a copy, or begin again with --overwrite."
OTHER_CHECKPOINT = f"It is not the checkpoint that this run saved. {RESTORE}"
NO_RECIPE = f"It holds no recipe of a run. {RESTORE}"
ALTERED_LOG = (
    "Lines that were there at the last save have changed. Restore it from a copy, or delete it: "
    "the run continues without these lines."
)


def unusable_state(part: str, error: Exception) -> str:
    """Say which part of a state is not what regard writes there."""
    reason = " ".join(str(error).split())[:200]
    return f"Its {part} cannot be used ({reason}). {RESTORE}"


def other_weights(name: str) -> str:
    """Say that a state or a checkpoint is of another model."""
    return f"Its weights are not those of this run, for example {printable(name)}. {RESTORE}"


def diverged(problem: str) -> str:
    """Say that a loss or a score is not finite."""
    return f"{problem}; it must be finite. Use a smaller train.learning_rate."


def missing_checkpoint() -> str:
    """Say that a checkpoint is missing."""
    return f"The checkpoint is missing, but the final model needs it. {RESTORE}"


def stopping(*, saves: bool) -> str:
    """Say that a run stops after the current update."""
    return f"Stopping after this update{' and saving' if saves else ''}. Once more stops at once."
