"""What recipes are made of: tasks, their variants, and the steps that lead to a scored model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent

Command = tuple[str | Path, ...]


@dataclass(frozen=True)
class Variant:
    """One model of a task: its training pairs, its dev set and, if there is one, a public test.

    `config` names its TOML file; None leaves every setting to auto-configuration. `validation` is
    a subset of a large dev set, for validations during training. `columns` selects the columns of
    the files, `train_options` are further options of `regard train`, and `preparation` makes a file
    that these options name. `warm_start` is the task and the variant whose model of the same seed
    initializes this one. `synthetic` replaces the training pairs by pairs and pseudo-labels.
    """

    name: str
    config: str | None
    pairs: Path
    dev: Path
    test: Path | None = None
    validation: Path | None = None
    columns: Command = ()
    train_options: Command = ()
    preparation: "PreparationCommand | None" = None
    warm_start: "tuple[str, Variant] | None" = None
    synthetic: "SyntheticData | None" = None

    @property
    def settings(self) -> Path | None:
        """Return the TOML file of its settings."""
        return HERE / f"{self.config}.toml" if self.config else None


class RecipeRun(NamedTuple):
    """One training run: a variant of a task, with a seed."""

    task: str
    variant: Variant
    seed: int

    def __str__(self) -> str:
        return f"{self.task}-{self.variant.name}-{self.seed}"

    def model(self, work: Path) -> Path:
        """Return the path of its model file."""
        return work / f"{self}.regard"

    def initial_run(self) -> "RecipeRun | None":
        """Return the run whose model initializes this one."""
        return RecipeRun(*self.variant.warm_start, self.seed) if self.variant.warm_start else None

    def prerequisites(self) -> "tuple[RecipeRun | SyntheticData | PreparationCommand, ...]":
        """Return the steps that must be done before it."""
        variant = self.variant
        steps = (self.initial_run(), variant.synthetic, variant.preparation)
        return tuple(step for step in steps if step)


class PreparationCommand(NamedTuple):
    """A `regard` command whose last argument is the file that it writes, not a model."""

    arguments: Command

    def __str__(self) -> str:
        return Path(self.arguments[-1]).name

    def prerequisites(self) -> tuple[()]:
        """Return no steps."""
        return ()


class SyntheticData(NamedTuple):
    """Training pairs followed by pseudo-labels: unlabeled lines, translated by an ensemble."""

    pairs: Path
    unlabeled: Path
    teachers: tuple[RecipeRun, ...]

    def __str__(self) -> str:
        return f"{self.unlabeled.stem}.distilled.tsv"

    def file(self, work: Path) -> Path:
        """Return the path of the file with both."""
        return work / str(self)

    def prerequisites(self) -> tuple[RecipeRun, ...]:
        """Return the runs of its teachers."""
        return self.teachers


class SeedEnsemble(NamedTuple):
    """The seeds of one variant, decoded as an ensemble."""

    runs: tuple[RecipeRun, ...]

    def __str__(self) -> str:
        task, variant, _ = self.runs[0]
        return f"{task}-{variant.name}-ensemble-of-{len(self.runs)}"

    def prerequisites(self) -> tuple[RecipeRun, ...]:
        """Return the runs of its members."""
        return self.runs


@dataclass(frozen=True)
class Task:
    """Variants that belong together, and how all of them are scored.

    `seeds` is the default number of seeds per variant and `scoring` holds further options of
    `regard evaluate`. `gold` names hand-aligned lines. `analyze` computes further scores from a
    model file, a file of pairs and a device.
    """

    variants: Callable[[Path, Path], Iterator[Variant]]
    metrics: str
    seeds: int = 1
    scoring: Command = ()
    gold: str | None = None
    analyze: Callable[[Path, Path, str], dict[str, Any]] | None = None
