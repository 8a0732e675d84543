"""Prepare files of pairs for the recipes from the files of the data sets."""

import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from recipes.knowledge_distillation import generate_pseudo_words
from regard.atomic_files import replace_file
from regard.text.normalization import normalize

_ENGLISH = re.compile(r"'\w+|\w+(?:-\w+)*|\S")
"""A word or a punctuation mark; the ending of a genitive or contraction is a token."""


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, which may be gzipped."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def join_columns(sides: Sequence[Path], out: Path) -> Path:
    """Join parallel files into one file of tab-separated pairs."""
    pairs = zip(*(read_lines(side) for side in sides), strict=True)
    return _write_lines(out, ["\t".join(pair) for pair in pairs])


def add_context(path: Path, work: Path) -> Path:
    """Write each word between its neighbors: the lines are running text, one word per line."""
    pairs = [line.split("\t") for line in read_lines(path)]
    words = ["", *(old for old, _ in pairs), ""]
    windows = zip(words, pairs, words[2:], strict=False)
    lines = [f"{left} <{old}> {right}".strip() + f"\t{new}" for left, (old, new), right in windows]
    return _write_lines(work / path.name.removesuffix(".gz"), lines)


def match_alignment_tokens(path: Path, work: Path) -> Path:
    """Tokenize as in the hand-aligned lines: Chinese unspaced, English lowercased and tokenized.

    English is the first column of the file.
    """
    pairs = [line.split("\t") for line in read_lines(path)]
    lines = [f"{zh.replace(' ', '')}\t{' '.join(_ENGLISH.findall(en.lower()))}" for en, zh in pairs]
    return _write_lines(work / f"aligned.{path.name.removesuffix('.gz')}", lines)


def concatenate(paths: Sequence[Path], out: Path) -> Path:
    """Concatenate files."""
    return _write_lines(out, [line for path in paths for line in read_lines(path)])


def tag_languages(
    paths: Mapping[str, Path], out: Path, repeats: Mapping[str, int] | None = None
) -> Path:
    """Concatenate files, appending each one's name to its sources; repeat some of them."""
    tagged: list[str] = []
    for name, path in paths.items():
        pairs = [line.split("\t") for line in read_lines(path)]
        lines = [f"{source} {name}\t{target}" for source, target in pairs]
        tagged += lines * (repeats or {}).get(name, 1)
    return _write_lines(out, tagged)


def write_pseudo_words(path: Path, count: int, out: Path, tag: str = "") -> Path:
    """Write pseudo-words of a language, each followed by a language tag if there is one."""
    words = [normalize(line.split("\t")[0], "NFD") for line in read_lines(path)]
    pseudo_words = generate_pseudo_words(words, count)
    return _write_lines(out, [f"{word} {tag}".rstrip() for word in pseudo_words])


def add_lemmas(path: Path, out: Path) -> Path:
    """Add each lemma as its own form with a unique tag, as models copy lemmas of unknown tags."""
    lines = read_lines(path)
    lemmas = dict.fromkeys(line.split("\t")[0] for line in lines)
    return _write_lines(out, lines + [f"{lemma}\t{lemma}\t?{n}" for n, lemma in enumerate(lemmas)])


def subsample(step: int, path: Path, work: Path) -> Path:
    """Write every `step`-th line."""
    return _write_lines(work / f"{path.stem}.every{step}.tsv", read_lines(path)[::step])


def first_lines(path: Path, count: int, work: Path) -> Path:
    """Write the first lines of a file."""
    return _write_lines(work / f"{path.stem}.{count}.tsv", read_lines(path)[:count])


def write_if_changed(path: Path, text: str) -> Path:
    """Write a file atomically, unless it already holds the same text."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        replace_file(path, text.encode())
    return path


def _write_lines(path: Path, lines: list[str]) -> Path:
    return write_if_changed(path, "".join(f"{line}\n" for line in lines))
