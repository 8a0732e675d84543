"""The library's front door: a model file → Translator → Translation."""

from os import PathLike
from pathlib import Path

import torch

from regard.errors import ConfigError
from regard.saved_model import load_model
from regard.translator.prepared import PreparedLine
from regard.translator.translation import END, Branch, Translation
from regard.translator.translator import Translator

__all__ = ["END", "Branch", "PreparedLine", "Translation", "Translator", "chosen_device", "load"]


def load(path: str | PathLike[str], *more: str | PathLike[str], device: str = "auto") -> Translator:
    """Load a model file, or several that vote; loading runs no code from them."""
    members = [load_model(Path(one)) for one in (path, *more)]
    for member in members:
        # it learns no more, so that a search need not look whether it has changed
        member.model.to(chosen_device(device)).requires_grad_(False)
    return Translator(*members)


def chosen_device(name: str) -> torch.device:
    """Return a device by its name; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    there = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    try:
        device = torch.device(name)
        # of a device that is not here this is the first to fail; on `meta` nothing can be computed
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        problem = f"device = {name}, but it must be one that is here; {' or '.join(there)} would do"
        raise ConfigError("settings", [problem]) from error
    return device
