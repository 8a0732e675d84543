"""The plan of a run with a time limit: the one kept in its folder, or a new one."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from regard.atomic_files import fingerprint_json
from regard.config.settings import TrainConfig
from regard.pipeline.configuration import RunConfiguration
from regard.pipeline.preprocessing import write_text
from regard.pipeline.validation import Validator
from regard.training.estimate import describe, describe_plan, measure_update
from regard.training.loop import TrainingJob
from regard.training.plan import Pace, TrainingPlan, make_plan

NAME = "plan.json"

MEASURED_SHARE, MAX_MEASURED_SECONDS = 0.015, 10.0
"""How much of the time is spent on measuring updates, and validations, and the final scoring."""

SLACK_SHARE, MIN_SLACK_SECONDS = 0.04, 5.0
"""How much longer than its limit a run may take before it stops early."""


@final
@dataclass(frozen=True)
class PlannedRun:
    """The settings of a run after planning; without a time limit they are those before."""

    config: TrainConfig
    plan: TrainingPlan | None
    description: str
    deadline: float
    """When to stop early, by `time.monotonic`."""


def plan_run(
    job: TrainingJob,
    validator: Validator,
    configuration: RunConfiguration,
    *,
    resume: bool,
    describes: bool,
    started: float,
) -> PlannedRun:
    """Follow the kept plan, or measure the pace and make one; `started` is when the run began."""
    config, folder, progress = job.config, job.folder, job.folder.progress()
    sources, minutes = len(validator.preprocessed_data.dev), config.max_minutes
    plan = configuration.kept_plan
    done = progress.finished and not job.settings_changed
    if not minutes or (done and plan is None):
        measured = describes and not done
        text = describe(config, _measure(job, validator), progress.step) if measured else ""
        return PlannedRun(config, None, text, float("inf"))
    spent = configuration.spent_seconds(progress.step)
    key = fingerprint_json({"recipe": job.recipe, "step": progress.step})
    if plan is None and resume:
        plan = _read(folder.path / NAME, key)
    if plan is not None:
        text = f"following the plan of {plan.max_steps:,} updates, {progress.step:,} are made"
    else:
        pace = _measure(job, validator)
        plan = make_plan(
            config,
            pace,
            seconds=60 * minutes - spent - (time.monotonic() - started),
            sources=sources,
            steps_before=progress.step,
            automatic=configuration.automatic_train_settings,
        )
        text = describe_plan(plan, config, pace, sources)
        entry: dict[str, Any] = {"key": key, "plan": plan.to_json()}
        write_text(
            folder.path / NAME, json.dumps(entry | {"digest": fingerprint_json(entry)}) + "\n"
        )
    limit = 60 * minutes - spent
    slack = max(MIN_SLACK_SECONDS, SLACK_SHARE * limit)
    deadline = started + limit + slack - plan.scoring_seconds
    return PlannedRun(plan.apply(config), plan, text, deadline)


def _measure(job: TrainingJob, validator: Validator) -> Pace:
    limit = 60 * job.config.max_minutes
    seconds = min(MAX_MEASURED_SECONDS, MEASURED_SHARE * limit) if limit else None
    return Pace(
        measure_update(job, seconds),
        validator.estimate_seconds(seconds),
        validator.estimate_seconds(seconds, final=True),
    )


def _read(path: Path, key: str) -> TrainingPlan | None:
    """Return the plan that was written before the first save, if it is undamaged and this run's."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        digest = entry.pop("digest")
        if entry["key"] != key or digest != fingerprint_json(entry):
            return None
        return TrainingPlan.from_json(entry["plan"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
