"""The model file: the same bytes for the same model, no code, and a sentence for any damage."""

import json
import os
import pickle
import re
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import presets as small
from regard.config.settings import Settings
from regard.errors import ModelFileError
from regard.models import PRESETS, build
from regard.safetensors_files import KEY, read_tensors, write_tensors
from regard.saved_model import SavedModel, load_model, save_model
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters, Words
from regard.text.vocabulary import Vocabulary

COMPAT = Path(__file__).parents[2] / "compat"
CASES = int(os.environ.get("REGARD_CASES", "500"))

UNDAMAGED = "Use an undamaged copy of a file written by regard."
DAMAGED = f"It is damaged or no model of regard. {UNDAMAGED}"
FOREIGN = f"It has tensors, but no metadata of regard. {UNDAMAGED}"


def saved(name, seed=0):
    source = TextProcessor("NFC", Characters(), Vocabulary.build(["abcdefghijklm"]))
    target = TextProcessor(
        "NFC", Words(), Vocabulary.build([["一", "zwei", "<s>", "tres", "x", "y", "z"]])
    )
    if name == "vaswani2017":
        target = source
    settings = Settings(model=PRESETS[name](**small.SIZES[name]))
    torch.manual_seed(seed)
    model = build(settings.model, len(source.vocabulary), len(target.vocabulary))
    return SavedModel(model.eval(), settings, source, target, {"steps": 7, "data": "abc"})


@pytest.mark.parametrize("name", PRESETS)
def test_a_model_survives_a_file_round_trip(name, tmp_path):
    before = saved(name)
    path = tmp_path / "model.regard"
    save_model(path, before)
    state = torch.get_rng_state()
    after = load_model(path)
    assert torch.equal(torch.get_rng_state(), state)
    assert after.settings == before.settings
    assert (after.source, after.target, after.summary) == (
        before.source,
        before.target,
        before.summary,
    )
    for one, other in zip(before.model.parameters(), after.model.parameters(), strict=True):
        assert torch.equal(one, other)
    _, _, (source, mask, fed) = small.batch(before.model)
    source, fed = source.clamp(max=10), fed.clamp(max=10)
    assert torch.equal(
        before.model(source, mask, fed).logits, after.model(source, mask, fed).logits
    )
    if name == "vaswani2017":
        assert after.model.readout.weight is after.model.source_embedding.weight


def test_the_same_model_is_the_same_bytes(tmp_path):
    for number in (1, 2):
        save_model(tmp_path / str(number), saved("bahdanau2015"))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    save_model(tmp_path / "3", saved("bahdanau2015", seed=1))
    assert (tmp_path / "1").read_bytes() != (tmp_path / "3").read_bytes()
    assert not list(tmp_path.glob("*.unfinished"))


def header(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(path, change):
    found, rest = header(path)
    change(found)
    text = json.dumps(found).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + rest)


def change_metadata(path, change):
    def inside(found):
        metadata = json.loads(found["__metadata__"][KEY])
        change(metadata)
        found["__metadata__"][KEY] = json.dumps(metadata)

    with_header(path, inside)


def refused(path):
    with pytest.raises(ModelFileError) as refusal:
        load_model(path)
    assert str(refusal.value).startswith(f"{path}: ")
    return refusal.value.problem


def test_metadata_is_under_one_key_with_sorted_keys(tmp_path):
    path = tmp_path / "model"
    save_model(path, saved("cho2014"))
    found, _ = header(path)
    assert list(found["__metadata__"]) == [KEY]
    text = found["__metadata__"][KEY]
    assert text == json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)


def test_a_file_that_is_not_a_model_gets_an_error_message(tmp_path):
    path = tmp_path / "model"
    assert refused(path) == "there is no such file. Check the path."
    assert refused(tmp_path) == "it is a folder, not a file. Name a file inside it."
    path.write_bytes(b"")
    assert refused(path) == DAMAGED
    path.write_bytes(os.urandom(1000))
    assert refused(path) == DAMAGED
    for content in (pickle.dumps({"a": 1}), b"PK\x03\x04rest"):
        path.write_bytes(content)
        assert refused(path) == (
            f"It is a pickle, which can run any code when it is loaded. {UNDAMAGED}"
        )
    write_tensors(path, {"a": torch.zeros(2)}, {})
    with_header(path, lambda found: found.pop("__metadata__"))
    assert refused(path) == FOREIGN


