"""A training run: all stages in order."""

import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard import runtime_environment
from regard.config.toml import to_toml, to_tree
from regard.errors import ModelFileError
from regard.models.seq2seq import Seq2Seq
from regard.pipeline import messages
from regard.pipeline.auto_tokenizers import section_of
from regard.pipeline.configuration import RunConfiguration, configure
from regard.pipeline.input_pairs import InputPairs, read_input_pairs
from regard.pipeline.output_checks import check_overwrite, check_writable, new_folder
from regard.pipeline.preprocessing import PreprocessedData, preprocess, write_text
from regard.pipeline.pretrained_embeddings import PretrainedEmbeddings
from regard.pipeline.request import TrainRequest
from regard.pipeline.resume_checks import planned_settings
from regard.pipeline.run_outcome import EndedRun, Log, TrainOutcome
from regard.pipeline.run_plan import plan_run
from regard.pipeline.skipped_lines import write_skipped_lines
from regard.pipeline.spelling_differences import spelling_differences
from regard.pipeline.validation import Validator
from regard.pipeline.warm_start import WarmStart, check_frozen_tokens, freeze_parts
from regard.safetensors_files import check_digest
from regard.saved_model import SavedModel, build_for
from regard.training.loop import TrainingJob, train
from regard.training.notebook_report import NotebookLog
from regard.training.progress_bar import in_notebook, make_report
from regard.training.progress_report import CompositeReport
from regard.training.run_folder import RunFolder
from regard.training.stop_signals import catch_stop_signals
from regard.training.tensorboard import TensorBoardReport
from regard.training.throughput_log import ThroughputLog
from regard.translator import Translator, load


class RunContext(NamedTuple):
    """The folder of a run, when it began by `time.monotonic`, and what shows its messages."""

    folder: RunFolder
    started: float
    log: Log


def run(request: TrainRequest, started: float | None = None) -> TrainOutcome:
    """Run a training request; whatever cannot work is refused before training.

    `started` is when the run began, by `time.monotonic`: a time limit counts from there.
    """
    started = time.monotonic() if started is None else started
    log = _make_log(quiet=request.quiet)
    with ExitStack() as stack:
        folder = _open_folder(request, stack)
        warm_start = None if request.start_from is None else WarmStart.load(request.start_from)
        start_normalization = None if warm_start is None else warm_start.normalization
        old_recipe = folder.recipe() if request.resume else None
        pairs = read_input_pairs(request, start_normalization, log, old_recipe)
        embeddings = PretrainedEmbeddings.load(request.embeddings) if request.embeddings else None
        configuration = configure(request, pairs, warm_start, embeddings, folder)
        finished = _finished_translator(request, configuration, folder)
        if finished is not None:
            log(f"{request.out}: the run is finished; there is nothing left to do")
            return TrainOutcome(finished)
        _log_configuration(configuration, request, log)
        _log_spelling_differences(pairs, configuration, log)
        # the random state of the caller does not change
        device = configuration.device
        if device.type == "cpu":
            runtime_environment.warn_if_threads_spin(torch.get_num_threads())
        stack.enter_context(torch.random.fork_rng([device] if device.type == "cuda" else []))
        with new_folder(folder.path):
            data = preprocess(folder.path, pairs, configuration.settings, warm_start)
            model = _initialize_model(configuration, data, warm_start, embeddings, log)
            write_text(folder.path / "settings.toml", to_toml(configuration.settings))
            write_skipped_lines(folder.path, pairs.skipped, log)
        _log_training_data(data, configuration, pairs, log)
        if request.overwrite:
            folder.clear()
        summary = _summary(data, pairs, configuration, warm_start)
        saved = SavedModel(model, configuration.settings, data.source, data.target, summary)
        return _train(request, configuration, data, saved, RunContext(folder, started, log))


def _open_folder(request: TrainRequest, stack: ExitStack) -> RunFolder:
    """Return the run folder; without a model file, a temporary one."""
    if request.out is not None:
        check_writable(request.out)
    path = request.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
    folder = RunFolder(path)
    check_overwrite(request, folder)
    return folder


def _initialize_model(
    configuration: RunConfiguration,
    data: PreprocessedData,
    warm_start: WarmStart | None,
    embeddings: PretrainedEmbeddings | None,
    log: Log,
) -> Seq2Seq:
    """Build the model, with random weights, those of an older model, or word vectors."""
    settings = configuration.settings
    torch.manual_seed(settings.train.seed)
    model = build_for(settings.model, data.source, data.target).to(configuration.device).eval()
    if warm_start is not None:
        check_frozen_tokens(warm_start, (data.source, data.target), settings.train.freeze)
        warm_start.initialize_weights(model)
    if embeddings is not None:
        log(embeddings.initialize_weights(model, data.source, data.target))
    freeze_parts(model, settings.train.freeze)
    return model


