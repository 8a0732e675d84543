"""Shape annotations are checked in every test if beartype is installed."""

import os
import random
from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import install_import_hook

# not the settings: they check types themselves, with an error message
PACKAGES = ["kernels", "nn", "encoders", "decoders", "models", "inference", "data.batches"]
if find_spec("beartype"):
    install_import_hook([f"regard.{name}" for name in PACKAGES], "beartype.beartype")

# random tests have another seed in each run; setting this variable reproduces one
os.environ.setdefault("REGARD_SEED", str(random.SystemRandom().randrange(2**32)))

# the tests run in two processes; more threads than cores only wait for each other
torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    """Print the seed of random tests and the lines of code."""
    root = Path(__file__).parents[1]
    counts = {
        folder: sum(path.read_text().count("\n") for path in (root / folder).rglob("*.py"))
        for folder in ("src", "tests")
    }
    seed = os.environ["REGARD_SEED"]
    terminalreporter.write_line(f"seed of random tests: REGARD_SEED={seed}")
    terminalreporter.write_line(
        f"lines of Python: {counts['src']:,} in src, {counts['tests']:,} in tests"
    )