def test_a_modified_model_file_gets_an_error_message(tmp_path):
    path = tmp_path / "model"

    def after(change):
        save_model(path, saved("bahdanau2015"))
        change_metadata(path, change)
        return refused(path)

    assert after(lambda m: m.update(format=3)) == (
        "Its format is 3; regard 0.1.0.dev0 reads formats up to 2. Install a newer regard."
    )
    assert after(lambda m: m["settings"]["model"]["encoder"].update(hidden_size=10**4)).startswith(
        "Its weights do not match its settings, "
    )
    assert after(lambda m: m["settings"]["model"]["encoder"].update(hidden_size=0)).startswith(
        "Its settings cannot be used ("
    )
    assert (
        after(lambda m: m.pop("source")) == f"Its settings cannot be used ('source'). {UNDAMAGED}"
    )
    assert "Its settings cannot be used (" in after(lambda m: m["source"].update(vocabulary=3))


def test_nan_weights_get_an_error_message(tmp_path):
    path = tmp_path / "model"
    broken = saved("bahdanau2015")
    with torch.no_grad():
        broken.model.readout.weight[0, 0] = torch.nan
    save_model(path, broken)
    assert (
        refused(path) == f"Its weights are not all finite, for example readout.weight. {UNDAMAGED}"
    )


@pytest.mark.parametrize("kept", [0, 7, 8, 9, 500, 5000, -1])
def test_a_truncated_file_gets_an_error_message(tmp_path, kept):
    path = tmp_path / "model"
    save_model(path, saved("luong2015"))
    path.write_bytes(path.read_bytes()[:kept])
    assert refused(path) in (
        DAMAGED,
        FOREIGN,
    )


def test_a_header_with_wrong_sizes_gets_an_error_message(tmp_path):
    path = tmp_path / "model"
    save_model(path, saved("luong2015"))
    path.write_bytes(struct.pack("<Q", 2**60) + path.read_bytes()[8:])
    assert refused(path) == DAMAGED
    save_model(path, saved("luong2015"))

    def grow(found):
        found["readout.weight"]["shape"][0] *= 1000

    with_header(path, grow)
    assert refused(path) == DAMAGED


@hypothesis_settings(max_examples=CASES, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 3000))
def test_any_changed_bytes_give_an_error_message_or_a_model(noise, place):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        write_tensors(path, {"a": torch.arange(4.0)}, {"format": 1})
        content = path.read_bytes()
        place %= len(content)
        path.write_bytes(content[:place] + noise + content[place + len(noise) :])
        # the file holds no settings, so it may never load; it must not raise anything else
        with pytest.raises(ModelFileError, match=re.escape(str(path))):
            load_model(path)


def test_a_folder_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save_model(path, saved("cho2014"))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        ModelFileError,
        match=r"cannot be written \(No space left on device\)\. Choose a folder with free space",
    ):
        save_model(path, saved("cho2014", seed=1))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    with pytest.raises(ModelFileError, match=r"cannot be written \(No such file or directory\)"):
        save_model(tmp_path / "nowhere" / "model", saved("cho2014"))


@pytest.mark.parametrize("length", [640, 896, 1152, 1408, 19280])
def test_a_header_length_that_resembles_a_pickle_is_not_a_pickle(tmp_path, length):
    tensors, path = {"x": torch.ones(1)}, tmp_path / "file"
    write_tensors(path, tensors, {"note": ""})
    shortest = int.from_bytes(path.read_bytes()[:8], "little")
    write_tensors(path, tensors, {"note": "n" * (length - shortest)})
    assert int.from_bytes(path.read_bytes()[:8], "little") == length
    assert torch.equal(read_tensors(path)[0]["x"], tensors["x"])


def test_reading_a_model_does_not_load_a_compiler():
    """A second and a half of every start: on the meta device torch would draw by its compiler."""
    code = (
        "import sys, regard\n"
        f"for name in {sorted(PRESETS)!r}:\n"
        f"    regard.load({str(COMPAT)!r} + f'/{{name}}.regard').translate('2016')\n"
        "print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
