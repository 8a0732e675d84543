"""The model file: one safetensors file with weights, settings, vocabularies and a summary.

Reading runs no code from the file, which holds only tensors and JSON. The metadata is one JSON
object with sorted keys, without time, host or path: equal models are equal bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard import __version__
from regard.choices import printable
from regard.config.requirements import missing_extension, requirements
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import ModelFileError, RegardError
from regard.renamed_parameters import with_new_names
from regard.safetensors_files import UNDAMAGED, read_tensors, write_tensors
from regard.text.text_processor import TextProcessor

FORMAT = 2
"""Format 1 has other names of settings and parameters; it is read as well."""

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
"""Types of weights that are read."""

MAX_REASON = 400
"""Maximum number of characters of the reason why settings cannot be used."""


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file: weights by name, settings, vocabularies and a summary."""

    tensors: Mapping[str, Tensor]
    settings: Settings
    source: TextProcessor
    target: TextProcessor
    summary: dict[str, Any]


def write_model_file(path: Path, content: ModelFile) -> None:
    """Write a model file completely, or leave the old one."""
    metadata = {
        "format": FORMAT,
        "regard": __version__,
        "settings": to_tree(content.settings),
        "source": content.source.to_json(),
        "summary": content.summary,
        "target": content.target.to_json(),
    }
    if needed := requirements(content.settings):
        metadata["requires"] = needed
    write_tensors(path, content.tensors, metadata)


def read_model_file(path: Path) -> ModelFile:
    """Read a model file, or say in one sentence why it cannot be read."""
    tensors, metadata = read_tensors(path)
    version = metadata.get("format")
    if type(version) is not int or version > FORMAT:
        raise ModelFileError(
            str(path),
            f"Its format is {printable(version)}; regard {__version__} reads formats up to "
            f"{FORMAT}. Install a newer regard.",
        )
    if version < 2:
        tensors = with_new_names(tensors)
    try:
        if missing := missing_extension(metadata.get("requires", [])):
            raise ModelFileError(str(path), missing)
        settings = settings_from(metadata["settings"])
        source, target = (
            TextProcessor.from_json(metadata["source"]),
            TextProcessor.from_json(metadata["target"]),
        )
        if not isinstance(summary := metadata["summary"], dict):
            raise TypeError("its summary is not an object")
        return ModelFile(tensors, settings, source, target, summary)
    except ModelFileError:
        raise
    except (RegardError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise unusable_settings(path, error) from error


def unusable_settings(path: Path, error: Exception) -> ModelFileError:
    """Return the error for a file whose settings describe no model."""
    reason = " ".join(str(error).split()).rstrip(".")
    if len(reason) > MAX_REASON:
        reason = f"{reason[:MAX_REASON]}…"
    return ModelFileError(str(path), f"Its settings cannot be used ({reason}). {UNDAMAGED}")


def check_layers(path: Path, file: ModelFile) -> None:
    """Refuse more layers than tensors, before anything is built: every layer has weights."""
    model = file.settings.model
    for section in ("encoder", "decoder"):
        layers = getattr(getattr(model, section), "num_layers", 1)
        if layers > len(file.tensors):
            setting = f"model.{section}.num_layers = {layers}"
            problem = f"It has only {len(file.tensors)} tensors, too few for {setting}."
            raise ModelFileError(str(path), f"{problem} {UNDAMAGED}")


def check_tensors(
    path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, torch.Size]
) -> None:
    """Refuse tensors whose names or shapes differ from a model's, or that are not finite."""
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    for name in sorted({**expected, **shapes}):
        if expected.get(name) != shapes.get(name):
            raise ModelFileError(
                str(path),
                f"Its weights do not match its settings, for example {name}. {UNDAMAGED}",
            )
    for name, tensor in tensors.items():
        # a number that float32 cannot hold is not finite in the model
        if tensor.dtype not in DTYPES or not tensor.float().isfinite().all():
            raise ModelFileError(
                str(path), f"Its weights are not all finite, for example {name}. {UNDAMAGED}"
            )


def unique_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return every weight once; a tied weight has the first of its names."""
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}
