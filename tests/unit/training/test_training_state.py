"""The state of a run: how far it is, read without its tensors."""

import pytest
from safetensors.torch import save_file
from torch import zeros

from regard.errors import ModelFileError
from regard.safetensors_files import write_tensors
from regard.training import run_folder
from regard.training.early_stopping import TrainingProgress
from regard.training.run_folder import RunFolder

METADATA = {"progress": {"step": 7, "kept": [[0.5, 3]]}, "recipe": {"pairs": "abc"}}


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def test_progress_and_recipe_are_read_without_the_tensors(folder, monkeypatch):
    assert folder.progress() == TrainingProgress()
    assert folder.recipe() is None
    write_tensors(folder.state, {"model/x": zeros(5)}, METADATA)
    monkeypatch.setattr(run_folder, "read_tensors", None)
    assert folder.progress() == TrainingProgress(step=7, checkpoints=((0.5, 3),))
    assert folder.recipe() == {"pairs": "abc"}


def test_a_damaged_state_is_named(folder):
    write_tensors(folder.state, {"model/x": zeros(5)}, METADATA)
    whole = folder.state.read_bytes()
    for content in (whole[:-1], whole[:20], b"", b"PK\x03\x04"):
        folder.state.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"state\.safetensors: It is"):
            folder.progress()


def test_a_state_of_another_program_is_named(folder):
    save_file({"x": zeros(2)}, folder.state)
    with pytest.raises(ModelFileError, match="no metadata of regard"):
        folder.recipe()
