"""Shapes in annotations are checked in every test, where beartype is installed."""

import os
import random
from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import install_import_hook

# not the settings: those refuse wrong types themselves, with a sentence
ROOMS = ["kernels", "nn", "encoders", "decoders", "models", "inference", "data.batches"]
ROOMS = [f"regard.{room}" for room in ROOMS]
if find_spec("beartype"):
    install_import_hook(ROOMS, "beartype.beartype")

# what is drawn at random is drawn anew in each run, and can be drawn again
os.environ.setdefault("REGARD_SEED", str(random.SystemRandom().randrange(2**32)))

# the tests run in two processes; more threads than cores only wait for each other
torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    """Print how long the code is: what is not written need not be read."""
    root = Path(__file__).parents[1]
    counts = {
        folder: sum(path.read_text().count("\n") for path in (root / folder).rglob("*.py"))
        for folder in ("src", "tests")
    }
    seed = os.environ["REGARD_SEED"]
    terminalreporter.write_line(f"random tests were drawn with REGARD_SEED={seed}")
    terminalreporter.write_line(
        f"lines of Python: {counts['src']:,} in src, {counts['tests']:,} in tests"
    )
