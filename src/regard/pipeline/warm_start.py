"""Training that starts from a model: its settings, its tokens with their ids, its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.atomic_files import fingerprint
from regard.config.settings import Settings
from regard.config.toml import Tree, differences, merge_trees, to_tree
from regard.errors import ConfigError
from regard.models.seq2seq import Seq2Seq
from regard.pipeline import messages
from regard.saved_model import SavedModel, load_model
from regard.text.text_processor import TextProcessor

TOKEN_WEIGHTS = (
    "source_embedding.weight",
    "target_embedding.weight",
    "readout.weight",
    "readout.bias",
)
"""Weights that have a row for each token."""

LEARNING_RATE_FACTOR = 0.25
"""The default learning rate is this fraction of the model's own."""

CHANGEABLE_SETTINGS = ("dropout", "max_length")
"""Settings that may change: weights do not depend on them, or have another size if they do."""


@final
@dataclass(frozen=True)
class WarmStart:
    """The model that training starts from, and the fingerprint of its file."""

    saved: SavedModel
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> "WarmStart":
        """Read a model file."""
        return cls(load_model(path), fingerprint(path))

    @property
    def normalization(self) -> str:
        """The Unicode form of the model's lines."""
        return self.saved.settings.data.normalization

    def complete_settings(self, settings: Tree) -> Tree:
        """Fill in the model's own [text], [data] and [model], and a lower learning rate."""
        saved_tree = to_tree(self.saved.settings)
        tree: dict[str, Any] = {**settings}
        for section, saved_section in (("text", saved_tree["text"]), ("data", saved_tree["data"])):
            explicit = settings.get(section, {})
            if isinstance(explicit, dict):
                tree[section] = {**saved_section, **explicit}
        if isinstance(settings.get("model", {}), dict):
            tree["model"] = merge_trees(saved_tree["model"], settings.get("model", {}))
        train = settings.get("train", {})
        if isinstance(train, dict):
            train_defaults = {
                "learning_rate": LEARNING_RATE_FACTOR * saved_tree["train"]["learning_rate"]
            }
            tree["train"] = train_defaults | train
        _check_text(tree, saved_tree)
        return tree

    def check_model(self, settings: Settings) -> None:
        """Refuse settings under which some weights would be unused or mean something else."""
        own = self.saved.settings
        changes = [x for x in differences(own, settings) if x.startswith("model.")]
        problems = [
            messages.other_model(change)
            for change in changes
            # a pointer may be added
            if change.partition(":")[0].rpartition(".")[2] not in CHANGEABLE_SETTINGS
            and change != "model.readout.pointer_generator: false → true"
        ]
        if problems:
            raise ConfigError("settings", problems[:3])

    def initialize_weights(self, model: Seq2Seq) -> None:
        """Copy the weights; new tokens keep their random ones."""
        weights = dict(self.saved.model.named_parameters())
        problems = []
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name not in weights and name.startswith("readout.pointer."):
                    # a pointer that the older model did not have
                    continue
                if not _fits(name, weights.get(name), parameter):
                    problems.append(messages.other_weight_size(name))
                    continue
                old = weights[name]
                parameter[: len(old)] = old.to(parameter.device)
        if problems:
            raise ConfigError("model", problems[:3])


def _check_text(tree: Tree, own: Tree) -> None:
    """Refuse settings that would tokenize lines differently than the model."""
    fixed = [("text", name) for name in ("source", "target", "shared_vocabulary")]
    problems = [
        messages.other_text(f"{section}.{name}", tree[section][name], own[section][name])
        for section, name in [*fixed, ("data", "normalization"), ("data", "source_case")]
        if isinstance(tree[section], dict) and tree[section][name] != own[section][name]
    ]
    if isinstance(tree["model"], dict) and "preset" in tree["model"]:
        problems.append(messages.PRESET_AT_WARM_START)
    if problems:
        raise ConfigError("settings", problems)


def _fits(name: str, old: Tensor | None, new: Tensor) -> bool:
    if old is None or old.shape[1:] != new.shape[1:]:
        return False
    return len(old) <= len(new) if name in TOKEN_WEIGHTS else len(old) == len(new)


def check_frozen_tokens(
    warm_start: WarmStart, sides: Sequence[TextProcessor], parts: tuple[str, ...]
) -> None:
    """Refuse to freeze weights of tokens that the older model does not know."""
    old = (warm_start.saved.source, warm_start.saved.target)
    source, target = (
        len(side.vocabulary) - len(known.vocabulary) for side, known in zip(sides, old, strict=True)
    )
    for part, new in (("embeddings", source + target), ("readout", target)):
        if part in parts and new:
            raise ConfigError("train", [messages.frozen_tokens(part, new)])


def freeze_parts(model: Seq2Seq, parts: tuple[str, ...]) -> None:
    """Exclude parts of a model from training."""
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
        raise ConfigError("train", [messages.all_frozen(parts)])
