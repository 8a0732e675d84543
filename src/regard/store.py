"""The model file: one safetensors file with weights, settings, vocabularies and a summary.

Loading runs no code from the file: tensors and JSON are all there is. Metadata stands under one key
with sorted keys inside, so that the same model is the same bytes; no clock, host or path is in it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import ModelConfig
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import ModelFileError, RegardError
from regard.models.build import build
from regard.models.seq2seq import Seq2Seq
from regard.renamed_parameters import with_new_names
from regard.safetensors_files import ANOTHER, read_tensors, write_tensors
from regard.text.side import Side

FORMAT = 1


@dataclass(frozen=True)
class Saved:
    """A whole model: what computes, what it was told, and how lines become ids."""

    model: Seq2Seq
    settings: Settings
    source: Side
    target: Side
    summary: dict[str, Any]


def save_model(path: Path, saved: Saved) -> None:
    """Write a model so that either the whole file is there or the old one still is."""
    metadata = {
        "format": FORMAT,
        "regard": __version__,
        "settings": to_tree(saved.settings),
        "source": saved.source.to_json(),
        "summary": saved.summary,
        "target": saved.target.to_json(),
    }
    write_tensors(path, unique_tensors(saved.model), metadata)


def load_model(path: Path) -> Saved:
    """Read a model, or say in one sentence why it cannot be read."""
    tensors, metadata = read_tensors(path)
    tensors = with_new_names(tensors)
    version = metadata.get("format")
    if type(version) is not int or version > FORMAT:
        raise ModelFileError(
            str(path),
            f"its format is {version!r}, but regard {__version__} reads formats up to {FORMAT}; "
            "a newer regard would do",
        )
    try:
        settings = settings_from(metadata["settings"])
        source, target = Side.from_json(metadata["source"]), Side.from_json(metadata["target"])
        # without memory first: settings that lie about sizes must not take any
        with torch.device("meta"):
            _compare(build_for(settings.model, source, target), tensors, path)
        with torch.random.fork_rng(devices=[]):
            model = build_for(settings.model, source, target)
        summary = metadata["summary"]
    except ModelFileError:
        raise
    except (RegardError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise ModelFileError(
            str(path), f"its settings cannot be used ({error}); {ANOTHER}"
        ) from error
    _fill(model, tensors)
    return Saved(model.eval(), settings, source, target, summary)


def build_for(config: ModelConfig, source: Side, target: Side) -> Seq2Seq:
    """Build a model for two sides; one that copies knows which symbols they share."""
    model = build(config, len(source.vocabulary), len(target.vocabulary))
    if model.readout.pointer is not None:
        ids = source.vocabulary.ids_in(target.vocabulary)
        model.readout.pointer.words.copy_(torch.tensor(ids))
    return model


def unique_tensors(model: Seq2Seq) -> dict[str, Tensor]:
    """Return every weight once; tied ones under the first of their names."""
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}


def _compare(model: Seq2Seq, tensors: dict[str, Tensor], path: Path) -> None:
    """Refuse tensors that are not the model's, or not numbers."""
    expected = {name: parameter.shape for name, parameter in model.named_parameters()}
    found = {name: tensor.shape for name, tensor in tensors.items()}
    names = sorted(expected | found)
    if wrong := [name for name in names if expected.get(name) != found.get(name)]:
        raise ModelFileError(
            str(path), f"its weights are not those of its settings, {wrong[0]} for one; {ANOTHER}"
        )
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise ModelFileError(
                str(path), f"its weights are not all numbers, {name} for one; {ANOTHER}"
            )


def _fill(model: Seq2Seq, tensors: dict[str, Tensor]) -> None:
    """Copy tensors into a model; tied weights are one parameter and stay so."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
