"""A run resumes only from the files that it saved; anything else is named with a remedy."""

import json
import os

import pytest
import torch

import small_models
from regard.config.settings import TrainConfig
from regard.errors import ModelFileError
from regard.safetensors_files import write_tensors
from regard.training.early_stopping import TrainingProgress
from regard.training.optimizer import make_optimizer
from regard.training.run_folder import RunFolder

PROGRESS = TrainingProgress(step=2, best=1.0, best_step=2, checkpoints=((1.0, 2),))


def parts(seed=1):
    """Return a model and an optimizer that has made an update."""
    model = small_models.saved(seed=seed).model
    optimizer = make_optimizer(model, TrainConfig())
    sum(parameter.sum() for parameter in model.parameters()).backward()
    optimizer.step()
    return model, optimizer


@pytest.fixture
def folder(tmp_path):
    """A run that was saved after its second update, and logged a third."""
    folder, (model, optimizer) = RunFolder(tmp_path), parts()
    folder.save_checkpoint(2, model)
    for step in (1, 2):
        folder.log({"step": step, "loss": 0.5})
        folder.log({"step": step, "seconds": 0.5}, "throughput.jsonl")
    folder.save(PROGRESS, model, optimizer, {"settings": 1})
    folder.log({"step": 3, "loss": 0.5})
    return folder


def refusal(folder):
    with pytest.raises(ModelFileError) as caught:
        folder.load(*parts())
    return caught.value


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_an_untouched_run_resumes(folder):
    assert folder.load(*parts()) == PROGRESS
    assert folder.recipe() == {"settings": 1}


@pytest.mark.parametrize("name", ["state.safetensors", "step-00000002.safetensors"])
def test_a_flipped_bit_in_weights_is_noticed(folder, name):
    flip(folder.path / name, -3)
    error = refusal(folder)
    assert error.file == str(folder.path / name)
    assert "does not match its digest" in error.problem


def test_a_flipped_bit_in_the_state_is_noticed_before_its_recipe_is_used(folder):
    flip(folder.state, -3)
    with pytest.raises(ModelFileError, match="does not match its digest"):
        folder.recipe()


def test_a_checkpoint_that_was_damaged_during_the_run_is_not_averaged(folder):
    flip(folder.checkpoint(2), -3)
    with pytest.raises(ModelFileError, match="does not match its digest"):
        folder.average_checkpoints([2], parts()[0])


def test_a_checkpoint_of_another_run_is_refused(folder):
    folder.save_checkpoint(2, parts(seed=2)[0])
    error = refusal(folder)
    assert error.file == str(folder.checkpoint(2))
    assert error.problem.startswith("It is not the checkpoint that this run saved. ")
    assert error.problem.endswith("or begin again with --overwrite.")


def test_a_missing_checkpoint_is_named_before_training(folder):
    folder.checkpoint(2).unlink()
    assert refusal(folder).problem.startswith("The checkpoint is missing, ")


@pytest.mark.parametrize("name", ["log.jsonl", "throughput.jsonl"])
def test_a_changed_log_is_refused_and_a_deleted_one_begun_anew(folder, name):
    flip(folder.path / name, 5)
    error = refusal(folder)
    assert error.file == str(folder.path / name)
    assert "delete it: the run continues without these lines" in error.problem
    (folder.path / name).unlink()
    assert folder.load(*parts()) == PROGRESS
    folder.shorten_log(2, name)
    assert folder.last_logged(name) == {}


def test_a_log_that_lost_its_last_lines_is_refused(folder):
    path = folder.path / "log.jsonl"
    path.write_text(path.read_text()[:20])
    assert refusal(folder).file == str(path)


def test_a_kill_while_a_log_is_shortened_loses_no_line(folder, monkeypatch):
    before = (folder.path / "log.jsonl").read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.shorten_log(2)
    assert (folder.path / "log.jsonl").read_bytes() == before


def test_lines_of_a_log_that_are_no_entries_are_dropped(folder):
    path = folder.path / "log.jsonl"
    lines = [b"5", b'"step"', b'{"step": "1"}', b'{"step": true}', b"\xff\xfe", b"[" * 100_000]
    path.write_bytes(b"\n".join([*lines, b'{"step": 1}', b'{"step": 7}', b'{"step": 2']))
    folder.shorten_log(2)
    assert path.read_bytes() == b'{"step": 1}\n'


def old_state(folder, progress=None, **tensors):
    """Write a state as an earlier version did: without digest and files."""
    model, optimizer = parts()
    folder.save(PROGRESS, model, optimizer, {"settings": 1})
    weights = {f"model/{name}": part.detach() for name, part in model.named_parameters()}
    progress = PROGRESS.to_json() if progress is None else progress
    write_tensors(folder.state, weights | tensors, {"progress": progress, "recipe": {}})
    text = folder.state.read_bytes().replace(b"file_sha256", b"file_sha255")
    folder.state.write_bytes(text)


def test_a_state_of_an_earlier_version_resumes_without_digests(folder):
    old_state(folder)
    assert folder.load(*parts()) == PROGRESS


@pytest.mark.parametrize(
    "change",
    [
        {"step": -1},
        {"step": "x"},
        {"step": True},
        {"epoch": 2**70},
        {"best": "x"},
        {"best": 10**400},
        {"checkpoints": 5},
        {"checkpoints": [[1.0]]},
        {"finished": 3},
        {"x": 1},
    ],
)
def test_a_progress_of_wrong_values_is_refused(folder, change):
    old_state(folder, json.loads(json.dumps(PROGRESS.to_json() | change)))
    error = refusal(folder)
    assert error.problem.startswith("Its progress cannot be used (")
    with pytest.raises(ModelFileError):
        folder.progress()


@pytest.mark.parametrize(
    "tensors",
    [
        {"model/x": torch.zeros(3)},
        {"model/readout.weight": torch.zeros(1, 1)},
        {"model/readout.weight": torch.zeros(15, 3, dtype=torch.int32)},
        {"optimizer/readout.weight/exp_avg": torch.zeros(1)},
        {"optimizer/readout.weight/step": torch.zeros(())},
        {"optimizer/x/step": torch.zeros(())},
    ],
)
def test_tensors_of_another_model_are_refused(folder, tensors):
    old_state(folder, **tensors)
    error = refusal(folder)
    name = next(iter(tensors)).partition("/")[2]
    assert error.problem.startswith("Its weights are not those of this run, for example ")
    assert name.rpartition("/")[0] in error.problem
