"""The peers: which there are, how each is installed, and in which version it is there.

Each lives in a virtual environment of its own, a folder of that name under `--peers`, and is called
as the program that it is. A peer that is not there is not measured, and its row says so.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import version_in
from benchmarks.tasks import Task

TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Peer:
    """A program of others."""

    name: str
    folder: str
    package: str
    install: tuple[str, ...]
    """What pip is given, step by step, after torch."""

    def python(self, peers: Path) -> Path:
        """Return its Python."""
        return peers / self.folder / "bin" / "python"

    def program(self, peers: Path, name: str) -> Path:
        """Return one of its programs."""
        return peers / self.folder / "bin" / name

    def version(self, peers: Path) -> str | None:
        """Return its version, or None where it is not installed."""
        return version_in(self.python(peers), self.package)

    def how(self) -> str:
        """Say how to install it, in the folder of the peers."""
        pip = f"{self.folder}/bin/pip install"
        steps = [f"{pip} {words}" for words in (TORCH, *self.install)]
        return " && ".join([f"python3 -m venv {self.folder}", *steps])


OPENNMT = Peer(
    "OpenNMT-py",
    "onmt",
    "OpenNMT-py",
    (
        "--no-deps OpenNMT-py==3.5.1",
        "configargparse ctranslate2 tensorboard flask waitress pyonmttok pyyaml sacrebleu "
        "rapidfuzz pyahocorasick fasttext-wheel spacy six",
    ),
)
EOLE = Peer("eole", "eole", "eole", ("eole==0.6.4 aiohttp",))
FAIRSEQ = Peer("fairseq", "fairseq", "fairseq", ("'pip<24.1'", "numpy==1.23.5 fairseq==0.12.2"))
CTRANSLATE2 = Peer("CTranslate2", "onmt", "ctranslate2", OPENNMT.install)
PEERS = (OPENNMT, EOLE, FAIRSEQ, CTRANSLATE2)


@dataclass(frozen=True)
class Setup:
    """What a peer is run with: where all of them are, on what, and where its own files go."""

    peers: Path
    task: Task
    folder: Path
    threads: int
