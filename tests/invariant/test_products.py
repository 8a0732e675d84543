"""The product of a row must not depend on its memory address; MKL has a mode for that."""

import os
import subprocess
import sys

import pytest
import torch


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="another library multiplies here")
@pytest.mark.parametrize(
    ("first", "setting", "mode"),
    [("regard", "COMPATIBLE", "COMPATIBLE"), ("torch", None, "AUTO,STRICT")],
)
def test_matrix_products_are_deterministic_by_default(first, setting, mode):
    lines = f"import {first}, regard, torch", "torch.ones(2, 2) @ torch.ones(2, 2)"
    environment = {key: value for key, value in os.environ.items() if key != "MKL_CBWR"}
    environment |= {"MKL_VERBOSE": "1"} | ({} if setting is None else {"MKL_CBWR": setting})
    completed = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True
    )
    assert completed.returncode == 0
    (product,) = [line for line in completed.stdout.splitlines() if "GEMM" in line]
    assert f" CNR:{mode} " in product
