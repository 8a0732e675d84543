"""A run that starts from a model: its settings, its symbols in their places, its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.api.automatic import overridden
from regard.atomic_files import fingerprint
from regard.config.settings import Settings
from regard.config.toml import Tree, differences, to_tree
from regard.errors import ConfigError
from regard.models.seq2seq import Seq2Seq
from regard.saved_model import SavedModel, load_model
from regard.text.side import Side

BY_SYMBOL = (
    "source_embedding.weight",
    "target_embedding.weight",
    "readout.weight",
    "readout.bias",
)
"""Weights that have a row for each symbol."""

GENTLER = 0.25
"""Share of the model's own learning rate that it goes on with where nothing else was said."""

FREE = ("dropout", "max_length")
"""Settings of a model that its weights do not depend on, or whose change shows in their sizes."""


@final
@dataclass(frozen=True)
class Start:
    """What is started from, and which file it was."""

    saved: SavedModel
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> "Start":
        """Read a model file."""
        return cls(load_model(path), fingerprint(path))

    def settings(self, said: Tree) -> Tree:
        """Complete what was said: text and model are those of the model that there is."""
        own = to_tree(self.saved.settings)
        tree: dict[str, Any] = {**said}
        for section, names in (("text", own["text"]), ("data", own["data"])):
            given = said.get(section, {})
            if isinstance(given, dict):
                tree[section] = {**names, **given}
        if isinstance(said.get("model", {}), dict):
            tree["model"] = overridden(own["model"], said.get("model", {}))
        train = said.get("train", {})
        if isinstance(train, dict):
            gentle = {"learning_rate": GENTLER * own["train"]["learning_rate"]}
            tree["train"] = gentle | train
        _refuse(tree, own)
        return tree

    def refuse_other_model(self, settings: Settings) -> None:
        """Refuse what would leave some of the weights out, or read them in another way."""
        own = self.saved.settings
        changes = [x for x in differences(own, settings) if x.startswith("model.")]
        problems = [
            f"{change}, but the weights are of the model that is started from; leaving it out "
            "would do"
            for change in changes
            # one that did not copy may learn to
            if change.partition(":")[0].rpartition(".")[2] not in FREE
            and change != "model.readout.pointer_generator: false → true"
        ]
        if problems:
            raise ConfigError("settings", problems[:3])

    def plant(self, model: Seq2Seq) -> None:
        """Copy the weights; symbols that are new keep the weights that they were given."""
        weights = dict(self.saved.model.named_parameters())
        problems = []
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name not in weights and name.startswith("readout.pointer."):
                    # what begins to copy
                    continue
                if not _fits(name, weights.get(name), parameter):
                    problems.append(f"{name} has another size than the model that is started from")
                    continue
                old = weights[name]
                parameter[: len(old)] = old.to(parameter.device)
        if problems:
            would = "the model's own sizes would do"
            raise ConfigError("model", [f"{problem}; {would}" for problem in problems[:3]])


def _refuse(tree: Tree, own: Tree) -> None:
    """Refuse what would make other symbols of the same lines than the model's own settings do."""
    fixed = [("text", name) for name in ("source", "target", "shared_vocabulary")]
    problems = [
        f"{section}.{name} = {tree[section][name]}, but the model that is started from has "
        f"{own[section][name]}; leaving it out would do"
        for section, name in [*fixed, ("data", "normalization")]
        if isinstance(tree[section], dict) and tree[section][name] != own[section][name]
    ]
    if isinstance(tree["model"], dict) and "preset" in tree["model"]:
        problems.append("model.preset is the start's own; leaving it out would do")
    if problems:
        raise ConfigError("settings", problems)


def _fits(name: str, old: Tensor | None, new: Tensor) -> bool:
    if old is None or old.shape[1:] != new.shape[1:]:
        return False
    return len(old) <= len(new) if name in BY_SYMBOL else len(old) == len(new)


def refuse_frozen_symbols(start: Start, sides: Sequence[Side], parts: tuple[str, ...]) -> None:
    """Refuse to keep from learning what symbols have that the start does not know."""
    old = (start.saved.source, start.saved.target)
    source, target = (
        len(side.vocabulary) - len(known.vocabulary) for side, known in zip(sides, old, strict=True)
    )
    for part, new in (("embeddings", source + target), ("readout", target)):
        if part in parts and new:
            problem = (
                f"freeze = {part}, but {new} symbols are new to the model that is started from"
            )
            would = "would never be learned; freezing other parts would do"
            raise ConfigError("train", [f"{problem} and {would}"])


def freeze(model: Seq2Seq, parts: tuple[str, ...]) -> None:
    """Keep parts of a model from learning."""
    modules: dict[str, list[nn.Module | None]] = {
        "embeddings": [model.source_embedding, model.target_embedding],
        "encoder": [model.encoder, model.summary],
        "decoder": [model.decoder],
        "readout": [model.readout],
    }
    for part in parts:
        for module in modules[part]:
            if module is not None:
                module.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        problem = f"freeze = {', '.join(parts)} leaves nothing to learn; fewer parts would do"
        raise ConfigError("train", [problem])
