"""Files written in one move: whole, or as before."""

import os
import stat

import pytest

from regard.atomic_files import replace_file


def test_a_file_is_replaced_atomically_without_leftovers(tmp_path):
    path = tmp_path / "a"
    for content in (b"one", b"", b"\x00\xff"):
        replace_file(path, content)
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_the_content_is_synced_before_the_rename_and_the_folder_after(tmp_path, monkeypatch):
    done, sync, move = [], os.fsync, os.replace

    def synced(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        done.append((kind, (tmp_path / "a").exists()))
        sync(descriptor)

    def moved(here, there):
        done.append("moved")
        assert here.read_bytes() == b"one"
        move(here, there)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    replace_file(tmp_path / "a", b"one")
    assert done == [("file", False), "moved", ("folder", True)]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_unchanged(tmp_path, monkeypatch, step):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
