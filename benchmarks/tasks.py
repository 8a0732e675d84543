"""The same pairs for everybody: words to sounds, and German to English, as files of symbols.

Symbols stand between spaces, so that nobody has to split them in their own way.
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
TRAINED, HELD_OUT, LONG = 20_000, 500, 8_000
VOCABULARY = 10_000


@final
@dataclass(frozen=True)
class Task:
    """Where a task's files lie, and how long an output may get."""

    name: str
    folder: Path
    max_length: int

    def file(self, part: str, side: str) -> Path:
        """Return the lines of `train`, `dev`, `long` or `one`, of the `source` or the `target`."""
        return self.folder / f"{part}.{side}"

    def pairs(self, part: str) -> Path:
        """Return a file of pairs."""
        return self.folder / f"{part}.tsv"

    def lines(self, part: str, side: str) -> list[str]:
        """Read a file of lines."""
        return self.file(part, side).read_text(encoding="utf-8").splitlines()

    def vocabulary(self, side: str) -> list[str]:
        """Return the symbols of a side, the most frequent first."""
        return self.lines("vocabulary", side)


def write_task(name: str, data: Path, work: Path) -> Task:
    """Write what a task needs, unless it is there; `data` holds the original files."""
    read, max_length = {"g2p": (_words, 40), "mt": (_sentences, 100)}[name]
    task = Task(name, work / name, max_length)
    return task if _complete(task).exists() else write_pairs(task, *read(data))


def write_pairs(task: Task, trained: Sequence[Pair], held: Sequence[Pair]) -> Task:
    """Write pairs to learn from and others, and what symbols there are."""
    _write(task, trained, held)
    _complete(task).touch()
    return task


def _complete(task: Task) -> Path:
    return task.folder / "complete"


def full_words(data: Path) -> list[Pair]:
    """Return every word to learn from."""
    return _spelled(data, "train")


def _words(data: Path) -> tuple[list[Pair], list[Pair]]:
    return _spelled(data, "train")[:TRAINED], _spelled(data, "dev")


def _spelled(data: Path, part: str) -> list[Pair]:
    """Return letters and sounds of words, each with its first pronunciation, in a random order."""
    first: dict[str, str] = {}
    for line in _read(data / f"cmudict-g2p/g014b2b/{part}.tsv.gz"):
        word, sounds = line.split("\t")
        first.setdefault(word.lower(), sounds)
    pairs = [(" ".join(word), sounds) for word, sounds in sorted(first.items())]
    random.Random(1).shuffle(pairs)
    return pairs


def _sentences(data: Path) -> tuple[list[Pair], list[Pair]]:
    def pairs(part: str) -> list[Pair]:
        names = (f"multi30k/tok/{part}.lc.norm.tok.{side}.gz" for side in ("de", "en"))
        sides = ([" ".join(line.split()) for line in _read(data / name)] for name in names)
        return [pair for pair in zip(*sides, strict=True) if all(pair)]

    return pairs("train"), pairs("val")


def _read(path: Path) -> list[str]:
    if not path.exists():
        raise SystemExit(
            f"{path} is not there, but it must be; a --data folder that holds it would do"
        )
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def _write(task: Task, trained: Sequence[Pair], held: Sequence[Pair]) -> None:
    task.folder.mkdir(parents=True, exist_ok=True)
    # what a long run takes more than a short one is not its start; seconds of work are needed
    # for that, since a start itself may take a second more or less
    long = list(islice(cycle(held), LONG))
    parts = {"train": trained, "dev": held[:HELD_OUT], "long": long, "one": held[:1]}
    for part, pairs in parts.items():
        _put(task.pairs(part), (f"{source}\t{target}" for source, target in pairs))
        for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            _put(task.file(part, side), lines)
    for number, side in enumerate(("source", "target")):
        counts = Counter(symbol for pair in trained for symbol in pair[number].split())
        known = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))[:VOCABULARY]
        _put(task.file("vocabulary", side), known)


def _put(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
