"""What recipes are made of: parts of tasks, and what has to be there before each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent

Command = tuple[str | Path, ...]


@dataclass(frozen=True)
class Part:
    """One model: what it learns from, what it is tuned on, and a public test where there is one.

    `config` names its settings, and is None where they are left to be chosen. Where dev is large,
    training validates on what is `watched`, some of it. `columns` says where the pairs stand in
    their files, `more` is said to `regard train`, and a file that it needs is made by another
    command `before`, which ends in its name. It may go on `after` another part's model of the same
    seed, and learn from `lessons`, which hold its pairs.
    """

    name: str
    config: str | None
    pairs: Path
    dev: Path
    test: Path | None = None
    watched: Path | None = None
    columns: Command = ()
    more: Command = ()
    before: "Before | None" = None
    after: "tuple[str, Part] | None" = None
    lessons: "Lessons | None" = None

    @property
    def settings(self) -> Path | None:
        """Return the file that its settings stand in."""
        return HERE / f"{self.config}.toml" if self.config else None


class Job(NamedTuple):
    """A model that is to be made: the name of its task, its part, and a seed."""

    task: str
    part: Part
    seed: int

    def __str__(self) -> str:
        return f"{self.task}-{self.part.name}-{self.seed}"

    def model(self, work: Path) -> Path:
        """Return where its file lies."""
        return work / f"{self}.regard"

    def start(self) -> "Job | None":
        """Return whose model it goes on from."""
        return Job(*self.part.after, self.seed) if self.part.after else None

    def needs(self) -> "tuple[Job | Lessons | Before, ...]":
        """Return what must be there before it can be made."""
        part = self.part
        return tuple(need for need in (self.start(), part.lessons, part.before) if need)


class Before(NamedTuple):
    """A command that makes what is no model, and ends in the name of its file."""

    words: Command

    def __str__(self) -> str:
        return Path(self.words[-1]).name

    def needs(self) -> tuple[()]:
        """Need nothing."""
        return ()


class Lessons(NamedTuple):
    """Pairs, and behind them what several models say together of lines that are unknown."""

    pairs: Path
    unknown: Path
    teachers: tuple[Job, ...]

    def __str__(self) -> str:
        return f"{self.unknown.stem}.taught.tsv"

    def file(self, work: Path) -> Path:
        """Return where they lie."""
        return work / str(self)

    def needs(self) -> tuple[Job, ...]:
        """Return what must be there before they can be made."""
        return self.teachers


class AsOne(NamedTuple):
    """Seeds of a part that write together."""

    jobs: tuple[Job, ...]

    def __str__(self) -> str:
        name, part, _ = self.jobs[0]
        return f"{name}-{part.name}-ensemble-of-{len(self.jobs)}"

    def needs(self) -> tuple[Job, ...]:
        """Return what must be there before they can be scored."""
        return self.jobs


@dataclass(frozen=True)
class Task:
    """Models that belong together, and how all of them are scored.

    `seeds` are how many models a part has if nothing is said, `scoring` is said to
    `regard evaluate`, `gold` names lines that people aligned, and `looks` finds more in a model's
    file and some pairs, on a device.
    """

    parts: Callable[[Path, Path], Iterator[Part]]
    metrics: str
    seeds: int = 1
    scoring: Command = ()
    gold: str | None = None
    looks: Callable[[Path, Path, str], dict[str, Any]] | None = None
