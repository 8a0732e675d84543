"""Where and how a benchmark is run: folders, threads, and how long each part may take."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import Peer, Setup
from benchmarks.rows import Contender, Measured
from benchmarks.tasks import Task, write_task

WARM = 10
"""Updates that are not counted."""


@dataclass(frozen=True)
class Site:
    """Everything that all rows have in common."""

    data: Path
    peers: Path
    work: Path
    threads: int = 2
    updates: int | None = None
    """Updates that are counted, where a row's own number is not wanted."""

    trained: int = 300
    """Updates of the models that decode."""

    rounds: int | None = None

    def task(self, name: str) -> Task:
        """Return a task, whose files are there from then on."""
        return write_task(name, self.data, self.work)

    def setup(self, peer: Peer, kind: str, task: Task) -> Setup:
        """Return where a peer works."""
        folder = self.work / peer.folder / f"{kind}-{task.name}"
        return Setup(self.peers, task, folder, self.threads)

    def present(
        self, peers: Iterable[Peer], measure: Callable[[Peer], Measured]
    ) -> tuple[list[Contender], dict[str, str]]:
        """Return the peers that are installed, as contenders, and how to install the others."""
        there, missing = [], {}
        for peer in peers:
            version = peer.version(self.peers)
            if version is None:
                missing[peer.name] = peer.how()
                continue
            there.append(
                # the peer of this turn of the loop, not of its last
                Contender(peer.name, lambda peer=peer: measure(peer), peer=True, version=version)
            )
        return there, missing
