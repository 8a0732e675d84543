"""The data sets, the same for every contender: words to phonemes, and German to English.

Tokens are separated by spaces: every library splits them in the same way.
"""

import gzip
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import final

Pair = tuple[str, str]
NUM_TRAIN, NUM_DEV, NUM_LONG = 20_000, 500, 8_000
VOCABULARY_SIZE = 10_000


@final
@dataclass(frozen=True)
class BenchmarkDataset:
    """The files of a data set, and the maximum length of an output."""

    name: str
    folder: Path
    max_length: int

    def file(self, split: str, side: str) -> Path:
        """Return the lines of `train`, `dev`, `long` or `one`, of the `source` or the `target`."""
        return self.folder / f"{split}.{side}"

    def pairs(self, split: str) -> Path:
        """Return a file of pairs."""
        return self.folder / f"{split}.tsv"

    def lines(self, split: str, side: str) -> list[str]:
        """Read a file of lines."""
        return self.file(split, side).read_text(encoding="utf-8").splitlines()

    def vocabulary(self, side: str) -> list[str]:
        """Return the tokens of a side, the most frequent first."""
        return self.lines("vocabulary", side)


def write_dataset(name: str, data: Path, work: Path) -> BenchmarkDataset:
    """Write the files of a data set unless they are there; `data` holds the original ones."""
    read, max_length = {"g2p": (_read_g2p, 40), "mt": (_read_captions, 100)}[name]
    dataset = BenchmarkDataset(name, work / name, max_length)
    return dataset if _completion_marker(dataset).exists() else write_pairs(dataset, *read(data))


def write_pairs(
    dataset: BenchmarkDataset, train: Sequence[Pair], dev: Sequence[Pair]
) -> BenchmarkDataset:
    """Write the training pairs, the dev pairs and the vocabularies."""
    _write(dataset, train, dev)
    _completion_marker(dataset).touch()
    return dataset


def _completion_marker(dataset: BenchmarkDataset) -> Path:
    return dataset.folder / "complete"


def read_all_pairs(data: Path) -> list[Pair]:
    """Return every training word."""
    return _read_words(data, "train")


def _read_g2p(data: Path) -> tuple[list[Pair], list[Pair]]:
    return _read_words(data, "train")[:NUM_TRAIN], _read_words(data, "dev")


def _read_words(data: Path, split: str) -> list[Pair]:
    """Return letters and phonemes of words, each with its first pronunciation, shuffled."""
    pronunciations: dict[str, str] = {}
    for line in _read(data / f"cmudict-g2p/g014b2b/{split}.tsv.gz"):
        word, phonemes = line.split("\t")
        pronunciations.setdefault(word.lower(), phonemes)
    pairs = [(" ".join(word), phonemes) for word, phonemes in sorted(pronunciations.items())]
    random.Random(1).shuffle(pairs)
    return pairs


def _read_captions(data: Path) -> tuple[list[Pair], list[Pair]]:
    def pairs(split: str) -> list[Pair]:
        names = (f"multi30k/tok/{split}.lc.norm.tok.{side}.gz" for side in ("de", "en"))
        sides = ([" ".join(line.split()) for line in _read(data / name)] for name in names)
        return [pair for pair in zip(*sides, strict=True) if all(pair)]

    return pairs("train"), pairs("val")


def _read(path: Path) -> list[str]:
    if not path.exists():
        raise SystemExit(f"{path} is missing; --data must name a folder that has it")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def _write(dataset: BenchmarkDataset, train: Sequence[Pair], dev: Sequence[Pair]) -> None:
    dataset.folder.mkdir(parents=True, exist_ok=True)
    # subtracting the time of a short file from that of a long one excludes the start of a program;
    # the long one must take many seconds, since the start varies by about one
    long = list(islice(cycle(dev), NUM_LONG))
    splits = {"train": train, "dev": dev[:NUM_DEV], "long": long, "one": dev[:1]}
    for split, pairs in splits.items():
        _write_lines(dataset.pairs(split), (f"{source}\t{target}" for source, target in pairs))
        for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            _write_lines(dataset.file(split, side), lines)
    for number, side in enumerate(("source", "target")):
        counts = Counter(token for pair in train for token in pair[number].split())
        vocabulary = sorted(counts, key=lambda token: (-counts[token], token))[:VOCABULARY_SIZE]
        _write_lines(dataset.file("vocabulary", side), vocabulary)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
