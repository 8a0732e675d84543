"""A training run from a person's order to the model file, in the order in which things happen."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.api.agreement import refuse_disagreement
from regard.api.automatic import Choice, choose, there_is_a_gpu
from regard.api.judge import Judge
from regard.api.look import Look, too_few
from regard.api.order import Order
from regard.api.prepare import Material, Prepared, prepare, too_long, write_text
from regard.api.resume import as_begun, began_on_gpu, environment, refuse_other_run
from regard.api.sources import Origin, Pairs, is_file
from regard.api.start import Start, freeze, refuse_frozen_symbols
from regard.api.vectors import Known
from regard.config.settings import DataConfig, Settings
from regard.config.toml import to_toml, to_tree
from regard.errors import ConfigError, DataError, ModelFileError, RegardError, unwritable
from regard.saved_model import SavedModel, build_for
from regard.text.normalize import FORMS
from regard.training.checkpoints import load_final_weights
from regard.training.estimate import estimate
from regard.training.loop import TrainingJob, train
from regard.training.progress_bar import make_report
from regard.training.progress_report import CompositeReport
from regard.training.run_folder import RunFolder
from regard.training.stop_signals import catch_stop_signals
from regard.training.tensorboard import TensorBoardReport
from regard.training.throughput_log import ThroughputLog
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
        if order.out is not None:
            _refuse_unwritable(order.out)
        folder = order.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs = RunFolder(folder)
        _refuse_to_lose(order, runs)
        start = None if order.start_from is None else Start.load(order.start_from)
        material = _read(order, tell)
        known = None if order.embeddings is None else Known.load(order.embeddings)
        said = order.settings if known is None else known.settings(order.settings, order.preset)
        said = said if start is None else start.settings(said)
        # once: it is read with all that was saved
        begun = runs.recipe() if order.resume else None
        said, on_gpu = as_begun(begun, said), began_on_gpu(begun)
        on_gpu = there_is_a_gpu(said) if on_gpu is None else on_gpu
        choice = choose(material.look, said, order.preset, paper=order.paper_sizes, on_gpu=on_gpu)
        settings = choice.settings
        if start is not None:
            start.refuse_other_model(settings)
        refuse_disagreement(settings)
        device = chosen_device(settings.train.device)
        recipe = material.fingerprints | {
            "settings": to_tree(settings),
            "environment": environment(device, settings.train.precision),
            "start": None if start is None else start.fingerprint,
            "embeddings": None if known is None else known.fingerprint,
        }
        reopened = begun is not None and refuse_other_run(begun, recipe, order, str(folder))
        if order.resume and _over(runs, reopened) and (made := _made(order, runs, recipe)):
            tell(f"{order.out}: the run is finished; there is nothing left to do")
            return Done(made, None)
        _tell_choice(choice, order, tell)
        # somebody else's randomness is left as it was
        stack.enter_context(torch.random.fork_rng([device] if device.type == "cuda" else []))
        with _new(folder):
            prepared = prepare(folder, material, settings, start)
            torch.manual_seed(settings.train.seed)
            model = build_for(settings.model, prepared.source, prepared.target).to(device).eval()
            if start is not None:
                sides = (prepared.source, prepared.target)
                refuse_frozen_symbols(start, sides, settings.train.freeze)
                start.plant(model)
            if known is not None:
                tell(known.plant(model, prepared.source, prepared.target))
            freeze(model, settings.train.freeze)
            write_text(folder / "settings.toml", to_toml(settings))
        _tell_prepared(prepared, settings, material, tell)
        if order.overwrite:
            runs.clear()
        saved = SavedModel(model, settings, prepared.source, prepared.target, {})
        judge = Judge(saved, prepared, runs.progress().step // settings.train.validate_every)
        fixed = judge, judge.higher_is_better, recipe, reopened
        job = TrainingJob(model, prepared.corpus, settings.train, runs, *fixed)
        facts = _facts(prepared, settings, material)
        facts |= {} if start is None else {"start_from": start.fingerprint}
        return _train(order, job, judge, facts, tell)


def _train(order: Order, job: TrainingJob, judge: Judge, facts: dict[str, Any], tell: Tell) -> Done:
    """Train from where the folder stands, and save the model."""
    if not order.quiet and not _over(job.folder, job.settings_changed):
        guess = estimate(job, judge.time, job.folder.progress().step)
        tell(f"{sum(p.numel() for p in job.model.parameters()):,} parameters; {guess}")
    reports = [make_report(job.config, job.config.metric, quiet=order.quiet)]
    if order.out is not None:
        reports.append(TensorBoardReport(job.folder.path / "tensorboard", job.config.metric))
        reports.append(ThroughputLog(job.folder, job.config))
    with (
        catch_stop_signals(saves=order.out is not None) as stop,
        CompositeReport(reports) as report,
    ):
        progress = train(job, report, stop)
    if not progress.finished:
        return Done(None, stop.signal)
    load_final_weights(job, progress)
    facts = facts | {"best_step": progress.best_step, "steps": progress.step}
    translator = judge.judged(facts, job.folder.path)
    if order.out is not None:
        translator.save(order.out)
        scores = ", ".join(f"{s['name']} {s['value']:.2f}" for s in translator.summary["scores"])
        tell(f"saved {order.out}; validation sources {len(judge.prepared.dev):,}: {scores}")
    return Done(translator, None)


def _over(runs: RunFolder, reopened: bool) -> bool:
    return runs.progress().finished and not reopened


def _made(order: Order, runs: RunFolder, recipe: dict[str, Any]) -> Translator | None:
    """Return what the finished run has made; the file may still be an older run's, or damaged."""
    if order.out is None or not order.out.exists():
        return None
    try:
        there = load(order.out, device=recipe["settings"]["train"]["device"])
    except ModelFileError:
        return None
    facts = {"steps": runs.progress().step, "settings": recipe["settings"]}
    facts |= {name: recipe[name] for name in ("pairs", "dev")}
    found = there.summary | {"settings": to_tree(there.settings)}
    return there if all(found.get(name) == fact for name, fact in facts.items()) else None


