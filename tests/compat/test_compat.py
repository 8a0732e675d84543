"""Models of older versions: they must load, and translate as they did, word for word."""

import json
from pathlib import Path

import pytest

import regard
from regard.models import PRESETS

HERE = Path(__file__).parent
MODELS = sorted(HERE.glob("*.regard"))


def test_there_is_a_small_model_of_each_preset():
    assert {path.stem for path in MODELS} == set(PRESETS)
    assert all(path.stat().st_size < 60_000 for path in MODELS)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_an_old_model_has_its_recorded_outputs(path):
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    translator = regard.load(path, device="cpu")
    for asked in record["said"]:
        found = translator.translate(record["lines"], **asked["search"])
        for answer, expected in zip(found, asked["answers"], strict=True):
            several = answer.alternatives or (answer,)
            assert [one.text for one in several] == [one["text"] for one in expected]
            for one, scores in zip(several, expected, strict=True):
                # what is on record is itself up to 1.4e-5 from the same model in float64
                assert one.token_scores == pytest.approx(scores["token_scores"], abs=3e-5)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_recorded_outputs_of_old_models_are_correct(path):
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for asked in record["said"]:
        best = [answers[0]["text"] for answers in asked["answers"]]
        assert best[:3] == [line[::-1] for line in record["lines"][:3]]


def test_an_old_model_is_never_regenerated(tmp_path, monkeypatch, capsys):
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_compat", HERE / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    monkeypatch.setattr(make, "trained", lambda name: pytest.fail("it was trained anew"))
    for name in PRESETS:
        (tmp_path / f"{name}.regard").write_bytes(b"old")
    make.main(tmp_path)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"old"}
    assert capsys.readouterr().err.count("is there already, and stays as it is") == 6
