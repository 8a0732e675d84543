"""The library's front door: a model file → Translator → Translation."""

from os import PathLike
from pathlib import Path

import torch

from regard.errors import ConfigError
from regard.saved_model import load_model
from regard.translator import messages
from regard.translator.prepared_line import PreparedLine
from regard.translator.translation import END, START, Branch, Translation
from regard.translator.translator import Translator

__all__ = [
    "END",
    "START",
    "Branch",
    "PreparedLine",
    "Translation",
    "Translator",
    "load",
    "select_device",
]


def load(path: str | PathLike[str], *more: str | PathLike[str], device: str = "auto") -> Translator:
    """Load a model file, or several as an ensemble; loading runs no code from them."""
    members = [load_model(Path(one)) for one in (path, *more)]
    for member in members:
        # frozen weights need no check for changes before each search
        member.model.to(select_device(device)).requires_grad_(False)
    return Translator(*members)


def select_device(name: str) -> torch.device:
    """Return a device by its name; `auto` is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    available = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    try:
        device = torch.device(name)
        # fails if the device is missing or, like `meta`, cannot compute
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        problem = messages.device_not_available(name, available)
        raise ConfigError("settings", [problem]) from error
    return device
