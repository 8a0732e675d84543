"""Whether a run may be resumed: with the same pairs, settings and environment, unless allowed."""

import platform
from typing import Any

import torch

from regard import __version__
from regard.config.toml import Tree, differences, merge_trees, settings_from
from regard.errors import ConfigError
from regard.kernels import bfloat16_instructions
from regard.pipeline import messages
from regard.pipeline.request import TrainRequest

FIXED = ("data.", "text.", "model.", "train.metric:", "train.optimizer:")
"""Settings that the weights, the encoded pairs and what is remembered of both depend on."""


def environment(device: torch.device, precision: str) -> dict[str, Any]:
    """Return what the last bit of an update depends on, besides the settings."""
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


def started_on_gpu(before: dict[str, Any] | None) -> bool | None:
    """Whether a run began on a GPU, which has other automatic settings; None if there is no run."""
    return None if before is None else before["environment"]["device"].startswith("cuda")


def keep_precision(before: dict[str, Any] | None, settings: Tree) -> Tree:
    """Fill in the precision that a run began with, which another CPU would not choose."""
    if before is None:
        return settings
    return merge_trees({"train": {"precision": before["settings"]["train"]["precision"]}}, settings)


def check_same_run(
    before: dict[str, Any], recipe: dict[str, Any], request: TrainRequest, folder: str
) -> bool:
    """Refuse to go on with something else; return whether settings were changed on purpose."""
    for name, what in (("pairs", "pairs"), ("dev", "validation pairs")):
        if before[name] != recipe[name]:
            raise ConfigError(folder, [messages.other_pairs(what)])
    for name, *words in (
        ("start", "from another model", "--start-from"),
        ("embeddings", "with other vectors", "--embeddings"),
    ):
        if before.get(name) != recipe[name]:
            raise ConfigError(folder, [messages.other_file(*words)])
    _refuse_environment(before["environment"], recipe["environment"], request.allow_inexact, folder)
    changes = differences(settings_from(before["settings"]), settings_from(recipe["settings"]))
    if fixed := [change for change in changes if change.startswith(FIXED)]:
        raise ConfigError(folder, list(map(messages.fixed_setting, fixed)))
    if changes and not request.allow_changes:
        raise ConfigError(folder, list(map(messages.changed_setting, changes)))
    return bool(changes)


def _refuse_environment(
    before: dict[str, Any], now: dict[str, Any], allowed: bool, folder: str
) -> None:
    other = [name for name in now if before.get(name) != now[name]]
    if other and not allowed:
        problems = [
            messages.changed_environment(name, before.get(name), now[name]) for name in other
        ]
        raise ConfigError(folder, problems)