def _train(
    request: TrainRequest,
    configuration: RunConfiguration,
    data: PreprocessedData,
    saved: SavedModel,
    context: RunContext,
) -> TrainOutcome:
    """Train from the last saved state, score the best weights and save the model file."""
    folder, started, log = context
    validator = Validator(saved, data)
    job = TrainingJob(
        saved.model,
        data.corpus,
        saved.settings.train,
        folder,
        validate=validator,
        higher_is_better=validator.higher_is_better,
        recipe=configuration.recipe,
        settings_changed=configuration.settings_changed,
        more_time=configuration.more_time,
    )
    planned = plan_run(
        job,
        validator,
        configuration,
        resume=request.resume,
        describes=not request.quiet,
        started=started,
    )
    if planned.description:
        weights = sum(parameter.numel() for parameter in job.model.parameters())
        log(f"{weights:,} parameters; {planned.description}")
    config, plan = planned.config, planned.plan
    validated = scored = data
    if plan is not None:
        saved = replace(saved, settings=replace(saved.settings, train=config))
        write_text(folder.path / "settings.toml", to_toml(saved.settings))
        job = replace(job, config=config, recipe=job.recipe | {"plan": plan.to_json()})
        validated = data.with_dev_sources(plan.validation_sources)
        scored = data.with_dev_sources(plan.scoring_sources)
    num_validations = folder.progress().step // config.validate_every
    job = replace(job, validate=Validator(saved, validated, num_validations))
    reports = [make_report(config, config.metric, quiet=request.quiet)]
    if request.out is not None:
        reports.append(TensorBoardReport(folder.path / "tensorboard", config.metric))
        reports.append(ThroughputLog(folder, config))
    with (
        catch_stop_signals(saves=request.out is not None) as stop,
        CompositeReport(reports) as report,
    ):
        progress = train(job, report, lambda: stop() or time.monotonic() > planned.deadline)
    ended = EndedRun(job, progress, saved, scored, configuration.settings.train.max_steps)
    if stop.signal is not None and not progress.finished:
        return ended.interrupted(request.out, stop.signal, log)
    return ended.completed(request.out, log)


def _finished_translator(
    request: TrainRequest, configuration: RunConfiguration, folder: RunFolder
) -> Translator | None:
    """Return the model of a finished run, unless its file is another run's or damaged."""
    if not request.resume or request.out is None or not request.out.exists():
        return None
    progress, recipe = folder.progress(), configuration.recipe
    if configuration.settings_changed or not progress.finished:
        return None
    try:
        check_digest(request.out)
        translator = load(request.out, device=recipe["settings"]["train"]["device"])
    except ModelFileError:
        return None
    settings = planned_settings(configuration.settings, configuration.kept_plan)
    expected = {"steps": progress.step, "settings": to_tree(settings)}
    expected |= {name: recipe[name] for name in ("pairs", "dev")}
    actual = translator.summary | {"settings": to_tree(translator.settings)}
    same = all(actual.get(name) == fact for name, fact in expected.items())
    return translator if same else None


def _summary(
    data: PreprocessedData,
    pairs: InputPairs,
    configuration: RunConfiguration,
    warm_start: WarmStart | None,
) -> dict[str, Any]:
    """Return the training summary for the model file: no clock, host or path."""
    summary = pairs.fingerprints | {
        "dev_sources": len(data.dev),
        "left_out": data.left_out,
        "seed": configuration.settings.train.seed,
        "train_pairs": len(data.corpus),
    }
    return summary | ({} if warm_start is None else {"start_from": warm_start.fingerprint})


def _log_configuration(configuration: RunConfiguration, request: TrainRequest, log: Log) -> None:
    settings = configuration.settings
    explicit = section_of(request.settings, "train").get("metric")
    if (explicit, settings.data.task) == ("wer", "g2p"):
        log(messages.MEANING_OF_WER)
    if configuration.automatic.reasons:
        log("automatic settings:")
    for setting in configuration.automatic.reasons:
        log(f"  {setting}")
    if request.out is not None:
        log(f"model file {request.out}, everything else in {request.folder}/, all settings in")
        log(f"  {request.folder}/settings.toml (for --config)")


def _log_spelling_differences(pairs: InputPairs, configuration: RunConfiguration, log: Log) -> None:
    if pairs.dev is None:
        return
    train, dev, data = pairs.profile, pairs.dev, configuration.settings.data
    for warning in spelling_differences(train, dev.profile, dev.name, data):
        log(f"warning: {warning}")


def _log_training_data(
    data: PreprocessedData, configuration: RunConfiguration, pairs: InputPairs, log: Log
) -> None:
    fingerprints = pairs.fingerprints
    same = " (the same pairs)" * (fingerprints["pairs"] == fingerprints["dev"])
    sources = f"{len(data.dev):,} source{'s' * (len(data.dev) != 1)}"
    log(
        f"{len(data.corpus):,} training pairs, {sources} for validation{same}; "
        f"{len(data.source.vocabulary):,} source and {len(data.target.vocabulary):,} "
        "target tokens"
    )
    data_config = configuration.settings.data
    if data.held_out is not None and data_config.split_by != "source":
        log(messages.held_out(data_config.split_by, data.held_out, len(data.dev)))
    if data.left_out:
        limits = data_config.max_source_length, data_config.max_target_length
        left_out = f"pair{'s' * (data.left_out != 1)}"
        log(f"left out {data.left_out:,} {left_out}: {messages.too_long(*limits)}")


def _make_log(*, quiet: bool) -> Log:
    """Return what shows messages: on stderr, or folded in a notebook."""
    if quiet:
        return lambda text: None
    return NotebookLog() if in_notebook() else _log_to_stderr


def _log_to_stderr(text: str) -> None:
    # a process without a terminal may have no stderr
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
