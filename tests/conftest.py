"""Shapes in annotations are checked in every test, where beartype is installed."""

from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import install_import_hook

# not the settings: those refuse wrong types themselves, with a sentence
ROOMS = [f"regard.{room}" for room in ("kernels", "nn", "encoders", "decoders", "models")]
if find_spec("beartype"):
    install_import_hook(ROOMS, "beartype.beartype")

# the tests run in two processes; more threads than cores only wait for each other
torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    """Print how long the code is: what is not written need not be read."""
    root = Path(__file__).parents[1]
    counts = {
        folder: sum(path.read_text().count("\n") for path in (root / folder).rglob("*.py"))
        for folder in ("src", "tests")
    }
    terminalreporter.write_line(
        f"lines of Python: {counts['src']:,} in src, {counts['tests']:,} in tests"
    )
