"""Files that are no model, or not one that can be used: a sentence from every command."""

import json
import os
import pickle
import re
import struct

import pytest
import torch

import regard
from regard.safetensors_files import KEY
from regard.saved_model import load_model, save_model

UNDAMAGED = "Use an undamaged copy of a file written by regard."
DAMAGED = f"It is damaged or no model of regard. {UNDAMAGED}"


def changed(path, change):
    """Rewrite the header of a model file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    metadata = json.loads(header["__metadata__"][KEY])
    change(header, metadata)
    header["__metadata__"][KEY] = json.dumps(metadata)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def random_bytes(path):
    path.write_bytes(os.urandom(1000))


def a_pickle(path):
    path.write_bytes(pickle.dumps({"weights": [1.0]}))


def newer(path):
    changed(path, lambda header, metadata: metadata.update(format=3))


def not_numbers(path):
    saved = load_model(path)
    with torch.no_grad():
        next(saved.model.parameters())[0] = float("nan")
    save_model(path, saved)


def lying_about_its_length(path):
    path.write_bytes(struct.pack("<Q", 2**62) + path.read_bytes()[8:])


def lying_about_a_shape(path):
    def change(header, metadata):
        name = next(name for name in header if name != "__metadata__")
        header[name]["shape"] = [2**40, *header[name]["shape"][1:]]

    changed(path, change)


def lying_about_its_settings(path):
    def change(header, metadata):
        metadata["settings"]["model"]["encoder"]["hidden_size"] = 10**4

    changed(path, change)


BROKEN = {
    truncated: DAMAGED,
    random_bytes: DAMAGED,
    a_pickle: f"It is a pickle, which can run any code when it is loaded. {UNDAMAGED}",
    newer: f"Its format is 3; regard {regard.__version__} reads formats up to 2. "
    "Install a newer regard.",
    not_numbers: "Its weights are not all finite, ",
    lying_about_its_length: DAMAGED,
    lying_about_a_shape: DAMAGED,
    lying_about_its_settings: "Its weights do not match its settings, ",
}


@pytest.mark.parametrize("damage", BROKEN, ids=[damage.__name__ for damage in BROKEN])
def test_a_broken_model_gets_an_error_message(refused, capitals, tmp_path, damage):
    path = tmp_path / "broken.regard"
    path.write_bytes(capitals.read_bytes())
    damage(path)
    said = {refused("translate", path, stdin="a\n"), refused("info", path)}
    said |= {refused("show", path, "a"), refused("evaluate", path, "no.tsv")}
    (sentence,) = said
    assert sentence.startswith(f"regard: {path}: {BROKEN[damage]}")
    assert sentence.count("\n") == 1
    if BROKEN[damage].endswith(", "):
        assert re.search(rf", for example [\w.]+\. {re.escape(UNDAMAGED)}\n$", sentence)
    else:
        assert sentence.endswith(f"{BROKEN[damage]}\n")


def test_a_missing_model_gets_an_error_message(refused, tmp_path):
    sentence = "regard: no.regard: there is no such file. Check the path.\n"
    assert refused("translate", "no.regard") == refused("info", "no.regard") == sentence
    folder = "it is a folder, not a file. Name a file inside it."
    assert refused("info", tmp_path) == f"regard: {tmp_path}: {folder}\n"


def test_a_summary_from_elsewhere_cannot_reach_the_terminal(run, refused, capitals, tmp_path):
    path = tmp_path / "odd.regard"
    path.write_bytes(capitals.read_bytes())
    changed(path, lambda header, metadata: metadata["summary"].update(seed="\x1b[2J"))
    assert "seed            '\\x1b[2J'\n" in run("info", path).out
    changed(path, lambda header, metadata: metadata["summary"].update(scores=[{"name": "exact"}]))
    assert refused("info", path) == f"regard: {path}: Its summary cannot be read. {UNDAMAGED}\n"


def test_models_with_different_vocabularies_cannot_be_an_ensemble(refused, run, capitals, tmp_path):
    (tmp_path / "other.tsv").write_text("x\ty\nz\tw\n")
    small = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]
    assert run("train", "other.tsv", "--max-steps", 1, "--quiet", *small).code == 0
    assert refused("translate", capitals, "other.regard") == (
        "regard: Model 2 has other vocabularies than model 1; the models of an ensemble must share "
        "them. Use models trained on the same pairs.\n"
    )
