"""The training loop, on one screen: updates, validations, saves, and when to stop."""

import math
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from regard import kernels
from regard.config.settings import TrainConfig
from regard.data.batches import Batch, make_batch
from regard.data.corpus import Corpus
from regard.data.length_buckets import Buckets
from regard.errors import InputError
from regard.models.seq2seq import Seq2Seq
from regard.training import messages
from regard.training.cuda_graphs import CudaGraphStep
from regard.training.determinism import deterministic
from regard.training.early_stopping import TrainingProgress
from regard.training.explain import why_not_cuda_graph
from regard.training.learning_rate_schedule import learning_rate
from regard.training.optimizer import make_optimizer
from regard.training.prefetch import prefetch
from regard.training.progress_report import ProgressReport, ValidationResult
from regard.training.run_folder import RunFolder


@final
@dataclass(frozen=True)
class TrainingJob:
    """A model, its training pairs, the settings, and the run folder.

    `validate` scores a model on held-out pairs. `recipe` is everything that decides the result.
    With `settings_changed`, new settings may let a finished run continue; with `more_time`, also
    one that was out of patience.
    """

    model: Seq2Seq
    corpus: Corpus
    config: TrainConfig
    folder: RunFolder
    validate: Callable[[Seq2Seq], ValidationResult]
    higher_is_better: bool
    recipe: dict[str, Any]
    settings_changed: bool = False
    more_time: bool = False


def train(
    job: TrainingJob, report: ProgressReport, stop: Callable[[], bool] = lambda: False
) -> TrainingProgress:
    """Train from the last saved state; end early if `stop` returns True after an update."""
    with deterministic(job.model.device, job.config.precision):
        return _train(job, report, stop)


def _train(job: TrainingJob, report: ProgressReport, stop: Callable[[], bool]) -> TrainingProgress:
    config, model = job.config, job.model
    on_gpu = model.device.type == "cuda"
    optimizer, gradients = make_optimizer(model, config), make_gradients(model, config)
    progress = job.folder.load(model, optimizer)
    if job.more_time:
        progress = replace(progress, stale=0)
    if job.settings_changed:
        finished = progress.step >= config.max_steps or progress.out_of_patience(config.patience)
        progress = replace(progress, finished=finished)
    job.folder.shorten_log(progress.step)
    losses = _LossReporter(job, report, delay_updates=int(on_gpu))
    report.start(progress.step)
    batch_generator = training_batches(job, progress)
    # closing ends the prefetch thread, however the run ends
    with closing(prefetch(batch_generator) if on_gpu else batch_generator) as batches:
        while not progress.finished:
            # gradient accumulation: one update for several batches
            group = list(islice(batches, config.gradient_accumulation_steps))
            epoch, batch_number, _ = group[-1]
            step = progress.step + 1
            progress = replace(progress, step=step, epoch=epoch, batch=batch_number)
            update_batches = [position.batch for position in group]
            losses.add(step, *update(job, optimizer, gradients, update_batches, step))
            is_last_update = step >= config.max_steps
            if step % config.validate_every == 0 or is_last_update:
                losses.flush()
                progress = _validate(job, progress, report)
                # early stopping
                is_last_update = is_last_update or progress.out_of_patience(config.patience)
            interrupted = stop()
            progress = replace(progress, finished=is_last_update)
            if step % config.save_every == 0 or is_last_update or interrupted:
                losses.flush()
                job.folder.save(progress, model, optimizer, job.recipe)
            if interrupted:
                break
    return progress


@final
class _LossReporter:
    """Reports the loss of each update; on a GPU one update late, to avoid waiting for it."""

    def __init__(self, job: TrainingJob, report: ProgressReport, *, delay_updates: int) -> None:
        self.job, self.report, self.delay_updates = job, report, delay_updates
        self.pending_losses: list[tuple[int, Callable[[], float], int]] = []

    def add(self, step: int, read_loss: Callable[[], float], tokens: int) -> None:
        """Add an update, and report those before it."""
        self.pending_losses.append((step, read_loss, tokens))
        self.flush(self.delay_updates)

    def flush(self, keep_last: int = 0) -> None:
        """Report the pending updates in order, except the last few."""
        while len(self.pending_losses) > keep_last:
            step, read_loss, tokens = self.pending_losses.pop(0)
            if not math.isfinite(total := read_loss()):
                raise _diverged(f"the loss of update {step} is {total}")
            mean, rate = total / tokens, learning_rate(self.job.config, step)
            self.report.update(step, mean, rate, tokens)
            if step % self.job.config.report_every == 0:
                self.job.folder.log({"step": step, "loss": mean, "rate": rate, "tokens": tokens})


class BatchPosition(NamedTuple):
    """A batch, and the position after it in its epoch."""

    epoch: int
    batch_number: int
    batch: Batch


