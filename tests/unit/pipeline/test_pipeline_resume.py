"""May a run go on, begin, or be written over? And that nothing is lost or left behind."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from pipeline_cases import TINY, digits, quick, tsv

import regard
from regard import runtime_environment
from regard.errors import ConfigError, DataError
from regard.pipeline import TrainRequest
from regard.pipeline.pairs_source import PairsSource
from regard.pipeline.resume_checks import started_on_gpu
from regard.training.run_folder import RunFolder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.regard"


@pytest.fixture
def finished(out):
    quick(out=out, dropout=0.2)
    return out


def refusal(kind, **options):
    with pytest.raises(kind) as caught:
        quick(**options)
    return str(caught.value)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def everything(folder):
    """Return the digest of every file of a folder."""
    return {path: digest(path) for path in folder.rglob("*") if path.is_file()}


def interrupted(monkeypatch, out, at=1, **options):
    """Begin a run, and stop it as Ctrl-C would after so many updates."""
    from regard.training import loop

    update = loop.update

    def stopped(*given):
        if given[-1] == at:
            signal.raise_signal(signal.SIGINT)
        return update(*given)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "update", stopped)
        with pytest.raises(KeyboardInterrupt):
            quick(out=out, **options)


def test_a_run_stores_all_it_needs_beside_its_model():
    def folder(name):
        return TrainRequest(pairs=PairsSource([]), out=Path(name)).folder

    assert folder("a/m.regard") == Path("a/m.run")
    assert folder("m") == Path("m.run")
    # models of one name but another ending do not share a folder
    assert folder("m.v1") != folder("m.v2")
    assert folder("m.run") != Path("m.run")
    assert TrainRequest(pairs=PairsSource([])).folder is None


def test_an_existing_model_is_not_overwritten(finished, tmp_path):
    before = everything(tmp_path)
    sentence = (
        "it exists and must not be lost. Pass --resume to continue its run, --overwrite to begin "
        "anew, or another --out."
    )
    assert refusal(DataError, out=finished) == f"{finished}: {sentence}"
    finished.unlink()
    state = tmp_path / "m.run" / "state.safetensors"
    assert refusal(DataError, out=finished) == f"{state}: {sentence}"
    assert everything(tmp_path) == {path: x for path, x in before.items() if path != finished}


def test_an_existing_model_without_a_run_folder_is_not_overwritten(finished, tmp_path):
    (tmp_path / "m.run" / "state.safetensors").unlink()
    before = everything(tmp_path)
    assert refusal(DataError, out=finished, dropout=0.2, resume=True) == (
        f"{finished}: it exists, but the run that wrote it is gone. "
        "Pass --overwrite to begin anew, or another --out."
    )
    assert everything(tmp_path) == before


def test_resume_and_overwrite_contradict_each_other(finished, tmp_path):
    before = everything(tmp_path)
    assert refusal(ConfigError, out=finished, resume=True, overwrite=True) == (
        "train: resume and overwrite are both true; resume continues the run that overwrite "
        "deletes. Remove one of them."
    )
    assert everything(tmp_path) == before


def test_a_finished_run_can_be_overwritten(finished, capsys):
    before = digest(finished)
    quick(out=finished, dropout=0.2, overwrite=True, quiet=False)
    assert "nothing left to do" not in capsys.readouterr().err
    quick(out=finished, dropout=0.2, seed=7, overwrite=True)
    assert digest(finished) != before
    quick(out=finished, dropout=0.2, overwrite=True)
    assert digest(finished) == before


def test_a_refused_command_overwrites_nothing(finished, tmp_path):
    before = everything(tmp_path)
    refusal(ConfigError, out=finished, overwrite=True, hidden_size=0)
    refusal(DataError, out=finished, overwrite=True, dev=tmp_path / "nowhere.tsv")
    refusal(DataError, out=finished, overwrite=True, pairs=tmp_path / "nowhere.tsv")
    assert everything(tmp_path) == before
    refusal(DataError, out=finished, overwrite=True, max_source_length=1)
    # the pairs are encoded anew when they are needed; the run itself is still there
    assert digest(finished) == before[finished]
    state = tmp_path / "m.run" / "state.safetensors"
    assert digest(state) == before[state]


def test_resume_on_a_finished_run_does_nothing(finished, tmp_path, capsys):
    before = everything(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in before}
    translator = quick(out=finished, dropout=0.2, resume=True, quiet=False)
    assert everything(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in before} == times
    assert translator.translate("12").text == regard.load(finished).translate("12").text
    assert capsys.readouterr().err == (
        f"{finished}: the run is finished; there is nothing left to do\n"
    )


def test_a_model_that_could_not_be_saved_is_saved_by_resuming(finished):
    before = digest(finished)
    finished.unlink()
    quick(out=finished, dropout=0.2, resume=True)
    assert digest(finished) == before


def test_a_model_of_another_run_is_not_mistaken_for_the_own_one(finished, tmp_path):
    before = digest(finished)
    quick(out=tmp_path / "other.regard", dropout=0.2, seed=7)
    finished.write_bytes((tmp_path / "other.regard").read_bytes())
    quick(out=finished, dropout=0.2, resume=True)
    assert digest(finished) == before


def test_edits_of_each_dev_line_are_counted_in_characters(finished):
    lines = (finished.with_suffix(".run") / "dev.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert entries
    for entry in entries:
        assert entry["length"] in map(len, entry["targets"])
        assert entry["length"] > 1


def test_resume_without_anything_starts(out, tmp_path):
    quick(out=out, dropout=0.2, resume=True)
    quick(out=tmp_path / "plain.regard", dropout=0.2)
    assert digest(out) == digest(tmp_path / "plain.regard")


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (None, None),
        ({"environment": {"device": "cuda NVIDIA H200"}}, True),
        ({"environment": {"device": "cpu x86_64"}}, False),
    ],
)
def test_the_first_device_of_a_run_is_recorded(recipe, expected):
    assert started_on_gpu(recipe) is expected


def test_a_resumed_run_ends_in_the_same_bytes(out, tmp_path, monkeypatch):
    settings = {"max_steps": 5, "dropout": 0.2, "average_checkpoints": 2, "validate_every": 2}
    quick(out=tmp_path / "whole.regard", **settings)
    interrupted(monkeypatch, out, at=3, **settings)
    unfinished = regard.load(out)
    assert (unfinished.summary["best_step"], unfinished.summary["unfinished"]) == (2, True)
    assert unfinished.translate("12").text is not None
    assert RunFolder(tmp_path / "m.run").progress().step == 3
    quick(out=out, resume=True, **settings)
    assert digest(out) == digest(tmp_path / "whole.regard")
    # also what was shown on the way
    logs = [(tmp_path / f"{name}.run" / "log.jsonl").read_text() for name in ("m", "whole")]
    assert logs[0] == logs[1]


def test_other_pairs_are_refused(out, tmp_path, monkeypatch):
    pairs, dev = tsv(tmp_path / "p.tsv", digits()), tsv(tmp_path / "d.tsv", digits(3, 9))
    interrupted(monkeypatch, out, pairs=pairs, dev=dev)
    for path, what in ((pairs, "pairs"), (dev, "validation pairs")):
        text = path.read_text()
        path.write_text(text.replace("1", "2"))
        for allowed in ({}, {"allow_changes": True, "allow_inexact": True}):
            assert refusal(ConfigError, pairs=pairs, dev=dev, out=out, resume=True, **allowed) == (
                f"{tmp_path / 'm.run'}: the run began with other {what}. "
                "Pass the same, or another --out."
            )
        path.write_text(text)
    quick(pairs=pairs, dev=dev, out=out, resume=True)


def test_changed_settings_are_listed_and_refused_unless_allowed(out, tmp_path, monkeypatch):
    interrupted(monkeypatch, out)
    changed = {"out": out, "resume": True, "learning_rate": 0.5, "max_steps": 3}
    changed |= {"warmup_steps": 0}
    run = tmp_path / "m.run"
    assert refusal(ConfigError, **changed).splitlines() == [
        f"{run}: train.learning_rate: 0.002 → 0.5; the run began with the former. "
        "Pass --allow-changes to change it.",
        f"{run}: train.max_steps: 2 → 3; the run began with the former. "
        "Pass --allow-changes to change it.",
    ]
    translator = quick(**changed, allow_changes=True)
    assert translator.summary["steps"] == 3
    assert translator.settings.train.learning_rate == 0.5
    # from now on this is what the run is
    assert quick(**changed).summary["steps"] == 3


def test_a_finished_run_may_continue_with_more_updates(finished):
    more = {"out": finished, "resume": True, "dropout": 0.2, "max_steps": 4, "warmup_steps": 0}
    assert "train.max_steps: 2 → 4" in refusal(ConfigError, **more)
    assert quick(**more, allow_changes=True).summary["steps"] == 4
    assert regard.load(finished).summary["steps"] == 4


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"hidden_size": 9}, "model.encoder.hidden_size: 7 → 9"),
        ({"dropout": 0.5}, "model.source.dropout: 0.3 → 0.5"),
        ({"dev_fraction": 0.2}, "data.dev_fraction: 0.05 → 0.2"),
        ({"text": {"source_vocabulary_size": 9}}, "text.source_vocabulary_size: 8000 → 9"),
        ({"metric": "cer"}, 'train.metric: "accuracy" → "cer"'),
        ({"optimizer": "adadelta"}, 'train.optimizer: "adam" → "adadelta"'),
    ],
    ids=str,
)
def test_settings_that_shape_the_weights_can_never_change(
    out, tmp_path, monkeypatch, change, shown
):
    interrupted(monkeypatch, out)
    before = everything(tmp_path)
    said = refusal(ConfigError, out=out, resume=True, allow_changes=True, **change).splitlines()
    sentence = f"{shown}; this cannot change after the run began. Pass another --out."
    assert f"{tmp_path / 'm.run'}: {sentence}" in said
    assert everything(tmp_path) == before


def test_another_environment_is_refused_unless_allowed(out, tmp_path, monkeypatch):
    interrupted(monkeypatch, out)
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads + 6)
    monkeypatch.setattr(runtime_environment, "_spin_count_is_late", False)
    monkeypatch.setattr("regard.pipeline.resume_checks.__version__", "99")
    now = regard.__version__
    promise = "the result would differ in its last bits. Pass --allow-inexact to accept this."
    assert refusal(ConfigError, out=out, resume=True).splitlines() == [
        f"{tmp_path / 'm.run'}: regard: {now} → 99; {promise}",
        f"{tmp_path / 'm.run'}: threads: {threads} → {threads + 6}; {promise}",
    ]
    quick(out=out, resume=True, allow_inexact=True)
    assert out.exists()


def test_the_settings_are_stored_with_the_state(finished, tmp_path):
    recipe = RunFolder(tmp_path / "m.run").recipe()
    assert recipe.keys() == {"pairs", "dev", "settings", "environment", "start", "embeddings"}
    assert recipe["environment"].keys() == {
        *("device", "instructions", "numpy", "regard", "threads", "torch"),
    }
    assert json.loads(json.dumps(recipe)) == recipe


def test_an_unwritable_output_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    nowhere = {"pairs": tmp_path / "nowhere.tsv"}
    assert refusal(DataError, out=tmp_path, **nowhere) == (
        f"{tmp_path}: it is a folder; it must be a file. Pass --out {tmp_path / 'model.regard'}."
    )
    monkeypatch.chdir(tmp_path)
    assert refusal(DataError, out=".", **nowhere) == (
        ".: it is a folder; it must be a file. Pass --out model.regard."
    )
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "deep" / "m.regard"
    assert refusal(DataError, out=inside, **nowhere) == (
        f"{inside}: this user cannot write to {tmp_path / 'file'}. Pass --out in another folder."
    )
    long = tmp_path / ("m" * 300)
    assert refusal(DataError, out=long, **nowhere) == (
        f"{long}: it cannot be reached (File name too long). Pass --out in another folder."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_for_the_run_that_is_a_file_is_refused(out, tmp_path):
    (tmp_path / "m.run").write_text("mine")
    assert refusal(DataError, out=out) == (
        f"{tmp_path / 'm.run'}: it cannot be written (File exists). Use --out with another folder."
    )
    assert (tmp_path / "m.run").read_text() == "mine"


def test_a_run_that_is_refused_leaves_no_folder_behind(tmp_path):
    out = tmp_path / "new" / "m.regard"
    refusal(DataError, out=out, max_source_length=1)
    refusal(ConfigError, out=out, text={"source_vocabulary_size": 2})
    refusal(ConfigError, out=out, model={**TINY, "source": {"one_hot": True}})
    assert not (tmp_path / "new" / "m.run").exists()


UNWRITABLE = """
import os, sys
from regard import train
from regard.errors import DataError
if os.getuid() == 0:
    try:
        os.setuid(65534)
    except OSError:
        sys.exit(77)
