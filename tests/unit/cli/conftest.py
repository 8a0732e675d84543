"""A command line in this process, and small models for it: trained once for all tests."""

import io
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

import regard
from regard.cli import main

LETTERS = "abcdefgh"
CAPITALS = [(c, c.upper()) for c in LETTERS]
CAPITALS += [("ab", "AB"), ("ba", "BA"), ("abc", "ABC"), ("cab", "CAB")]
"""Pairs that a model learns in a second, so that what it must answer is known."""

SMALL = {"hidden_size": 16, "embedding_size": 16, "align_size": 16, "readout_size": 16}


class Answer(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Return what runs a command line in a folder of its own, with bytes on standard input."""
    monkeypatch.chdir(tmp_path)

    def call(*words, stdin=b""):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Return what runs a command that must be refused: one sentence, 2, and nothing written."""

    def call(*words, stdin=b""):
        before = listing(tmp_path)
        answer = run(*words, stdin=stdin)
        assert (answer.code, answer.out) == (2, ""), answer.err
        assert listing(tmp_path) == before
        assert "Traceback" not in answer.err
        return answer.err

    return call


def listing(folder):
    """Return every file under a folder with what it holds."""
    files = (path for path in folder.rglob("*") if os.access(path, os.R_OK))
    return {path: path.read_bytes() if path.is_file() else None for path in files}


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def capitals(models):
    """Train a model that writes what it reads in capitals."""
    settings = {
        "validate_every": 60,
        "learning_rate": 0.02,
        "dropout": 0.0,
        "average_checkpoints": 0,
    }
    return trained(models / "capitals.regard", "bahdanau2015", 60, **settings)


@pytest.fixture(scope="session")
def beginner(models):
    """Train a model of the same vocabularies that has learned nothing yet."""
    return trained(models / "beginner.regard", "bahdanau2015", 1)


@pytest.fixture(scope="session")
def blind(models):
    """Train a model without attention."""
    settings = {
        "validate_every": 80,
        "learning_rate": 0.02,
        "dropout": 0.0,
        "average_checkpoints": 0,
    }
    return trained(models / "blind.regard", "cho2014", 80, **settings)


def trained(path, preset, steps, **settings):
    sizes = {name: size for name, size in SMALL.items() if name != "align_size" or preset[0] == "b"}
    order = {"preset": preset, "dev": CAPITALS, "max_steps": steps, "out": path, "quiet": True}
    regard.train(CAPITALS, **order, **sizes, **settings)
    return path


@pytest.fixture
def pairs(tmp_path):
    """Write the pairs to a TSV in the folder where commands run."""
    path = tmp_path / "capitals.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in CAPITALS))
    return path


@pytest.fixture
def in_a_process(tmp_path):
    """Return what runs a script in a process of its own, in the folder where commands run."""

    def call(script, *words):
        found = subprocess.run(
            [sys.executable, "-c", script, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
        return Answer(found.returncode, found.stdout, found.stderr)

    return call