def _facts(prepared: Prepared, settings: Settings, material: Material) -> dict[str, Any]:
    """Return what travels with the weights: no clock, host or path."""
    return material.fingerprints | {
        "dev_sources": len(prepared.dev),
        "left_out": prepared.left_out,
        "seed": settings.train.seed,
        "train_pairs": len(prepared.corpus),
    }


def _read(order: Order, tell: Tell) -> Material:
    """Read everything once, before anything is written."""
    skipped: list[DataError] = []
    remember = skipped.append if order.skip_bad_lines else None
    section = order.settings.get("data")
    form = section.get("normalization") if isinstance(section, dict) else None
    # a form that there is not is refused with all else that is wrong
    form = form if form in FORMS else DataConfig().normalization
    pairs = Pairs(order.origin, remember)
    look = Look(pairs, form)
    dev, dev_look = None, None
    if order.dev is not None:
        columns = order.origin.columns if is_file(order.dev) else None
        dev = Pairs(Origin(order.dev, columns=columns, label="dev"), remember)
        dev_look = Look(dev, form)
    for error in skipped[:5]:
        tell(f"skipped: {error}")
    if skipped:
        tell(f"skipped {len(skipped):,} bad line{'s' * (len(skipped) != 1)}")
    material = Material(pairs, look, dev, dev_look)
    _refuse_too_few(material)
    for read in (pairs, dev):
        if read is not None:
            read.skip_in_silence()
    return material


def _refuse_too_few(material: Material) -> None:
    look, dev = material.look, material.dev_look
    if dev is not None and material.dev is not None and not dev.pairs:
        problem = "it holds no pair, but one must be there to validate on; leaving it out would do"
        raise DataError(material.dev.name, None, problem)
    if few := too_few(look, dev=dev is not None):
        raise DataError(material.pairs.name, None, few)


def _refuse_to_lose(order: Order, runs: RunFolder) -> None:
    """Keep an older model and an older run from being written over."""
    if order.resume and order.overwrite:
        problem = "resume = true goes on with what overwrite = true would lose"
        raise ConfigError("train", [f"{problem}; one of them would do"])
    there = [path for path in (order.out, runs.state) if path is not None and path.exists()]
    if not there or order.overwrite or (order.resume and runs.state.exists()):
        return
    would = "--overwrite to begin anew or another --out would do"
    problem = (
        f"it is there already, but it must not be lost; --resume to go on with its run, {would}"
    )
    if order.resume:
        problem = f"it is there, but the run that it came from is not; {would}"
    raise DataError(str(there[0]), None, problem)


def _refuse_unwritable(out: Path) -> None:
    """Notice before training that the model could not be saved."""
    try:
        if out.is_dir():
            raise DataError(str(out), None, f"it is a folder; {out / 'model.regard'} would do")
        parent = out.absolute().parent
        while not parent.exists():
            parent = parent.parent
    except OSError as error:
        problem = f"it cannot be reached ({error.strerror}); --out in another folder would do"
        raise DataError(str(out), None, problem) from None
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        problem = f"this user cannot write to {parent}; --out in another folder would do"
        raise DataError(str(out), None, problem)


@contextmanager
def _new(folder: Path) -> Iterator[None]:
    """Make a folder, which is gone again if what is put into it is refused."""
    there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = unwritable(error, "--out in another folder")
        raise DataError(str(folder), None, problem) from None
    try:
        yield
    except RegardError:
        if not there:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _tell_choice(choice: Choice, order: Order, tell: Tell) -> None:
    if choice.reasons:
        tell("chosen from the pairs:")
    for chosen in choice.reasons:
        tell(f"  {chosen}")
    if order.out is not None:
        tell(f"model file {order.out}, everything else in {order.folder}/, all settings in")
        tell(f"  {order.folder}/settings.toml (--config takes it)")


def _tell_prepared(prepared: Prepared, settings: Settings, material: Material, tell: Tell) -> None:
    prints = material.fingerprints
    same = " (the same pairs)" * (prints["pairs"] == prints["dev"])
    sources = f"{len(prepared.dev):,} source{'s' * (len(prepared.dev) != 1)}"
    tell(
        f"{len(prepared.corpus):,} pairs to learn from, {sources} to validate on{same}; "
        f"{len(prepared.source.vocabulary):,} source and {len(prepared.target.vocabulary):,} "
        "target symbols"
    )
    if prepared.left_out:
        pairs = f"pair{'s' * (prepared.left_out != 1)}"
        tell(f"left out {prepared.left_out:,} {pairs}: {too_long(settings)}")


def _to_stderr(text: str) -> None:
    # a process without a terminal of its own may have none
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
