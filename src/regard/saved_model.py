"""A model with its settings and vocabularies: saved to a file, and loaded ready to translate."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config.model import ModelConfig
from regard.config.settings import Settings
from regard.errors import ModelFileError, RegardError
from regard.model_file import (
    ModelFile,
    check_layers,
    check_tensors,
    read_model_file,
    unique_tensors,
    unusable_settings,
    write_model_file,
)
from regard.models.build import build
from regard.models.seq2seq import Seq2Seq
from regard.text.text_processor import TextProcessor


@dataclass(frozen=True)
class SavedModel:
    """A whole model: the module, its settings, and the text processors of both sides."""

    model: Seq2Seq
    settings: Settings
    source: TextProcessor
    target: TextProcessor
    summary: dict[str, Any]


def save_model(path: Path, saved: SavedModel) -> None:
    """Write a model to a file completely, or leave the old file."""
    parts = saved.settings, saved.source, saved.target, saved.summary
    write_model_file(path, ModelFile(unique_tensors(saved.model), *parts))


def load_model(path: Path) -> SavedModel:
    """Read and build a model, or say in one sentence why it cannot be."""
    file = read_model_file(path)
    config = file.settings.model
    check_layers(path, file)
    try:
        # without memory first: wrong sizes in the settings must not allocate any
        with torch.device("meta"):
            empty = build_for(config, file.source, file.target)
        shapes = {name: parameter.shape for name, parameter in empty.named_parameters()}
        check_tensors(path, file.tensors, shapes)
        with torch.random.fork_rng(devices=[]):
            model = build_for(config, file.source, file.target)
    except ModelFileError:
        raise
    except (RegardError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise unusable_settings(path, error) from error
    _fill(model, file.tensors)
    return SavedModel(model.eval(), file.settings, file.source, file.target, file.summary)


def build_for(config: ModelConfig, source: TextProcessor, target: TextProcessor) -> Seq2Seq:
    """Build a model for two vocabularies; a pointer-generator gets the ids that they share."""
    model = build(config, len(source.vocabulary), len(target.vocabulary))
    if model.readout.pointer is not None:
        ids = source.vocabulary.ids_in(target.vocabulary)
        model.readout.pointer.target_ids.copy_(torch.tensor(ids))
    return model


def _fill(model: Seq2Seq, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a model; tied weights are one parameter and stay so."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
