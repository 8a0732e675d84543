"""What the recipes are for: which files of the data, which settings, and how it is scored."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """One model: what it learns from, what it is tuned on, and a public test where there is one."""

    name: str
    config: str
    pairs: Path
    dev: Path
    test: Path | None = None


@dataclass(frozen=True)
class Task:
    """Models that belong together, and how all of them are scored."""

    parts: Callable[[Path, Path], Iterator[Part]]
    metrics: str
    scoring: tuple[str, ...] = ()


def _english_sounds(data: Path, work: Path) -> Iterator[Part]:
    folder = data / "cmudict-g2p" / "g014b2b"
    yield Part("english", "g2p-english", folder / "train.tsv.gz", folder / "dev.tsv.gz")


def _sounds(data: Path, work: Path) -> Iterator[Part]:
    folder = data / "sigmorphon2021-g2p" / "low"
    for pairs in sorted(folder.glob("*_train.tsv")):
        name = pairs.name.removesuffix("_train.tsv")
        test = folder / f"{name}_test.tsv"
        found = test if test.exists() else None
        yield Part(name, "g2p-low", pairs, folder / f"{name}_dev.tsv", found)


def _captions(config: str, *directions: str) -> Callable[[Path, Path], Iterator[Part]]:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        for direction in directions:
            files = [
                _joined(data / "multi30k" / "tok", split, direction, work)
                for split in ("train", "val", "test_2016_flickr")
            ]
            yield Part(direction, config, files[0], files[1], files[2])

    return parts


def _joined(folder: Path, split: str, direction: str, work: Path) -> Path:
    """Lay two parallel files side by side."""
    path = work / f"multi30k.{split}.{direction}.tsv"
    files = (folder / f"{split}.lc.norm.tok.{language}.gz" for language in direction.split("-"))
    sides = [_lines(file) for file in files]
    lines = (f"{one}\t{other}\n" for one, other in zip(*sides, strict=True))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def _old_spellings(data: Path, work: Path) -> Iterator[Part]:
    name = "german-ridges"
    paths = [
        _in_context(data / "histnorm" / f"{name}.{split}.tsv.gz", work)
        for split in ("train", "dev", "test")
    ]
    yield Part(name, "histnorm", paths[0], paths[1], paths[2])


def _in_context(path: Path, work: Path) -> Path:
    """Write each word between its neighbours: the lines are running text, a word on each."""
    pairs = [line.split("\t") for line in _lines(path)]
    words = ["", *(old for old, _ in pairs), ""]
    out = work / path.name.removesuffix(".gz")
    lines = (
        f"{left} <{old}> {right}".strip() + f"\t{new}\n"
        for left, (old, new), right in zip(words, pairs, words[2:], strict=False)
    )
    out.write_text("".join(lines), encoding="utf-8")
    return out


TASKS: dict[str, Task] = {
    "g2p-english": Task(_english_sounds, "exact,per"),
    "g2p-low": Task(_sounds, "exact,per"),
    "multi30k-vaswani2017": Task(
        _captions("multi30k-vaswani2017", "en-de", "de-en"), "bleu:none,chrf"
    ),
    "multi30k-bahdanau2015": Task(_captions("multi30k-bahdanau2015", "de-en"), "bleu:none,chrf"),
    "histnorm": Task(_old_spellings, "exact,cer", ("--each-line",)),
}
