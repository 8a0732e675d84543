"""The loop, on one screen: updates, validations, saves, and when to stop."""

import math
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Optimizer

from regard import kernels
from regard.config.settings import TrainConfig
from regard.data.batches import Batch, make_batch
from regard.data.buckets import Buckets
from regard.data.corpus import Corpus
from regard.errors import InputError
from regard.models.seq2seq import Seq2Seq
from regard.training.explain import why_not_cuda_graph
from regard.training.optimizer import make_optimizer
from regard.training.recorded import Recorded, ahead, repeatable
from regard.training.schedule import learning_rate
from regard.training.state import Progress, RunFolder


class Sample(NamedTuple):
    """One line of the validation, to look at: what stood there, what is right, what came out.

    Where there is attention, also its tokens, and the weights of each (the end's last) over those
    of the source.
    """

    source: str
    target: str
    output: str
    source_tokens: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()


class Validation(NamedTuple):
    """What was found, by which recipe, and two lines: another each time, and one throughout."""

    score: float
    sample: Sample | None = None
    watched: Sample | None = None
    signature: str = ""


class Report(Protocol):
    """Who is told how it goes."""

    def start(self, step: int) -> None:
        """Before the first update: how many there have been."""

    def update(self, step: int, loss: float, rate: float, tokens: int) -> None:
        """After an update: the mean loss of a word, the learning rate, the words in it."""

    def validating(self, step: int) -> None:
        """Before a validation, which may take a while."""

    def validation(self, step: int, found: Validation, best: float) -> None:
        """After a validation; `best` is the best score so far, this one included."""


@dataclass(frozen=True)
class Job:
    """What is to be learned, from what, under which settings, and where it is kept.

    `validate` scores a model on lines it has not seen; `recipe` is all that decides the result. A
    job that is `reopened` has new settings, which may let a finished run go on.
    """

    model: Seq2Seq
    corpus: Corpus
    config: TrainConfig
    folder: RunFolder
    validate: Callable[[Seq2Seq], Validation]
    higher_is_better: bool
    recipe: dict[str, Any]
    reopened: bool = False


def train(job: Job, report: Report, stop: Callable[[], bool] = lambda: False) -> Progress:
    """Teach the model, from its last saved state on; `stop` is asked after every update."""
    with repeatable(job.model.device, job.config.precision):
        return _train(job, report, stop)


def _train(job: Job, report: Report, stop: Callable[[], bool]) -> Progress:
    config, model = job.config, job.model
    on_gpu = model.device.type == "cuda"
    optimizer, gradients = make_optimizer(model, config), make_gradients(model, config)
    progress = job.folder.load(model, optimizer)
    if job.reopened:
        tired = 0 < config.patience <= progress.stale
        progress = replace(progress, finished=progress.step >= config.max_steps or tired)
    job.folder.shorten_log(progress.step)
    deadline = time.monotonic() + 60 * config.max_minutes if config.max_minutes else float("inf")
    losses = _Losses(job, report, late=on_gpu)
    report.start(progress.step)
    made = stream(job, progress)
    # a thread that makes them in advance ends with the run, however that ends
    with closing(ahead(made) if on_gpu else made) as batches:
        while not progress.finished:
            group = list(islice(batches, config.accumulate))
            progress = replace(
                progress, step=progress.step + 1, epoch=group[-1][0], batch=group[-1][1]
            )
            taken = [batch for _, _, batch in group]
            losses.add(progress.step, *update(job, optimizer, gradients, taken, progress.step))
            last = progress.step >= config.max_steps or time.monotonic() > deadline
            if progress.step % config.validate_every == 0 or last:
                losses.tell()
                progress = _validate(job, progress, report)
                last = last or 0 < config.patience <= progress.stale
            interrupted = stop()
            progress = replace(progress, finished=last)
            if progress.step % config.save_every == 0 or last or interrupted:
                losses.tell()
                job.folder.save(progress, model, optimizer, job.recipe)
            if interrupted:
                break
    return progress


class _Losses:
    """Tells of updates when their losses are known: of a GPU's one late, so that it never waits."""

    def __init__(self, job: Job, report: Report, *, late: bool) -> None:
        self.job, self.report, self.late = job, report, int(late)
        self.waiting: list[tuple[int, Callable[[], float], int]] = []

    def add(self, step: int, loss: Callable[[], float], tokens: int) -> None:
        """Take on an update, and tell of those before it."""
        self.waiting.append((step, loss, tokens))
        self.tell(self.late)

    def tell(self, keep: int = 0) -> None:
        """Tell of all but the last few, in their order."""
        while len(self.waiting) > keep:
            step, loss, tokens = self.waiting.pop(0)
            if not math.isfinite(total := loss()):
                raise _diverged(f"the loss of update {step} is {total}")
            mean, rate = total / tokens, learning_rate(self.job.config, step)
            self.report.update(step, mean, rate, tokens)
            if step % self.job.config.report_every == 0:
                self.job.folder.log({"step": step, "loss": mean, "rate": rate, "tokens": tokens})