def training_batches(
    job: TrainingJob, progress: TrainingProgress
) -> Generator[BatchPosition, None, None]:
    """Yield batches without end, starting at a position.

    For CUDA graphs, batches are padded to few shapes.
    """
    corpus, config = job.corpus, job.config
    lengths = corpus.source_lengths, corpus.target_lengths
    buckets = Buckets(*lengths, config.batch_tokens, config.seed)
    shapes = buckets.padded_shapes() if job.model.device.type == "cuda" else None
    epoch, first = progress.epoch, progress.batch
    while True:
        rows = buckets.epoch(epoch)
        for number in range(first, len(rows)):
            batch = make_batch(corpus, rows[number])
            if shapes is not None:
                batch = batch.padded_to(*shapes.shape(*batch.shape))
            yield BatchPosition(epoch, number + 1, batch)
        epoch, first = epoch + 1, 0


Gradients = Callable[[list[Batch], int], Callable[[], float]]
"""(batches, their tokens) → a function that reads the summed loss; adds the gradients of the mean
loss per token to those of the parameters."""


def make_gradients(model: Seq2Seq, config: TrainConfig) -> Gradients:
    """Return what computes gradients: CUDA graphs on a GPU, eager calls elsewhere."""
    loss_of_batch = partial(batch_loss, model, config)
    if why_not_cuda_graph(model.device.type) is None:
        return CudaGraphStep(model, loss_of_batch)
    return partial(eager_gradients, loss_of_batch)


def batch_loss(model: Seq2Seq, config: TrainConfig, batch: Batch) -> Float[Tensor, ""]:
    """Return the summed loss of a batch, in mixed precision if the settings say so."""
    device = model.device
    low_precision = config.precision == "bfloat16" and kernels.has_bfloat16(device.type)
    # mixed precision (autocast)
    with torch.autocast(device.type, torch.bfloat16, enabled=low_precision):
        b = batch.to(device)
        tensors = b.source, b.source_mask, b.fed, b.target, b.target_mask
        return model.loss(*tensors, config.label_smoothing, rdrop_alpha=config.rdrop_alpha)


def eager_gradients(
    loss: Callable[[Batch], Tensor], batches: list[Batch], tokens: int
) -> Callable[[], float]:
    """Add gradients batch by batch."""
    losses = []
    for batch in batches:
        summed = loss(batch)
        torch.autograd.backward(summed / tokens)
        losses.append(summed.detach())
    return torch.stack(losses).sum().item


def update(
    job: TrainingJob, optimizer: Optimizer, gradients: Gradients, batches: list[Batch], step: int
) -> tuple[Callable[[], float], int]:
    """Make one update; return a function that reads its summed loss, and its number of tokens."""
    model, config = job.model, job.config
    # `train()` visits every module, which takes longer than some updates
    if not model.training:
        model.train()
    # dropout depends on the seed and this update alone, also after a resume
    torch.manual_seed(config.seed * 1_000_003 + step)
    tokens = sum(batch.num_tokens for batch in batches)
    read_loss = gradients(batches, tokens)
    # gradient clipping
    if config.max_grad_norm:
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(config, step)
    optimizer.step()
    # a CUDA graph writes to the gradient tensors that it was captured with
    optimizer.zero_grad(set_to_none=not isinstance(gradients, CudaGraphStep))
    return read_loss, tokens


def _validate(
    job: TrainingJob, progress: TrainingProgress, report: ProgressReport
) -> TrainingProgress:
    """Score the model, and save a checkpoint of it."""
    config = job.config
    report.begin_validation(progress.step)
    if not all(bool(weight.isfinite().all()) for weight in job.model.parameters()):
        raise _diverged(f"a weight after update {progress.step} is not finite")
    validation_result = job.validate(job.model.eval())
    progress = progress.after_validation(
        validation_result.score,
        higher_is_better=job.higher_is_better,
        # those that checkpoint averaging needs
        num_checkpoints=max(1, config.average_checkpoints),
        best_of=config.average_checkpoints_from == "best",
    )
    job.folder.save_checkpoint(progress.step, job.model)
    samples_by_name = {
        "sample": validation_result.sample,
        "watched": validation_result.fixed_sample,
    }
    entry: dict[str, Any] = {
        name: None if line is None else line._asdict() for name, line in samples_by_name.items()
    }
    entry |= {"score": validation_result.score, "best": progress.best, "metric": config.metric}
    job.folder.log({"step": progress.step, "signature": validation_result.signature, **entry})
    best = validation_result.score if progress.best is None else progress.best
    report.end_validation(progress.step, validation_result, best)
    return progress


def _diverged(problem: str) -> InputError:
    return InputError(messages.diverged(problem))
