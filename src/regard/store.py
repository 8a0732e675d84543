"""The model file: one safetensors file with weights, settings, vocabularies and a summary.

Loading runs no code from the file: tensors and JSON are all there is. Metadata stands under one key
with sorted keys inside, so that the same model is the same bytes; no clock, host or path is in it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import ModelConfig
from regard.config.requirements import missing_extension, requirements
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import ModelFileError, RegardError, unreadable, unwritable
from regard.files import replace_file
from regard.models.build import build
from regard.models.seq2seq import Seq2Seq
from regard.text.side import Side

FORMAT = 1
KEY = "regard"

ANOTHER = "a whole copy of a file made by regard would do"
DAMAGED = f"it is damaged, or no model of regard; {ANOTHER}"
FOREIGN = f"it holds tensors, but nothing that regard wrote; {ANOTHER}"


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
    if needed := requirements(saved.settings):
        metadata["requires"] = needed
    write_tensors(path, unique_tensors(saved.model), metadata)


def load_model(path: Path) -> Saved:
    """Read a model, or say in one sentence why it cannot be read."""
    tensors, metadata = read_tensors(path)
    version = metadata.get("format")
    if type(version) is not int or version > FORMAT:
        raise ModelFileError(
            str(path),
            f"its format is {version!r}, but regard {__version__} reads formats up to {FORMAT}; "
            "a newer regard would do",
        )
    try:
        if missing := missing_extension(metadata.get("requires", [])):
            raise ModelFileError(str(path), missing)
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
            f"it is a pickle, which could run any code when loaded; {ANOTHER}",
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
