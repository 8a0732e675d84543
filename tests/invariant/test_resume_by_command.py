"""Resuming is exact: `regard train` is killed at any moment and resumed with --resume."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "model.embedding_size": 8,
    "model.hidden_size": 32,
    "model.align_size": 8,
    "model.readout_size": 8,
    "model.dropout": 0.3,
    "train.batch_tokens": 128,
    "train.max_steps": 40,
    "train.save_every": 2,
    "train.validate_every": 10,
    "train.report_every": 1,
    "train.average_checkpoints": 2,
    "train.patience": 0,
    "search.max_length": 6,
    "search.beam_size": 2,
}
MOMENTS = ("saving", "training", "any")


@pytest.fixture
def pairs(tmp_path):
    rng = random.Random(5)
    lines = ["".join(rng.choices("0123456789", k=4)) for _ in range(200)]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\t{line[::-1]}\n" for line in lines))
    return path


def start(pairs, out):
    options = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    command = ["train", str(pairs), "--out", str(out), "--resume", "--quiet"]
    return subprocess.Popen(
        [sys.executable, "-c", "from regard.cli import main; main()", *command, *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
    )


def wait_for(process, folder, moment, rng):
    """Wait for a moment of the run, or for its end."""
    if moment == "any":
        # also while it still reads and encodes the pairs
        end = time.monotonic() + rng.uniform(1.0, 8.0)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        return
    log = folder / "log.jsonl"
    before = log.stat().st_mtime_ns if log.exists() else 0
    while process.poll() is None and (not log.exists() or log.stat().st_mtime_ns == before):
        time.sleep(0.005)
    end = time.monotonic() + rng.uniform(0.0, 0.8)
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    # an unfinished file exists for a few milliseconds
    while moment == "saving" and process.poll() is None and not unfinished(folder):
        pass


def unfinished(folder):
    return any(name.endswith(".unfinished") for name in os.listdir(folder))


def kill_until_done(pairs, out, moments, rng):
    """Kill a run at each of the moments, then let it end; count the kills."""
    hits = {"kills": 0, "while saving": 0}
    for moment in [*moments, None]:
        process = start(pairs, out)
        if moment is not None:
            wait_for(process, out.with_suffix(".run"), moment, rng)
            process.send_signal(signal.SIGKILL)
        code = process.wait()
        if code == 0:
            break
        assert code == -signal.SIGKILL
        hits["kills"] += 1
        folder = out.with_suffix(".run")
        hits["while saving"] += folder.exists() and unfinished(folder)
    return hits


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_the_same(whole, killed):
    assert digest(whole) == digest(killed)
    logs = [(path.with_suffix(".run") / "log.jsonl").read_text() for path in (whole, killed)]
    assert logs[0] == logs[1]


def kill_repeatedly(pairs, folder, kills):
    """Kill runs until there were so many kills; each run must end as an undisturbed one."""
    whole = folder / "whole.regard"
    assert start(pairs, whole).wait() == 0
    rng = random.Random(int(os.environ["REGARD_SEED"]))
    total = {"kills": 0, "while saving": 0, "runs": 0}
    while total["kills"] < kills or not total["while saving"]:
        killed = folder / f"{total['runs']}.regard"
        hits = kill_until_done(pairs, killed, rng.sample(MOMENTS, 3), rng)
        assert_the_same(whole, killed)
        total = {name: total[name] + hits.get(name, 1) for name in total}
    return total


def test_a_killed_and_resumed_command_ends_in_the_same_bytes(pairs, tmp_path):
    assert kill_repeatedly(pairs, tmp_path, 3)["kills"] >= 3


@pytest.mark.slow
def test_a_command_that_was_killed_fifty_times_ends_in_the_same_bytes(
    pairs, tmp_path, record_property
):
    total = kill_repeatedly(pairs, tmp_path, 50)
    assert total["kills"] >= 50
    for name, count in total.items():
        record_property(name, count)
