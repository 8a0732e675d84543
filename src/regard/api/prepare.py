"""From pairs of lines to what training reads: a split, two sides, encoded corpora in a folder.

Done once: a run that is started again finds it there, and sees whether it is still the right one.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, final

from regard.api.look import Look, normalized, place
from regard.api.sources import Pairs
from regard.config.settings import Settings, TextConfig
from regard.config.toml import to_tree
from regard.data.corpus import Corpus, write_corpus
from regard.errors import DataError
from regard.text.side import Side
from regard.text.subwords import train_subwords
from regard.text.tokenizers import Characters, Symbols, Tokenizer, Words
from regard.text.vocabulary import Vocabulary

PLAIN: dict[str, type[Tokenizer]] = {"characters": Characters, "words": Words, "symbols": Symbols}
Lines = Callable[[], Iterator[tuple[str, str]]]


@final
@dataclass(frozen=True)
class Prepared:
    """What a run reads: training pairs as ids, validation pairs as ids and as lines."""

    source: Side
    target: Side
    corpus: Corpus
    dev_corpus: Corpus
    dev: list[tuple[str, list[str]]]
    """Each validation source with all of its targets."""

    left_out: int
    """Training pairs that were longer than the settings allow."""


def prepare(
    folder: Path, pairs: Pairs, dev: Pairs | None, look: Look, settings: Settings
) -> Prepared:
    """Split, learn vocabularies and encode into a folder; or open what was made there before."""
    recipe = _recipe(look, dev, settings)
    note = folder / "prepared.json"
    if (found := _read(note)) is not None and found["recipe"] == recipe:
        return _opened(folder, found)
    note.unlink(missing_ok=True)
    form = settings.data.normalization
    border = 0 if dev else look.border(settings.data.dev_share, settings.data.max_dev)

    def trained() -> Iterator[tuple[str, str]]:
        return (pair for pair in normalized(pairs, form) if place(pair[0]) >= border)

    def held() -> Iterator[tuple[str, str]]:
        lines = normalized(dev if dev is not None else pairs, form)
        return (pair for pair in lines if dev is not None or place(pair[0]) < border)

    source, target = _sides(trained, settings)
    rows = _Fitting(source, target, settings)
    corpus = write_corpus(folder / "corpus", rows.encoded(trained()))
    if not len(corpus):
        raise DataError(
            pairs.name,
            None,
            f"every pair is longer than data.max_source_length = {settings.data.max_source_length}"
            f" or data.max_target_length = {settings.data.max_target_length}; larger ones would do",
        )
    references: dict[str, list[str]] = {}
    for line, answer in held():
        references.setdefault(line, []).append(answer)
    write_corpus(folder / "dev", _Fitting(source, target, settings).encoded(held()))
    found = {
        "recipe": recipe,
        "source": source.to_json(),
        "target": target.to_json(),
        "dev": list(references.items()),
        "left_out": rows.left_out,
    }
    _write(note, found)
    return _opened(folder, found)


def _recipe(look: Look, dev: Pairs | None, settings: Settings) -> dict[str, Any]:
    """Return all that decides what is made here."""
    tree = to_tree(settings)
    held_out = Look(dev, settings.data.normalization).fingerprint if dev is not None else None
    seed = settings.train.seed
    recipe = {
        "pairs": look.fingerprint,
        "dev": held_out,
        "data": tree["data"],
        "text": tree["text"],
    }
    return json.loads(json.dumps(recipe | {"seed": seed}))


def _opened(folder: Path, found: dict[str, Any]) -> Prepared:
    return Prepared(
        Side.from_json(found["source"]),
        Side.from_json(found["target"]),
        Corpus.open(folder / "corpus"),
        Corpus.open(folder / "dev"),
        [(source, list(targets)) for source, targets in found["dev"]],
        found["left_out"],
    )


def _sides(lines: Lines, settings: Settings) -> tuple[Side, Side]:
    """Learn tokenizers and vocabularies from the training pairs alone."""
    text, form, seed = settings.text, settings.data.normalization, settings.train.seed
    sources = _Again(lines, lambda pair: [pair[0]])
    targets = _Again(lines, lambda pair: [pair[1]])
    if text.shared:
        both = _Again(lines, list)
        return (shared := _side(both, text.source, text.source_size, form, seed)), shared
    return (
        _side(sources, text.source, text.source_size, form, seed),
        _side(targets, text.target, text.target_size, form, seed),
    )


@final
@dataclass(frozen=True)
class _Again:
    """Lines of pairs, which can be read more than once."""

    lines: Lines
    of: Callable[[tuple[str, str]], list[str]]

    def __iter__(self) -> Iterator[str]:
        return (line for pair in self.lines() for line in self.of(pair))


def _side(lines: Iterable[str], kind: str, size: int, form: str, seed: int) -> Side:
    if kind in PLAIN:
        tokenizer, most = PLAIN[kind](), size
    else:
        subword = cast(Literal["unigram", "bpe"], kind)
        tokenizer, most = train_subwords(lines, size, subword, seed), None
    return Side(form, tokenizer, Vocabulary.build(map(tokenizer.split, lines), most))


def check_shared(text: TextConfig) -> list[str]:
    """Say why one vocabulary for both sides cannot be, if it cannot."""
    if text.shared and text.source != text.target:
        return [
            f"shared = true, but source = {text.source} and target = {text.target} cut lines "
            f"differently; target = {text.source} would do"
        ]
    return []


@final
class _Fitting:
    """Pairs as ids, and how many were too long."""

    def __init__(self, source: Side, target: Side, settings: Settings) -> None:
        self.source, self.target = source, target
        self.most = settings.data.max_source_length, settings.data.max_target_length
        self.left_out = 0

    def encoded(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[list[int], list[int]]]:
        for source, target in pairs:
            ids = self.source.ids(source), self.target.ids(target)
            if len(ids[0]) > self.most[0] or len(ids[1]) > self.most[1]:
                self.left_out += 1
            else:
                yield ids


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write(path: Path, found: dict[str, Any]) -> None:
    """Write in one move: half a note would be no note."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with open(unfinished, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(found, file, ensure_ascii=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        problem = f"it cannot be written ({error.strerror}); a folder with room would do"
        raise DataError(str(path), None, problem) from None
