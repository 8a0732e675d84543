"""Memory does not grow with the corpus: once encoded, ten times the pairs need hardly more."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# a process of its own each time: the one that trains did not build the vocabularies
TRAIN = """
import json, resource, sys
import regard
settings = {
    "embedding_size": 64, "hidden_size": 64, "align_size": 64, "readout_size": 64,
    "batch_tokens": 2048, "validate_every": 50, "save_every": 50, "max_dev_sources": 40,
    "max_length": 8, "warmup_steps": 0, "device": "cpu", "quiet": True,
}
pairs, out, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
translator = regard.train(
    pairs, out=out, max_steps=steps, resume=True, allow_changes=True, **settings
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"peak": peak} | translator.summary))
"""


def train(pairs, out, steps):
    run = subprocess.run(
        [sys.executable, "-c", TRAIN, str(pairs), str(out), str(steps)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def write_pairs(path, count):
    """Write random pairs, nearly all of them different."""
    rng = random.Random(1)
    with open(path, "w") as file:
        for _ in range(count):
            line = "".join(rng.choices("abcdefghij", k=rng.randint(6, 16)))
            file.write(f"{line}\t{line[::-1]}\n")
    return path


@pytest.mark.slow
def test_ten_times_as_many_pairs_need_no_more_than_a_twentieth_more(tmp_path, record_property):
    peaks = {}
    for count in (10**5, 10**6):
        pairs, out = write_pairs(tmp_path / f"{count}.tsv", count), tmp_path / f"{count}.regard"
        encoded = train(pairs, out, 1)
        summary = train(pairs, out, 50)
        assert (encoded["steps"], summary["steps"]) == (1, 50)
        assert summary["train_pairs"] > 0.99 * count
        peaks[count] = summary["peak"]
        record_property(f"KiB to encode {count:,} pairs", encoded["peak"])
        record_property(f"KiB to train on {count:,} pairs", summary["peak"])
    record_property("growth", f"{peaks[10**6] / peaks[10**5] - 1:.1%}")
    assert peaks[10**6] <= 1.05 * peaks[10**5]
