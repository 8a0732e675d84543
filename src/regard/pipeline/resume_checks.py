"""Whether a run may be resumed: with the same pairs, settings and environment, unless allowed."""

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from regard import __version__
from regard.config.settings import Settings
from regard.config.toml import Tree, differences, merge_trees, settings_from, to_tree
from regard.errors import ConfigError, ModelFileError, RegardError
from regard.kernels import bfloat16_instructions
from regard.pipeline import messages
from regard.pipeline.request import TrainRequest
from regard.safetensors_files import DAMAGED
from regard.training.messages import unusable_state
from regard.training.plan import TrainingPlan
from regard.training.run_folder import RunFolder

FIXED_SETTINGS = ("data.", "text.", "model.", "train.metric:", "train.optimizer:")
"""Settings on which the weights, the encoded pairs, the score or the optimizer state depend."""

KEPT_CHOICES = {"train": ("metric", "precision"), "search": ("same_length",)}
"""Automatic settings that a resumed run keeps, besides those of the pairs and their tokens."""


def environment(device: torch.device, precision: str) -> dict[str, Any]:
    """Return what the last bits of an update depend on, besides the settings."""
    import numpy as np

    instructions = [torch.backends.cpu.get_cpu_capability()]
    if precision == "bfloat16" and device.type == "cpu":
        instructions += bfloat16_instructions()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "device": f"{device.type} {name}",
        "instructions": " ".join(instructions),
        "numpy": np.__version__,
        "regard": __version__,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def saved_recipe(folder: RunFolder) -> dict[str, Any] | None:
    """Return the recipe of a saved run, if it has all that is read here; None if there is none."""
    recipe = folder.recipe()
    if recipe is None:
        return None
    try:
        settings_from(recipe["settings"])
        names = [recipe["environment"]["device"], recipe["settings"]["train"]["precision"]]
        names += [recipe["pairs"], recipe["dev"] or ""]
        if not all(isinstance(name, str) for name in names):
            raise TypeError("a name is not text")
    except (RegardError, KeyError, TypeError, ValueError, RecursionError) as error:
        problem = unusable_state("recipe", error)
        raise ModelFileError(str(folder.state), problem) from error
    return recipe


def started_on_gpu(old_recipe: dict[str, Any] | None) -> bool | None:
    """Whether a run began on a GPU, which has other automatic settings; None if there is no run."""
    return None if old_recipe is None else old_recipe["environment"]["device"].startswith("cuda")


def keep_choices(old_recipe: dict[str, Any] | None, settings: Tree) -> Tree:
    """Fill in what was chosen when the run began; another CPU or version may choose otherwise."""
    if old_recipe is None:
        return settings
    old = to_tree(settings_from(old_recipe["settings"]))
    choices: Tree = {section: old[section] for section in ("data", "text")}
    for section, names in KEPT_CHOICES.items():
        choices[section] = {name: old[section][name] for name in names}
    return merge_trees(choices, settings)


def kept_plan(old_recipe: dict[str, Any] | None, state: Path) -> TrainingPlan | None:
    """Return the plan that a run was saved with, if it has a time limit."""
    if old_recipe is None or "plan" not in old_recipe:
        return None
    try:
        return TrainingPlan.from_json(old_recipe["plan"])
    except ValueError as error:
        raise ModelFileError(str(state), DAMAGED) from error


def planned_settings(settings: Settings, plan: TrainingPlan | None) -> Settings:
    """Return the settings with the numbers of a plan."""
    return settings if plan is None else replace(settings, train=plan.apply(settings.train))


def settings_of_run(old_recipe: dict[str, Any], settings: Settings, state: Path) -> Settings:
    """Return the settings that a run began with, if those of its settings.toml were passed."""
    began = settings_from(old_recipe["settings"])
    planned = planned_settings(began, kept_plan(old_recipe, state))
    return settings if differences(planned, settings) else began


def has_more_time(old_recipe: dict[str, Any], settings: Settings) -> bool:
    """Whether a run is to go on for longer, and nothing else about it has changed."""
    began = settings_from(old_recipe["settings"])
    old, new = began.train.max_minutes, settings.train.max_minutes
    longer = replace(began, train=replace(began.train, max_minutes=new))
    return old > 0 and (new > old or not new) and not differences(longer, settings)


def check_same_run(
    old_recipe: dict[str, Any], recipe: dict[str, Any], request: TrainRequest, folder: str
) -> bool:
    """Refuse to resume a different run; return whether settings were changed on purpose."""
    for name, what in (("pairs", "pairs"), ("dev", "validation pairs")):
        if old_recipe[name] != recipe[name]:
            raise ConfigError(folder, [messages.other_pairs(what)])
    for name, *words in (
        ("start", "from another model", "--start-from"),
        ("embeddings", "with other vectors", "--embeddings"),
    ):
        if old_recipe.get(name) != recipe[name]:
            raise ConfigError(folder, [messages.other_file(*words)])
    _check_environment(
        old_recipe["environment"], recipe["environment"], request.allow_inexact, folder
    )
    settings = settings_from(recipe["settings"])
    if has_more_time(old_recipe, settings):
        return True
    changes = differences(settings_from(old_recipe["settings"]), settings)
    # the pairs are the same, however their file is laid out today
    changes = [change for change in changes if not change.startswith("data.file.")]
    if fixed := [change for change in changes if change.startswith(FIXED_SETTINGS)]:
        raise ConfigError(folder, list(map(messages.fixed_setting, fixed)))
    if changes and not request.allow_changes:
        raise ConfigError(folder, list(map(messages.changed_setting, changes)))
    return bool(changes)


def _check_environment(
    old_environment: dict[str, Any], current_environment: dict[str, Any], allowed: bool, folder: str
) -> None:
    other = [
        name
        for name in current_environment
        if old_environment.get(name) != current_environment[name]
    ]
    if other and not allowed:
        problems = [
            messages.changed_environment(name, old_environment.get(name), current_environment[name])
            for name in other
        ]
        raise ConfigError(folder, problems)
