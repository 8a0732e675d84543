"""The weights of a finished run: its best checkpoint, or checkpoint averaging."""

from collections.abc import Sequence

import torch

from regard.models.seq2seq import Seq2Seq
from regard.training.early_stopping import TrainingProgress
from regard.training.loop import TrainingJob


def load_final_weights(job: TrainingJob, progress: TrainingProgress) -> Seq2Seq:
    """Load the weights that the settings ask for, and return the model.

    The average of the best checkpoints is used only if it scores no worse than the best of them.
    """
    config = job.config
    if not config.average_checkpoints:
        return _load_average(job, [progress.best_step])
    steps = [step for _, step in progress.checkpoints]
    model = _load_average(job, steps)
    if config.average_checkpoints_from == "best" and len(steps) > 1:
        sign = 1 if job.higher_is_better else -1
        if progress.best is not None and sign * job.validate(model).score < sign * progress.best:
            return _load_average(job, [progress.best_step])
    return model


def load_best_weights(job: TrainingJob, progress: TrainingProgress) -> Seq2Seq:
    """Load the best weights of an unfinished run; before its first validation, keep the last."""
    return _load_average(job, [progress.best_step]) if progress.checkpoints else job.model.eval()


def _load_average(job: TrainingJob, steps: Sequence[int]) -> Seq2Seq:
    """Load the mean weights of some checkpoints."""
    weights = job.folder.average_checkpoints(steps, job.model)
    with torch.no_grad():
        for name, parameter in job.model.named_parameters():
            parameter.copy_(weights[name])
    return job.model.eval()
