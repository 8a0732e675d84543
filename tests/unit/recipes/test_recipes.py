"""Recipes: their files are found, their settings are taken, and a task runs from data to a log."""

import gzip
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recipes.tasks import HERE, TASKS
from regard.api.automatic import choose
from regard.api.look import Look
from regard.models.build import build

ROOT = Path(__file__).parents[3]
PAIRS = "ab\tA B\nba\tB A\nabc\tA B C\nca\tC A\ncab\tC A B\nbb\tB B\n"
SMALL = [f"--set=model.{name}_size=8" for name in ("hidden", "embedding", "align", "readout")]


def written(path, text, packed=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())


@pytest.fixture
def data(tmp_path):
    """A folder with a few lines in the place of every data set."""
    for split in ("train", "dev"):
        written(tmp_path / "cmudict-g2p" / "g014b2b" / f"{split}.tsv.gz", PAIRS)
        written(tmp_path / "sigmorphon2021-g2p" / "low" / f"xyz_{split}.tsv", PAIRS, packed=False)
    written(tmp_path / "sigmorphon2021-g2p" / "low" / "xyz_test.tsv", PAIRS, packed=False)
    for split in ("train", "val", "test_2016_flickr"):
        for language, words in (("de", "ein haus\nein hund\n"), ("en", "a house\na dog\n")):
            written(tmp_path / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz", words)
    for split in ("train", "dev", "test"):
        written(tmp_path / "histnorm" / f"german-ridges.{split}.tsv.gz", "vnd\tund\nseyn\tsein\n")
    return tmp_path


def run(*words):
    command = [sys.executable, "-m", "recipes.run", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", TASKS)
def test_every_recipe_has_its_files_and_settings_that_are_taken(name, data, tmp_path):
    parts = list(TASKS[name].parts(data, tmp_path))
    assert parts
    for part in parts:
        assert part.pairs.exists()
        assert part.dev.exists()
        tree = tomllib.loads((HERE / f"{part.config}.toml").read_text())
        pairs = [line.split("\t") for line in PAIRS.splitlines()]
        settings = choose(Look(pairs, "NFC"), tree).settings
        assert build(settings.model, 30, 30).readout is not None
        assert settings.train.max_steps == tree["train"]["max_steps"]


def test_sides_are_laid_side_by_side_and_words_stand_between_their_neighbours(data, tmp_path):
    captions = next(TASKS["multi30k-vaswani2017"].parts(data, tmp_path))
    assert captions.pairs.read_text() == "a house\tein haus\na dog\tein hund\n"
    words = next(TASKS["histnorm"].parts(data, tmp_path))
    assert words.dev.read_text() == "<vnd> seyn\tund\nvnd <seyn>\tsein\n"


def test_a_task_goes_from_the_data_to_a_log(data, tmp_path):
    folders = ("--work", tmp_path / "work", "--logs", tmp_path / "logs")
    words = ("g2p-low", "--data", data, *folders, "--device", "cpu")
    more = ("--more", "--max-steps", 2, *SMALL, "--set=train.validate_every=1")
    done = run(*words, "--test", *more)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "xyz 1, dev",
        "xyz 1, test",
    ]
    path = tmp_path / "logs" / "g2p-low-xyz-1.json"
    log = json.loads(path.read_text())
    assert (log["task"], log["part"], log["seed"], log["beside"]) == ("g2p-low", "xyz", 1, 0)
    assert log["parameters"] > 0
    assert [score["name"] for score in log["test"]["scores"]] == ["exact", "per"]
    # again: nothing is trained, and nothing that was found is forgotten
    again = run(*words, *more)
    assert "nothing left to do" in again.stderr
    assert json.loads(path.read_text()) == log


def test_what_is_not_there_is_refused_in_a_sentence(data, tmp_path):
    for words, sentence in [
        (
            ("g2p-low", "--data", tmp_path / "no"),
            "has nothing for g2p-low; another --data would do",
        ),
        (("histnorm", "--data", tmp_path / "no"), "--data must name a folder that has it"),
        (("g2p-low", "--data", data, "--parts", "abc"), "there is no part abc; xyz would do"),
        (("g2p-low", "--data", data, "--seeds", 0), "0, but it must be at least 1"),
    ]:
        done = run(*words, "--work", tmp_path / "work")
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