def stream(job: Job, progress: Progress) -> Generator[tuple[int, int, Batch], None, None]:
    """Yield batches without end from a position on, each with the position behind it.

    Where work is recorded, there are few shapes of them.
    """
    corpus, config = job.corpus, job.config
    lengths = corpus.source_lengths, corpus.target_lengths
    buckets = Buckets(*lengths, config.batch_tokens, config.seed)
    rooms = buckets.rooms() if job.model.device.type == "cuda" else None
    epoch, first = progress.epoch, progress.batch
    while True:
        rows = buckets.epoch(epoch)
        for number in range(first, len(rows)):
            batch = make_batch(corpus, rows[number])
            yield epoch, number + 1, batch.filled(*rooms.shape(*batch.shape)) if rooms else batch
        epoch, first = epoch + 1, 0


Gradients = Callable[[list[Batch], int], Callable[[], float]]
"""(batches, words in them) → reads their summed loss; adds gradients of the mean loss of a word."""


def make_gradients(model: Seq2Seq, config: TrainConfig) -> Gradients:
    """Return what computes gradients where the model is."""
    loss_of = partial(batch_loss, model, config)
    if why_not_cuda_graph(model.device.type) is None:
        return Recorded(model, loss_of)
    return partial(plain_gradients, loss_of)


def batch_loss(model: Seq2Seq, config: TrainConfig, batch: Batch) -> Float[Tensor, ""]:
    """Return the summed loss of a batch, wherever it lies."""
    device = model.device
    rough = config.precision == "bfloat16" and kernels.has_bfloat16(device.type)
    with torch.autocast(device.type, torch.bfloat16, enabled=rough):
        b = batch.to(device)
        given = b.source, b.source_mask, b.fed, b.target, b.target_mask
        return model.loss(*given, config.label_smoothing, agreement=config.agreement)


def plain_gradients(
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
    job: Job, optimizer: Optimizer, gradients: Gradients, batches: list[Batch], step: int
) -> tuple[Callable[[], float], int]:
    """Make one update; return what reads its summed loss, and how many words there were."""
    model, config = job.model, job.config
    # saying it to every part again would take longer than some updates
    if not model.training:
        model.train()
    # dropout depends on the seed and this update alone, however the run came here
    torch.manual_seed(config.seed * 1_000_003 + step)
    tokens = sum(batch.num_tokens for batch in batches)
    loss = gradients(batches, tokens)
    if config.clip_norm:
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(config, step)
    optimizer.step()
    # a gradient that was recorded stays in its place
    optimizer.zero_grad(set_to_none=not isinstance(gradients, Recorded))
    return loss, tokens


def _validate(job: Job, progress: Progress, report: Report) -> Progress:
    """Score the model, and keep its weights if they are worth keeping."""
    config = job.config
    report.validating(progress.step)
    if not all(bool(weight.isfinite().all()) for weight in job.model.parameters()):
        raise _diverged(f"a weight after update {progress.step} is not finite")
    found = job.validate(job.model.eval())
    score = found.score
    keep, best_of = max(1, config.average), config.average_of == "best"
    progress = progress.validated(
        score, higher_is_better=job.higher_is_better, keep=keep, best_of=best_of
    )
    job.folder.save_checkpoint(progress.step, job.model)
    shown = {"sample": found.sample, "watched": found.watched}
    lines = {name: None if x is None else x._asdict() for name, x in shown.items()}
    scores = {"score": score, "best": progress.best, "metric": config.metric}
    job.folder.log({"step": progress.step, "signature": found.signature, **lines, **scores})
    report.validation(progress.step, found, score if progress.best is None else progress.best)
    return progress


def _diverged(what: str) -> InputError:
    return InputError(f"{what}, but it must be a number; a smaller train.learning_rate would do")


def learned(job: Job, progress: Progress) -> Seq2Seq:
    """Return the model with the weights that the settings choose.

    The mean of the best is taken where it scores no worse than the best of them alone.
    """
    steps = [step for _, step in progress.kept] if job.config.average else [progress.best_step]
    model = _with_weights(job, steps)
    if job.config.average_of == "best" and len(steps) > 1:
        sign = 1 if job.higher_is_better else -1
        if progress.best is not None and sign * job.validate(model).score < sign * progress.best:
            return _with_weights(job, [progress.best_step])
    return model


def _with_weights(job: Job, steps: list[int]) -> Seq2Seq:
    """Give the model the mean weights of some checkpoints."""
    weights = job.folder.average(steps)
    with torch.no_grad():
        for name, parameter in job.model.named_parameters():
            parameter.copy_(weights[name])
    return job.model.eval()
