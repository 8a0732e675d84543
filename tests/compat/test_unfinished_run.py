"""An unfinished run folder of an older version resumes to the same model."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

HERE = Path(__file__).parent / "unfinished"
STEPS = 50


def digest(path):
    """Hash the tensors of a model in an order that does not depend on their names."""
    tensors = load_file(path).values()
    each = sorted(
        hashlib.sha256(f"torch.{x.dtype} {list(x.shape)} ".encode() + x.tobytes()).hexdigest()
        for x in map(np.ascontiguousarray, tensors)
    )
    return hashlib.sha256("".join(each).encode()).hexdigest()


def recorded_environment():
    with safe_open(HERE / "stop.run" / "state.safetensors", "np") as state:
        return json.loads(state.metadata()["regard"])["recipe"]["environment"]


def test_an_unfinished_run_of_an_older_version_can_be_resumed(tmp_path):
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    script = "import sys; from regard.cli import main; sys.exit(main())"
    words = ["pairs.tsv", "--config", "settings.toml", "--out", "stop.regard"]
    options = ["--resume", "--allow-inexact", "--quiet"]
    run = subprocess.run(
        [sys.executable, "-c", script, "train", *words, *options],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    with safe_open(tmp_path / "stop.regard", "np") as model:
        summary = json.loads(model.metadata()["regard"])["summary"]
    assert (summary["steps"], summary["best_step"]) == (STEPS, STEPS)
    log = [
        json.loads(line) for line in (tmp_path / "stop.run" / "log.jsonl").read_text().splitlines()
    ]
    expected = json.loads((HERE / "expected.json").read_text())
    losses = [[entry["step"], entry["loss"]] for entry in log if "loss" in entry]
    np.testing.assert_allclose(losses, expected["losses"], rtol=1e-4)
    # to the last bit where the same instructions add in the same order
    now = {"torch": torch.__version__, "instructions": torch.backends.cpu.get_cpu_capability()}
    if now.items() <= recorded_environment().items():
        assert digest(tmp_path / "stop.regard") == expected["tensors"]
