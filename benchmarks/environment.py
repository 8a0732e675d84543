"""The environment of a benchmark: folders, threads, and how much each row measures."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.competitors import Competitor, CompetitorSetup
from benchmarks.datasets import BenchmarkDataset, write_dataset
from benchmarks.rows import Contender, Measurement

WARMUP_UPDATES = 10
"""Updates that are not counted."""


@dataclass(frozen=True)
class BenchmarkEnvironment:
    """What all rows have in common."""

    data: Path
    competitors: Path
    work: Path
    threads: int = 2
    updates: int | None = None
    """Counted updates; None for each row's own number."""

    decoder_updates: int = 300
    """Training updates of the models that decode."""

    rounds: int | None = None
    """Rounds of all contenders; None for each row's own number."""

    def dataset(self, name: str) -> BenchmarkDataset:
        """Return a data set, and write its files unless they are there."""
        return write_dataset(name, self.data, self.work)

    def setup(
        self, competitor: Competitor, kind: str, dataset: BenchmarkDataset
    ) -> CompetitorSetup:
        """Return the setup of a competitor for a kind of model."""
        folder = self.work / competitor.folder / f"{kind}-{dataset.name}"
        return CompetitorSetup(self.competitors, dataset, folder, self.threads)

    def installed(
        self, competitors: Iterable[Competitor], measure: Callable[[Competitor], Measurement]
    ) -> tuple[list[Contender], dict[str, str]]:
        """Return installed competitors as contenders, and how to install the others."""
        contenders, missing = [], {}
        for competitor in competitors:
            version = competitor.version(self.competitors)
            if version is None:
                missing[competitor.name] = competitor.install_command()
                continue
            run = partial(measure, competitor)
            contenders.append(Contender(competitor.name, run, competitor=True, version=version))
        return contenders, missing
