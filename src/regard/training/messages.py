"""Messages of training."""


def diverged(problem: str) -> str:
    """Say that a loss or a score is not finite."""
    return f"{problem}; it must be finite. Use a smaller train.learning_rate."


def missing_checkpoint() -> str:
    """Say that a checkpoint is missing."""
    return "The checkpoint is missing, but averaging needs it. Begin again with --overwrite."


def stopping(*, saves: bool) -> str:
    """Say that a run stops after the current update."""
    return f"Stopping after this update{' and saving' if saves else ''}. Once more stops at once."