for out in sys.argv[1:]:
    try:
        train([("a", "b"), ("c", "d")], out=out, quiet=True)
    except DataError as error:
        print(error)
"""


def test_a_folder_without_write_permission_is_named():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "closed").mkdir()
        (folder / "hidden").mkdir()
        for path, mode in ((folder, 0o755), (folder / "closed", 0o555), (folder / "hidden", 0o700)):
            path.chmod(mode)
        outs = [folder / "closed" / "m.regard", folder / "hidden" / "deep" / "m.regard"]
        run = subprocess.run(
            [sys.executable, "-c", UNWRITABLE, *map(str, outs)],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            cwd="/",
        )
        if run.returncode == 77:
            pytest.skip("root may not become another user here")
        would = "Pass --out in another folder."
        assert run.stderr == ""
        assert run.stdout.splitlines() == [
            f"{outs[0]}: this user cannot write to {folder / 'closed'}. {would}",
            f"{outs[1]}: it cannot be reached (Permission denied). {would}",
        ]
        assert list((folder / "closed").iterdir()) == []


def test_a_damaged_model_of_a_finished_run_is_made_again(finished):
    whole = finished.read_bytes()
    finished.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    quick(out=finished, dropout=0.2, resume=True)
    assert finished.read_bytes() == whole


def test_prepared_data_that_were_edited_are_prepared_again(monkeypatch, finished, tmp_path):
    whole = finished.read_bytes()
    stopped = tmp_path / "stopped.regard"
    interrupted(monkeypatch, stopped, dropout=0.2)
    folder = stopped.with_suffix(".run")
    prepared = (folder / "prepared.json").read_text()
    (folder / "prepared.json").write_text(prepared.replace('"left_out": 0', '"left_out": 7'))
    quick(out=stopped, dropout=0.2, resume=True)
    assert (folder / "prepared.json").read_text() == prepared
    assert stopped.read_bytes() == whole


def test_a_corpus_of_another_run_is_not_trained_on(monkeypatch, finished, tmp_path):
    whole, stopped = finished.read_bytes(), tmp_path / "stopped.regard"
    interrupted(monkeypatch, stopped, dropout=0.2)
    quick(digits(seed=2), out=tmp_path / "other.regard", dropout=0.2)
    corpus = stopped.with_suffix(".run") / "corpus"
    shutil.rmtree(corpus)
    shutil.copytree(tmp_path / "other.run" / "corpus", corpus)
    quick(out=stopped, dropout=0.2, resume=True)
    assert stopped.read_bytes() == whole
