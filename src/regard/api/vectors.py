"""A run whose symbols begin with word vectors."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch

from regard.atomic_files import fingerprint
from regard.config.toml import Tree
from regard.errors import ConfigError
from regard.models import preset
from regard.models.seq2seq import Seq2Seq
from regard.text.side import Side
from regard.text.vectors import Vectors


@final
@dataclass(frozen=True)
class Known:
    """Word vectors, and which file they were."""

    vectors: Vectors
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> "Known":
        """Read a file of vectors."""
        return cls(Vectors.load(path), fingerprint(path))

    def settings(self, said: Tree, name: str | None) -> Tree:
        """Let symbols be as wide as the vectors, where nobody said otherwise."""
        model = said.get("model", {})
        if not isinstance(model, dict):
            return said
        width = _width(name or str(model.get("preset", "bahdanau2015")))
        return said if width is None else {**said, "model": {width: self.vectors.size, **model}}

    def plant(self, model: Seq2Seq, source: Side, target: Side) -> str:
        """Give symbols their vectors, as long on average as those of the others; say how many."""
        rows, numbers = self.vectors.rows, self.vectors.numbers
        scale = 1 / max(1e-12, float(np.linalg.norm(numbers, axis=1).mean()))
        told = []
        for name, side, embedding in (
            ("source", source, model.source_embedding),
            ("target", target, model.target_embedding),
        ):
            symbols = side.vocabulary.symbols
            found = [(at, rows[symbol]) for at, symbol in enumerate(symbols) if symbol in rows]
            if embedding.weight.shape[1] != self.vectors.size:
                problem = f"{name}.size = {embedding.weight.shape[1]}, but the vectors have"
                would = f"{name}.size = {self.vectors.size} would do"
                raise ConfigError("model", [f"{problem} {self.vectors.size} numbers; {would}"])
            if found:
                places, taken = (torch.tensor(part) for part in zip(*found, strict=True))
                given = torch.from_numpy(numbers[taken.numpy()] * scale)
                with torch.no_grad():
                    embedding.weight[places] = given.to(embedding.weight)
            told.append(f"{len(found):,} of {len(symbols):,} {name} symbols")
        return f"{' and '.join(told)} begin with their vectors"


def _width(name: str) -> str | None:
    """Return what a preset calls the width of a symbol."""
    arguments = inspect.signature(preset(name)).parameters
    return next((x for x in ("embedding_size", "model_size") if x in arguments), None)
