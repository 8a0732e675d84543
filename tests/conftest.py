"""Shapes in annotations are checked in every test, where beartype is installed."""

from importlib.util import find_spec

import torch
from jaxtyping import install_import_hook

# not the settings: those refuse wrong types themselves, with a sentence
ROOMS = [f"regard.{room}" for room in ("kernels", "nn", "encoders", "decoders", "models")]
if find_spec("beartype"):
    install_import_hook(ROOMS, "beartype.beartype")

# the tests run in two processes; more threads than cores only wait for each other
torch.set_num_threads(1)
