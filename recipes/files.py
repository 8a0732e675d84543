"""Files of pairs as the recipes want them, made from those of the data."""

import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from recipes.teach import invented
from regard.atomic_files import replace_file
from regard.text.normalize import normalize

_ENGLISH = re.compile(r"'\w+|\w+(?:-\w+)*|\S")
"""A word or a mark, the end of a genitive or an abbreviation by itself."""


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, which may be packed."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def joined(sides: Sequence[Path], out: Path) -> Path:
    """Lay two parallel files side by side."""
    pairs = zip(*(lines_of(side) for side in sides), strict=True)
    return _lines(out, ["\t".join(pair) for pair in pairs])


def in_context(path: Path, work: Path) -> Path:
    """Write each word between its neighbours: the lines are running text, a word on each."""
    pairs = [line.split("\t") for line in lines_of(path)]
    words = ["", *(old for old, _ in pairs), ""]
    found = zip(words, pairs, words[2:], strict=False)
    lines = [f"{left} <{old}> {right}".strip() + f"\t{new}" for left, (old, new), right in found]
    return _lines(work / path.name.removesuffix(".gz"), lines)


def as_aligned(path: Path, work: Path) -> Path:
    """Write Chinese without spaces, and English in small letters, with spaces around marks.

    So are the lines of people who aligned words by hand. English stands first in the file.
    """
    pairs = [line.split("\t") for line in lines_of(path)]
    lines = [f"{zh.replace(' ', '')}\t{' '.join(_ENGLISH.findall(en.lower()))}" for en, zh in pairs]
    return _lines(work / f"aligned.{path.name.removesuffix('.gz')}", lines)


def one_after_another(paths: Sequence[Path], out: Path) -> Path:
    """Put files together."""
    return _lines(out, [line for path in paths for line in lines_of(path)])


def with_tags(paths: Mapping[str, Path], out: Path, times: Mapping[str, int] | None = None) -> Path:
    """Put files together, the name of each behind its sources, some of them several times."""
    found = []
    for name, path in paths.items():
        pairs = [line.split("\t") for line in lines_of(path)]
        lines = [f"{source} {name}\t{target}" for source, target in pairs]
        found += lines * (times or {}).get(name, 1)
    return _lines(out, found)


def with_invented(path: Path, count: int, out: Path, name: str = "") -> Path:
    """Write words in the manner of a language's own, each with the name of the language, if any."""
    words = [normalize(line.split("\t")[0], "NFD") for line in lines_of(path)]
    return _lines(out, [f"{word} {name}".rstrip() for word in invented(words, count)])


def with_lemmas(path: Path, out: Path) -> Path:
    """Add every lemma with a tag that comes once: with what is unknown it stays as it is."""
    lines = lines_of(path)
    lemmas = dict.fromkeys(line.split("\t")[0] for line in lines)
    return _lines(out, lines + [f"{lemma}\t{lemma}\t?{n}" for n, lemma in enumerate(lemmas)])


def every(step: int, path: Path, work: Path) -> Path:
    """Write one line of so many."""
    return _lines(work / f"{path.stem}.every{step}.tsv", lines_of(path)[::step])


def first_lines(path: Path, count: int, work: Path) -> Path:
    """Write the first lines of a file."""
    return _lines(work / f"{path.stem}.{count}.tsv", lines_of(path)[:count])


def written(path: Path, text: str) -> Path:
    """Write a file whole or not at all, and leave one alone that holds the same."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        replace_file(path, text.encode())
    return path


def _lines(path: Path, lines: list[str]) -> Path:
    return written(path, "".join(f"{line}\n" for line in lines))
