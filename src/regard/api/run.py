"""A training run from a person's order to the model file, in the order in which things happen."""

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.api.automatic import Choice, choose
from regard.api.judge import Judge
from regard.api.look import Look
from regard.api.order import Order
from regard.api.prepare import Prepared, check_shared, prepare
from regard.api.resume import environment, refuse_other_run
from regard.api.sources import Origin, Pairs
from regard.config.settings import Settings
from regard.config.toml import to_toml, to_tree
from regard.errors import ConfigError, DataError
from regard.models import build
from regard.store import Saved
from regard.training.estimate import estimate
from regard.training.loop import Job, learned, train
from regard.training.report import make_report
from regard.training.state import RunFolder
from regard.training.stopping import asked_to_stop
from regard.translator import Translator, chosen_device, load

Tell = Callable[[str], None]


class Done(NamedTuple):
    """What became of a run: what translates, or the signal that stopped it before its end."""

    translator: Translator | None
    stopped_by: int | None


def run(order: Order) -> Done:
    """Look, choose, prepare, train, save; what is in the way is refused before it costs time."""
    tell: Tell = (lambda text: None) if order.quiet else _to_stderr
    with ExitStack() as stack:
        folder = order.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs = RunFolder(folder)
        if order.out is not None:
            _refuse_to_lose(order, runs)
            _refuse_unwritable(order.out)
        pairs, dev, look = _read(order, tell)
        choice = choose(look, order.settings, order.preset, paper=order.paper_sizes)
        settings = choice.settings
        if problems := check_shared(settings.text):
            raise ConfigError("text", problems)
        device = chosen_device(settings.train.device)
        recipe = {
            "settings": to_tree(settings),
            "pairs": look.fingerprint,
            "environment": environment(device),
        }
        reopened = refuse_other_run(runs, recipe, order) if order.resume else False
        if order.out is not None and order.out.exists() and _over(runs, reopened):
            tell(f"{order.out}: the run is finished; there is nothing left to do")
            return Done(load(order.out, device=settings.train.device), None)
        _make_folder(folder, order.overwrite, runs)
        _tell_choice(choice, order, tell)
        prepared = prepare(folder, pairs, dev, look, settings)
        _tell_prepared(prepared, settings, tell)
        (folder / "settings.toml").write_text(to_toml(settings), encoding="utf-8")
        torch.manual_seed(settings.train.seed)
        sizes = len(prepared.source.vocabulary), len(prepared.target.vocabulary)
        model = build(settings.model, *sizes).to(device)
        saved = Saved(model, settings, prepared.source, prepared.target, {})
        judge = Judge(saved, prepared)
        fixed = judge, judge.higher_is_better, recipe, reopened
        job = Job(model, prepared.corpus, settings.train, runs, *fixed)
        return _train(order, job, judge, _facts(choice, prepared, recipe), tell)


def _train(order: Order, job: Job, judge: Judge, facts: dict[str, Any], tell: Tell) -> Done:
    """Train from where the folder stands, and save the model."""
    if not _over(job.folder, job.reopened):
        guess = estimate(job, judge.time, job.folder.progress().step)
        tell(f"{sum(p.numel() for p in job.model.parameters()):,} parameters; {guess}")
    report = make_report(job.config, job.config.metric, quiet=order.quiet)
    with asked_to_stop() as stop, report:
        progress = train(job, report, stop)
    if not progress.finished:
        return Done(None, stop.signal)
    learned(job, progress)
    translator = judge.judged(facts | {"best_step": progress.best_step, "steps": progress.step})
    if order.out is not None:
        translator.save(order.out)
        scores = ", ".join(f"{s['name']} {s['value']:.2f}" for s in translator.summary["scores"])
        tell(f"saved {order.out}; on {len(judge.prepared.dev):,} held-out sources: {scores}")
    return Done(translator, None)


def _over(runs: RunFolder, reopened: bool) -> bool:
    return runs.progress().finished and not reopened


def _facts(choice: Choice, prepared: Prepared, recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what travels with the weights: no clock, host or path."""
    return {
        "dev_sources": len(prepared.dev),
        "left_out": prepared.left_out,
        "pairs": recipe["pairs"],
        "preset": choice.preset,
        "seed": choice.settings.train.seed,
        "train_pairs": len(prepared.corpus),
    }


def _read(order: Order, tell: Tell) -> tuple[Pairs, Pairs | None, Look]:
    """Read everything once, before anything is written."""
    skipped: list[DataError] = []
    remember = skipped.append if order.skip_bad_lines else None
    pairs = Pairs(order.origin, remember)
    dev = None if order.dev is None else Pairs(Origin(order.dev, columns=order.origin.columns))
    form = order.settings.get("data", {}).get("normalization", "NFC")
    look = Look(pairs, form)
    for error in skipped[:5]:
        tell(f"skipped: {error}")
    if skipped:
        tell(f"{len(skipped):,} bad lines were skipped")
    pairs.skip_in_silence()
    least = 1 if dev is not None else 2
    if look.sources < least:
        raise DataError(
            pairs.name,
            None,
            f"it holds {look.pairs} pair{'s' * (look.pairs != 1)} with {look.sources} different "
            f"source{'s' * (look.sources != 1)}, but one must be held out for validation; "
            "more pairs, or --dev with a file of others, would do",
        )
    return pairs, dev, look


def _refuse_to_lose(order: Order, runs: RunFolder) -> None:
    """Keep an older model and an older run from being written over."""
    there = [path for path in (order.out, runs.state) if path is not None and path.exists()]
    if there and not (order.resume or order.overwrite):
        raise DataError(
            str(there[0]),
            None,
            "it is there already, but it must not be lost; --resume to go on with its run, "
            "--overwrite to begin anew or another --out would do",
        )


def _refuse_unwritable(out: Path) -> None:
    """Notice before training that the model could not be saved."""
    if out.is_dir():
        raise DataError(str(out), None, f"it is a folder; {out / 'model.regard'} would do")
    parent = out.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        problem = f"this user cannot write to {parent}; --out in another folder would do"
        raise DataError(str(out), None, problem)


def _make_folder(folder: Path, overwrite: bool, runs: RunFolder) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if overwrite:
            runs.clear()
    except OSError as error:
        problem = f"it cannot be written ({error.strerror}); --out in another folder would do"
        raise DataError(str(folder), None, problem) from None


def _tell_choice(choice: Choice, order: Order, tell: Tell) -> None:
    if choice.reasons:
        tell("chosen from the pairs:")
    for chosen in choice.reasons:
        tell(f"  {chosen}")
    if order.out is not None:
        tell(f"model file {order.out}, everything else in {order.folder}/, all settings in")
        tell(f"  {order.folder}/settings.toml (--config takes it)")


def _tell_prepared(prepared: Prepared, settings: Settings, tell: Tell) -> None:
    tell(
        f"{len(prepared.corpus):,} pairs to learn from, {len(prepared.dev):,} sources held out; "
        f"{len(prepared.source.vocabulary):,} source and {len(prepared.target.vocabulary):,} "
        "target symbols"
    )
    if prepared.left_out:
        data = settings.data
        tell(
            f"{prepared.left_out:,} pairs were left out: longer than data.max_source_length = "
            f"{data.max_source_length} or data.max_target_length = {data.max_target_length}"
        )


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
