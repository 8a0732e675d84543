"""Word vectors: trained on lines by gensim, stored as text, compared by their neighbors.

A file has one line with two counts, then one line per word with its numbers: the text format of
word2vec, which most programs read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Float

from regard.atomic_files import replace_file
from regard.choices import VectorMethod
from regard.errors import ConfigError, DataError, unreadable, unwritable
from regard.text import messages


@final
@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, the most frequent first, and a row of numbers for each."""

    words: tuple[str, ...]
    numbers: Float[np.ndarray, "V D"]

    @property
    def size(self) -> int:
        """Size of a vector."""
        return int(self.numbers.shape[1])

    @cached_property
    def row_of_word(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _unit_vectors(self) -> Float[np.ndarray, "V D"]:
        lengths = np.linalg.norm(self.numbers, axis=1, keepdims=True)
        return self.numbers / np.maximum(lengths, 1e-12)

    def nearest(self, word: str, count: int = 5) -> list[tuple[str, float]]:
        """Return the words with the highest cosine similarity to a word, each with its cosine."""
        row = self.row_of_word[word]
        cosines = self._unit_vectors @ self._unit_vectors[row]
        cosines[row] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(count, len(self.words) - 1)]
        return [(self.words[at], float(cosines[at])) for at in best]

    def project_to_plane(self, count: int) -> Float[np.ndarray, "N 2"]:
        """Project the first words onto their two principal components."""
        centered = self.numbers[:count] - self.numbers[:count].mean(axis=0)
        _, _, axes = np.linalg.svd(centered, full_matrices=False)
        axes = axes[:2]
        # the sign of an axis is arbitrary: make its largest number positive
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        projected = centered @ (axes * signs[:, None]).T
        return np.pad(projected, ((0, 0), (0, 2 - projected.shape[1])))

    def save(self, path: Path) -> None:
        """Write all words and numbers."""
        lines = [f"{len(self.words)} {self.size}"]
        for word, numbers in zip(self.words, self.numbers.tolist(), strict=True):
            lines.append(" ".join([word, *(f"{number:.6g}" for number in numbers)]))
        try:
            replace_file(path, ("\n".join(lines) + "\n").encode())
        except OSError as error:
            raise DataError(str(path), None, unwritable(error)) from None

    @classmethod
    def load(cls, path: Path) -> "WordVectors":
        """Read a file; an error names the first bad line."""
        words, row_of_word = [], []
        try:
            with open(path, encoding="utf-8") as file:
                size = _size(file.readline(), path)
                for number, line in enumerate(file, start=2):
                    # the token may itself be a space, followed by the separating space
                    at = line.find(" ", 1)
                    word, numbers = line[:at], line[at + 1 :].rstrip("\n").split(" ")
                    if len(numbers) != size:
                        problem = messages.wrong_vector_size(len(numbers), size)
                        raise DataError(str(path), number, problem)
                    words.append(word)
                    row_of_word.append(_row(numbers, path, number))
        except UnicodeDecodeError:
            raise DataError(str(path), None, messages.NOT_UTF8) from None
        except OSError as error:
            raise DataError(str(path), None, unreadable(error, str(path))) from None
        return cls(
            tuple(words), np.array(row_of_word, dtype=np.float32).reshape(len(row_of_word), size)
        )


def _size(line: str, path: Path) -> int:
    counts = line.split()
    if len(counts) == 2 and all(count.isdecimal() for count in counts) and int(counts[1]):
        return int(counts[1])
    raise DataError(str(path), 1, messages.NO_COUNTS)


def _row(numbers: Sequence[str], path: Path, line: int) -> Float[np.ndarray, "D"]:
    try:
        row = np.array(numbers, dtype=np.float32)
    except ValueError:
        row = np.array([np.nan])
    if not np.isfinite(row).all():
        raise DataError(str(path), line, messages.NOT_NUMBERS)
    return row


@final
@dataclass(frozen=True, kw_only=True)
class WordVectorConfig:
    """Settings of word2vec."""

    method: VectorMethod = "skip-gram"
    size: int = 128
    window: int = 5
    min_count: int = 2
    epochs: int = 10
    seed: int = 1


def train_word_vectors(lines: Iterable[list[str]], config: WordVectorConfig) -> WordVectors:
    """Train word2vec (Mikolov et al. 2013) on tokens, through gensim; deterministic."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise ConfigError("embed", [messages.NO_GENSIM]) from None
    try:
        model: Any = Word2Vec(
            sentences=lines,
            sg=int(config.method == "skip-gram"),
            vector_size=config.size,
            window=config.window,
            min_count=config.min_count,
            epochs=config.epochs,
            seed=config.seed,
            # one thread: more would make the order of updates random
            workers=1,
        )
    except RuntimeError:
        problem = messages.min_count_without_tokens(config.min_count)
        raise ConfigError("embed", [problem]) from None
    return WordVectors(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, dtype=np.float32))
