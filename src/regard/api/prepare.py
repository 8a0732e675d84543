"""From pairs of lines to what training reads: a split, two sides, encoded corpora in a folder.

Done once: a run that is started again finds it there, and sees whether it is still the right one.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast, final, get_args

from regard import __version__
from regard.api.look import Look, normalized, place
from regard.api.sources import Pairs
from regard.api.start import Start
from regard.atomic_files import replace_file
from regard.choices import SubwordName
from regard.config.settings import Settings
from regard.config.toml import to_tree
from regard.data.corpus import Corpus, write_corpus
from regard.errors import DataError, unwritable
from regard.text.side import Side
from regard.text.subwords import train_subwords
from regard.text.tokenizers import Tokenizer, plain_tokenizer
from regard.text.vocabulary import Vocabulary

Lines = Callable[[], Iterator[tuple[str, str]]]


class Material(NamedTuple):
    """What was given to learn from and to validate on, read once; dev None where it is split."""

    pairs: Pairs
    look: Look
    dev: Pairs | None
    dev_look: Look | None

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """Which pairs these are."""
        dev = None if self.dev_look is None else self.dev_look.fingerprint
        return {"pairs": self.look.fingerprint, "dev": dev}


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
    folder: Path, given: Material, settings: Settings, start: Start | None = None
) -> Prepared:
    """Split, learn vocabularies and encode into a folder; or open what was made there before."""
    recipe, note = _recipe(given, settings, start), folder / "prepared.json"
    found = _read(note)
    if found is not None and found.get("recipe") == recipe:
        # what is damaged is made anew
        with suppress(DataError, KeyError, TypeError, ValueError):
            return _opened(folder, found)
    try:
        note.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(note, error) from None
    sides = None if start is None else (start.saved.source, start.saved.target)
    return _made(folder, given, settings, recipe, sides)


def _made(
    folder: Path,
    given: Material,
    settings: Settings,
    recipe: dict[str, Any],
    began: tuple[Side, Side] | None,
) -> Prepared:
    trained, held = _split(given, settings)
    source, target = _sides(trained, settings, began)
    rows, held_rows = (_Fitting(source, target, settings) for _ in range(2))
    corpus = write_corpus(folder / "corpus", rows.encoded(trained()))
    dev_corpus = write_corpus(folder / "dev", held_rows.encoded(held()))
    held_out = given.pairs if given.dev is None else given.dev
    for made, name, what in (
        (corpus, given.pairs.name, "every pair"),
        (dev_corpus, held_out.name, "every pair to validate on"),
    ):
        if not len(made):
            raise DataError(name, None, f"{what} is {too_long(settings)}; larger ones would do")
    references: dict[str, list[str]] = {}
    for line, answer in held():
        references.setdefault(line, []).append(answer)
    found = {
        "recipe": recipe,
        "source": source.to_json(),
        "target": target.to_json(),
        "dev": list(references.items()),
        "left_out": rows.left_out,
    }
    # last: where there is a note, all that it tells of is there
    write_text(folder / "prepared.json", json.dumps(found))
    return _opened(folder, found)


def _split(given: Material, settings: Settings) -> tuple[Lines, Lines]:
    """Return the pairs to learn from and those to validate on, each to be read many times."""
    pairs, dev, data = given.pairs, given.dev, settings.data
    border = 0 if dev is not None else given.look.border(data.dev_fraction, data.max_dev_sources)
    form = data.normalization

    def trained() -> Iterator[tuple[str, str]]:
        return (pair for pair in normalized(pairs, form) if place(pair[0]) >= border)

    def held() -> Iterator[tuple[str, str]]:
        if dev is not None:
            return normalized(dev, form)
        return (pair for pair in normalized(pairs, form) if place(pair[0]) < border)

    return trained, held


def too_long(settings: Settings) -> str:
    """Say what pairs that are left out are."""
    data = settings.data
    return (
        f"longer than data.max_source_length = {data.max_source_length} or "
        f"data.max_target_length = {data.max_target_length}"
    )


def _recipe(given: Material, settings: Settings, start: Start | None) -> dict[str, Any]:
    """Return all that decides what is made here."""
    tree = to_tree(settings)
    sections = {"data": tree["data"], "text": tree["text"]}
    recipe = given.fingerprints | sections | {"seed": settings.train.seed, "regard": __version__}
    recipe |= {} if start is None else {"start": start.fingerprint}
    # as it is read back
    return json.loads(json.dumps(recipe))


def _opened(folder: Path, found: dict[str, Any]) -> Prepared:
    return Prepared(
        Side.from_json(found["source"]),
        Side.from_json(found["target"]),
        Corpus.open(folder / "corpus"),
        Corpus.open(folder / "dev"),
        [(source, list(targets)) for source, targets in found["dev"]],
        found["left_out"],
    )


def _sides(lines: Lines, settings: Settings, began: tuple[Side, Side] | None) -> tuple[Side, Side]:
    """Learn tokenizers and vocabularies from the training pairs alone, or add to older ones."""
    text = settings.text
    older = began or (None, None)
    sources = _Again(lines, lambda pair: [pair[0]])
    targets = _Again(lines, lambda pair: [pair[1]])
    if text.shared_vocabulary:
        both = _Again(lines, list)
        return (
            shared := _side(both, text.source, text.source_vocabulary_size, settings, older[0])
        ), shared
    return (
        _side(sources, text.source, text.source_vocabulary_size, settings, older[0]),
        _side(targets, text.target, text.target_vocabulary_size, settings, older[1]),
    )


@final
@dataclass(frozen=True)
class _Again:
    """Lines of pairs, which can be read more than once."""

    lines: Lines
    of: Callable[[tuple[str, str]], list[str]]

    def __iter__(self) -> Iterator[str]:
        return (line for pair in self.lines() for line in self.of(pair))


def _side(
    lines: Iterable[str], kind: str, size: int, settings: Settings, older: Side | None
) -> Side:
    form, seed = settings.data.normalization, settings.train.seed
    bounds: tuple[int | None, int]
    if older is not None:
        found = Vocabulary.build(map(older.tokenizer.split, lines), None, settings.text.min_count)
        return replace(older, vocabulary=older.vocabulary.extended(found))
    tokenizer: Tokenizer
    if kind in get_args(SubwordName):
        # pieces were counted as they were learned, and spell whatever is rare
        tokenizer, bounds = train_subwords(lines, size, cast(SubwordName, kind), seed), (None, 1)
    else:
        tokenizer, bounds = plain_tokenizer(kind, form), (size, settings.text.min_count)
    return Side(form, tokenizer, Vocabulary.build(map(tokenizer.split, lines), *bounds))


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
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_text(path: Path, text: str) -> None:
    """Write in one move: half a file would be none."""
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(str(path), None, unwritable(error))
