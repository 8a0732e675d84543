"""What a row gives must not change with where it lies: products are asked for that."""

import os
import subprocess
import sys

import pytest
import torch


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="another library multiplies here")
@pytest.mark.parametrize(
    ("first", "said", "mode"),
    [("regard", "COMPATIBLE", "COMPATIBLE"), ("torch", None, "AUTO,STRICT")],
)
def test_matrix_products_are_deterministic_by_default(first, said, mode):
    lines = f"import {first}, regard, torch", "torch.ones(2, 2) @ torch.ones(2, 2)"
    given = {key: value for key, value in os.environ.items() if key != "MKL_CBWR"}
    given |= {"MKL_VERBOSE": "1"} | ({} if said is None else {"MKL_CBWR": said})
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=given, capture_output=True, text=True
    )
    assert done.returncode == 0
    (product,) = [line for line in done.stdout.splitlines() if "GEMM" in line]
    assert f" CNR:{mode} " in product
