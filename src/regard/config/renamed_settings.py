"""Settings and values of settings that had other names in earlier versions."""

import warnings
from collections.abc import Sequence
from typing import Any

from regard.choices import RENAMED_TOKENIZERS
from regard.config.messages import old_and_new_setting, renamed_setting, renamed_value
from regard.errors import ConfigError

Tree = dict[str, Any]

RENAMED_SETTINGS = {
    "data.dev_share": "data.dev_fraction",
    "data.max_dev": "data.max_dev_sources",
    "model.decoder.first": "model.decoder.initial_state",
    "model.readout.copies": "model.readout.pointer_generator",
    "model.source.zero_start": "model.source.zero_bos",
    "model.target.zero_start": "model.target.zero_bos",
    "model.tied": "model.tied_embeddings",
    "search.same_pattern": "search.constraint",
    "text.shared": "text.shared_vocabulary",
    "text.source_size": "text.source_vocabulary_size",
    "text.target_size": "text.target_vocabulary_size",
    "train.accumulate": "train.gradient_accumulation_steps",
    "train.agreement": "train.rdrop_alpha",
    "train.average": "train.average_checkpoints",
    "train.average_of": "train.average_checkpoints_from",
    "train.clip_norm": "train.max_grad_norm",
}
"""Old full name → new full name, in the same section."""

RENAMED_VALUES = {"text.source": RENAMED_TOKENIZERS, "text.target": RENAMED_TOKENIZERS}
"""Full name of a setting → old value → new value."""


SUCCESSOR_VALUES: dict[str, dict[Any, Any]] = {
    "search.same_pattern": {True: "repetition_pattern", False: "none"},
}
"""Old full name → old value → value under the new name; other values stay."""


class RenamedSettingWarning(FutureWarning):
    """A setting was given under its old name, or with the old name of a value."""


def with_new_names(tree: Tree, *, warn: bool = True) -> Tree:
    """Return a tree of settings under their new names; other settings stay as they are.

    Settings from the user cause a warning; those of a model file or a run folder, which cannot be
    edited, do not.
    """
    renamed: Tree = tree
    problems = []
    for old, new in RENAMED_SETTINGS.items():
        *path, name = old.split(".")
        section = _section(renamed, path)
        if section is None or name not in section:
            continue
        new_name = new.rpartition(".")[2]
        if new_name in section:
            problems.append(old_and_new_setting(old, new))
            continue
        values = SUCCESSOR_VALUES.get(old, {})
        successor = values.get(section[name]) if type(section[name]) is bool else None
        # keep the position, and thus the order of the settings
        inner = {
            new_name if key == name else key: successor if successor and key == name else value
            for key, value in section.items()
        }
        renamed = _replaced(renamed, path, inner)
        assignment = f' = "{successor}"' if successor else ""
        _warn(renamed_setting(old, new + assignment), warn)
    if problems:
        raise ConfigError("settings", problems)
    for setting, values in RENAMED_VALUES.items():
        *path, name = setting.split(".")
        section = _section(renamed, path)
        value = None if section is None else section.get(name)
        if section is not None and isinstance(value, str) and value in values:
            renamed = _replaced(renamed, path, {**section, name: values[value]})
            _warn(renamed_value(setting, value, values[value]), warn)
    return renamed


def section_of_old_name(name: str) -> str | None:
    """Return the section of a setting by its old name without the section."""
    sections = [full.split(".")[0] for full in RENAMED_SETTINGS if full.count(".") == 1]
    return next((section for section in sections if f"{section}.{name}" in RENAMED_SETTINGS), None)


def _warn(sentence: str, warn: bool) -> None:
    if warn:
        warnings.warn(sentence, RenamedSettingWarning, stacklevel=3)


def _section(tree: Tree, path: Sequence[str]) -> Tree | None:
    """Return the section at a path, if there is one."""
    section: Any = tree
    for name in path:
        section = section.get(name) if isinstance(section, dict) else None
    return section if isinstance(section, dict) else None


def _replaced(tree: Tree, path: Sequence[str], section: Tree) -> Tree:
    """Return a tree with one section replaced; the argument is not changed."""
    if not path:
        return section
    name, *rest = path
    return {**tree, name: _replaced(tree[name], rest, section)}
