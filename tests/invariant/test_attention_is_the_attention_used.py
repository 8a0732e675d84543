"""The reported attention is the attention in use: a second process recomputes it from the file.

It forces every output through `unroll`, which never searches, and must reproduce the scores and,
for each layer and head, the weights of the search.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.models import PRESETS
from regard.saved_model import save_model
from small_models import LOOKS, SOURCE, saved

TESTS = Path(__file__).parents[1]

# what the other process runs: no test, no fixture, nothing but the file and the outputs
FRESH = """
import json, sys
import numpy as np
import regard
found = []
for case in json.load(sys.stdin):
    translator = regard.load(case["model"], device="cpu")
    answers = case["answers"]
    again = translator.rescore((one["source"], one["tokens"]) for one in answers)
    scores = [np.subtract(a["token_scores"], b.token_scores) for a, b in zip(answers, again)]
    weights = [np.subtract(a["layers"], b.layers) for a, b in zip(answers, again) if a["layers"]]
    assert not any(one.layers is None for one in again) or not weights
    found.append({
        "scores": max(float(np.abs(one).max()) for one in scores),
        "weights": max((float(np.abs(one).max()) for one in weights), default=None),
        "compared": sum(one.size for one in weights),
    })
print(json.dumps(found))
"""


def models(folder):
    """Yield files of trained models, and of deeper ones whose weights are random."""
    for name in PRESETS:
        yield name, TESTS / "compat" / f"{name}.regard", "0123456789", 20
        save_model(folder / name, saved(name))
        yield name, folder / name, SOURCE, 5


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    rng, cases = random.Random(3), []
    for name, path, alphabet, count in models(tmp_path_factory.mktemp("models")):
        translator = regard.load(path, device="cpu")
        lines = ["".join(rng.choices(alphabet + "?", k=rng.randint(1, 12))) for _ in range(count)]
        for beam_size in (1, 4):
            found = translator.translate(lines, beam_size=beam_size, unknown="mark", max_length=15)
            answers = [
                x.to_json() | {"layers": None if x.layers is None else x.layers.tolist()}
                for x in found
            ]
            cases.append({"name": name, "model": str(path), "answers": answers})
    return cases


@pytest.fixture(scope="module")
def differences(cases):
    run = subprocess.run(
        [sys.executable, "-c", FRESH],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src"), "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_there_are_enough_outputs_to_compare(cases):
    assert len(cases) == 4 * len(PRESETS)
    for name in PRESETS:
        own = [one for case in cases if case["name"] == name for one in case["answers"]]
        assert len(own) == 50
        # some ended by themselves, and most wrote something
        assert any("notes" not in one and one["tokens"] for one in own)
        assert sum(len(one["tokens"]) for one in own) > 3 * 50


def test_scores_are_those_of_the_written_tokens(cases, differences):
    for case, found in zip(cases, differences, strict=True):
        assert found["scores"] <= 1e-5, case["name"]


def test_weights_are_those_in_use(cases, differences):
    for case, found in zip(cases, differences, strict=True):
        if case["name"] in LOOKS:
            assert found["weights"] <= 1e-5, case["name"]
            assert found["compared"] > 200
        else:
            assert found["weights"] is None
            assert all(one["attention"] is None for one in case["answers"])
