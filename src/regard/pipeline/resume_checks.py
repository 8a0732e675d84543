"""Whether a run may be resumed: with the same pairs, settings and environment, unless allowed."""

import platform
from typing import Any

import torch

from regard import __version__
from regard.config.toml import Tree, differences, merge_trees, settings_from
from regard.errors import ConfigError, ModelFileError, RegardError
from regard.kernels import bfloat16_instructions
from regard.pipeline import messages
from regard.pipeline.request import TrainRequest
from regard.training.messages import unusable_state
from regard.training.run_folder import RunFolder

FIXED_SETTINGS = ("data.", "text.", "model.", "train.metric:", "train.optimizer:")
"""Settings on which the weights, the encoded pairs, the score or the optimizer state depend."""


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


def keep_precision(old_recipe: dict[str, Any] | None, settings: Tree) -> Tree:
    """Fill in the precision that the run began with; another CPU may have another default."""
    if old_recipe is None:
        return settings
    return merge_trees(
        {"train": {"precision": old_recipe["settings"]["train"]["precision"]}}, settings
    )


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
    changes = differences(settings_from(old_recipe["settings"]), settings_from(recipe["settings"]))
    if fixed := [change for change in changes if change.startswith(FIXED_SETTINGS)]:
        raise ConfigError(folder, list(map(messages.fixed_setting, fixed)))
    if changes and not request.allow_changes:
        raise ConfigError(folder, list(map(messages.changed_setting, changes)))
    return bool(changes)


def _check_environment(
    old: dict[str, Any], new: dict[str, Any], allowed: bool, folder: str
) -> None:
    other = [name for name in new if old.get(name) != new[name]]
    if other and not allowed:
        problems = [messages.changed_environment(name, old.get(name), new[name]) for name in other]
        raise ConfigError(folder, problems)
