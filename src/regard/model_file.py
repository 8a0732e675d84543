"""The model file: one safetensors file with weights, settings, vocabularies and a summary.

Reading runs no code from the file: tensors and JSON are all there is. Metadata stands under one key
with sorted keys inside, so that the same model is the same bytes; no clock, host or path is in it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard import __version__
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import ModelFileError, RegardError, unreadable, unwritable
from regard.files import replace_file
from regard.text.side import Side

FORMAT = 1
KEY = "regard"

USE_A_COPY = "a whole copy of a file made by regard would do"
DAMAGED = f"it is damaged, or no model of regard; {USE_A_COPY}"
FOREIGN = f"it holds tensors, but nothing that regard wrote; {USE_A_COPY}"


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds: weights by name, settings, vocabularies and a summary."""

    tensors: Mapping[str, Tensor]
    settings: Settings
    source: Side
    target: Side
    summary: dict[str, Any]


def write_model_file(path: Path, content: ModelFile) -> None:
    """Write a model file so that either the whole file is there or the old one still is."""
    metadata = {
        "format": FORMAT,
        "regard": __version__,
        "settings": to_tree(content.settings),
        "source": content.source.to_json(),
        "summary": content.summary,
        "target": content.target.to_json(),
    }
    write_tensors(path, content.tensors, metadata)


def read_model_file(path: Path) -> ModelFile:
    """Read a model file, or say in one sentence why it cannot be read."""
    tensors, metadata = read_tensors(path)
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
        return ModelFile(tensors, settings, source, target, metadata["summary"])
    except (RegardError, KeyError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise unusable_settings(path, error) from error


def unusable_settings(path: Path, error: Exception) -> ModelFileError:
    """Return the error for settings of a file that no model can be built from."""
    return ModelFileError(str(path), f"its settings cannot be used ({error}); {USE_A_COPY}")


def check_tensors(
    path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, torch.Size]
) -> None:
    """Refuse tensors of other names or shapes than a model's, or that are not finite."""
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    for name in sorted({**expected, **shapes}):
        if expected.get(name) != shapes.get(name):
            raise ModelFileError(
                str(path),
                f"its weights are not those of its settings, {name} for one; {USE_A_COPY}",
            )
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise ModelFileError(
                str(path), f"its weights are not all numbers, {name} for one; {USE_A_COPY}"
            )


def unique_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return every weight once; tied ones under the first of their names."""
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
    """Write tensors and JSON to a file of their own, and put it in its place in one move."""
    from safetensors.torch import save

    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False, allow_nan=False)
    content = save({name: part.contiguous() for name, part in tensors.items()}, {KEY: text})
    try:
        replace_file(path, content)
    except OSError as error:
        raise ModelFileError(str(path), unwritable(error)) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and JSON, running nothing; any damage gets a sentence."""
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb") as file:
            head = file.read(9)
    except OSError as error:
        raise ModelFileError(str(path), unreadable(error, str(path))) from error
    pickled = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK")
    # the length of a header may begin with the same bytes, but then the header itself follows it
    if head.startswith(pickled) and not head.endswith(b"{"):
        raise ModelFileError(
            str(path),
            f"it is a pickle, which could run any code when loaded; {USE_A_COPY}",
        )
    try:
        with safe_open(path, framework="pt") as opened:
            text = (opened.metadata() or {}).get(KEY)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelFileError(str(path), DAMAGED) from error
    try:
        metadata = json.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(path), FOREIGN) from error
    if not isinstance(metadata, dict):
        raise ModelFileError(str(path), FOREIGN)
    return tensors, metadata
