"""Deterministic training on a GPU: the same run gives the same bits each time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def deterministic(device: torch.device, precision: str) -> Iterator[None]:
    """Use deterministic algorithms on a GPU, and TF32 products if `precision` is tf32."""
    if device.type != "cuda":
        yield
        return
    # cuBLAS is deterministic only with one fixed workspace
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    old_settings = (
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
    )
    # filling memory that is about to be overwritten costs time
    settings: Any = torch.utils.deterministic
    old_fill, settings.fill_uninitialized_memory = settings.fill_uninitialized_memory, False
    torch.use_deterministic_algorithms(True)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(old_settings[0])
        settings.fill_uninitialized_memory = old_fill
        torch.set_float32_matmul_precision(old_settings[1])
