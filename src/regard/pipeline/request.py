"""The request of a training run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.config.toml import Tree
from regard.pipeline.pairs_source import PairsInput, PairsSource


@final
@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """One training run, as a user asks for it."""

    pairs: PairsSource
    dev: PairsInput | None = None
    preset: str | None = None
    paper_sizes: bool = False
    settings: Tree = field(default_factory=dict)
    """Explicit settings of [data], [text], [model], [train] and [search]; the rest is automatic."""

    out: Path | None = None
    """The model file; without one, nothing is written."""

    start_from: Path | None = None
    """A model file to start from: its tokenizers, its sizes and its weights."""

    embeddings: Path | None = None
    """Word vectors, as `regard embed` writes them, that initialize the tokens of both sides."""

    resume: bool = False
    overwrite: bool = False
    allow_changes: bool = False
    """Resume with other settings than the run began with."""

    allow_inexact: bool = False
    """Resume with other versions, threads or devices than the run began with."""

    skip_bad_lines: bool = False
    quiet: bool = False

    @property
    def folder(self) -> Path | None:
        """Where the run keeps its state."""
        # another ending stays: a.v1 and a.v2 must not share a folder
        return self.out and self.out.with_name(self.out.name.removesuffix(".regard") + ".run")
