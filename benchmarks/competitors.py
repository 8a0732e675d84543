"""The competitors: names, packages, versions and installation.

Each has a virtual environment of its own, a folder under `--competitors`, and is run as a program.
A competitor that is not installed is not measured, and its row says so.
"""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import BenchmarkDataset
from benchmarks.machine import installed_version

TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Competitor:
    """Another library, with its environment and package."""

    name: str
    folder: str
    package: str
    install: tuple[str, ...]
    """Arguments of `pip install`, one command each, after torch."""

    def python(self, competitors: Path) -> Path:
        """Return its Python."""
        return competitors / self.folder / "bin" / "python"

    def program(self, competitors: Path, name: str) -> Path:
        """Return one of its programs."""
        return competitors / self.folder / "bin" / name

    def version(self, competitors: Path) -> str | None:
        """Return its version, or None if it is not installed."""
        return installed_version(self.python(competitors), self.package)

    def install_command(self) -> str:
        """Return the command that installs it, for the folder of the competitors."""
        pip = f"{self.folder}/bin/pip install"
        steps = [f"{pip} {arguments}" for arguments in (TORCH, *self.install)]
        return " && ".join([f"python3 -m venv {self.folder}", *steps])


OPENNMT = Competitor(
    "OpenNMT-py",
    "onmt",
    "OpenNMT-py",
    (
        "--no-deps OpenNMT-py==3.5.1",
        "configargparse ctranslate2 tensorboard flask waitress pyonmttok pyyaml sacrebleu "
        "rapidfuzz pyahocorasick fasttext-wheel spacy six",
    ),
)
EOLE = Competitor("eole", "eole", "eole", ("eole==0.6.4 aiohttp",))
FAIRSEQ = Competitor(
    "fairseq", "fairseq", "fairseq", ("'pip<24.1'", "numpy==1.23.5 fairseq==0.12.2")
)
CTRANSLATE2 = Competitor("CTranslate2", "onmt", "ctranslate2", OPENNMT.install)
COMPETITORS = (OPENNMT, EOLE, FAIRSEQ, CTRANSLATE2)


@dataclass(frozen=True)
class CompetitorSetup:
    """How a competitor is run: the environments, the data set and its folder of files."""

    competitors: Path
    dataset: BenchmarkDataset
    folder: Path
    threads: int
