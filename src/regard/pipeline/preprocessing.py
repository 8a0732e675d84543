"""From pairs of lines to training data: a split, two vocabularies, encoded corpora in a folder.

Each line is tokenized once. A run that starts again opens the data in the folder, if they still
match its recipe.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, final

from regard import __version__
from regard.atomic_files import fingerprint_json, replace_file
from regard.choices import SubwordAlgorithm, names_of
from regard.config.settings import Settings
from regard.config.toml import to_tree
from regard.data.corpus import Corpus, write_blocks, write_corpus
from regard.data.token_indexer import TokenIndexer, make_token_indexer
from regard.errors import DataError, RegardError, unwritable
from regard.pipeline import messages
from regard.pipeline.input_pairs import InputPairs
from regard.pipeline.token_spool import TokenSpool
from regard.pipeline.train_dev_split import TrainDevSplit
from regard.pipeline.warm_start import WarmStart
from regard.text.subwords import train_subwords
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Subwords, Tagged, Tokenizer, plain_tokenizer
from regard.text.vocabulary import Vocabulary
from regard.training.plan import select_evenly_spaced

Indexers = tuple[TokenIndexer, TokenIndexer]


@final
@dataclass(frozen=True)
class PreprocessedData:
    """Training pairs as ids, validation pairs as ids and as lines."""

    source: TextProcessor
    target: TextProcessor
    corpus: Corpus
    dev_corpus: Corpus
    dev: list[tuple[str, list[str]]]
    """Each validation source with all of its targets."""

    left_out: int
    """Training pairs that were longer than the settings allow."""

    held_out: int | None = None
    """Number of sources, lemmas or groups that are held out; None with a file for validation."""

    def with_dev_sources(self, count: int) -> "PreprocessedData":
        """Return the data with so many validation sources, evenly spaced."""
        return replace(self, dev=select_evenly_spaced(self.dev, count))


def preprocess(
    folder: Path, pairs: InputPairs, settings: Settings, warm_start: WarmStart | None = None
) -> PreprocessedData:
    """Split, build vocabularies and encode into a folder; or open the data that match already."""
    recipe, metadata_path = _recipe(pairs, settings, warm_start), folder / "prepared.json"
    metadata = _read_metadata(metadata_path)
    if metadata is not None and metadata.get("recipe") == recipe:
        # damaged data is encoded anew
        with suppress(RegardError, KeyError, TypeError, ValueError, RecursionError):
            return _open_folder(folder, metadata)
    try:
        metadata_path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(metadata_path, error) from None
    return _encode(folder, pairs, settings, recipe, warm_start)


def _encode(
    folder: Path,
    pairs: InputPairs,
    settings: Settings,
    recipe: dict[str, Any],
    warm_start: WarmStart | None,
) -> PreprocessedData:
    split = TrainDevSplit(pairs, settings)
    tokenizers = _make_tokenizers(split, settings, warm_start)
    indexers = _make_indexers(tokenizers, shared=settings.text.shared_vocabulary)
    max_lengths = settings.data.max_source_length, settings.data.max_target_length
    tokens = TokenSpool(folder)
    for block in split.train():
        tokens.add(block, indexers, max_lengths)
    source, target = _make_processors(tokenizers, indexers, settings, warm_start)
    tables = indexers[0].ids(source.vocabulary), indexers[1].ids(target.vocabulary)
    corpus = write_blocks(folder / "corpus", tokens.encode(tables))
    dev_rows = ((source.encode(line), target.encode(answer)) for line, answer in split.dev())
    short_rows = (
        ids for ids in dev_rows if len(ids[0]) <= max_lengths[0] and len(ids[1]) <= max_lengths[1]
    )
    dev_corpus = write_corpus(folder / "dev", short_rows)
    dev_name = pairs.train.name if pairs.dev is None else pairs.dev.name
    for encoded, name, what in (
        (corpus, pairs.train.name, "pair"),
        (dev_corpus, dev_name, "validation pair"),
    ):
        if not len(encoded):
            raise DataError(
                name, None, messages.all_too_long(what, messages.too_long(*max_lengths))
            )
    references: dict[str, list[str]] = {}
    for line, answer in split.dev():
        references.setdefault(line, []).append(answer)
    dev = list(references.items())
    metadata = {
        "recipe": recipe,
        "source": source.to_json(),
        "target": target.to_json(),
        "dev": dev,
        "left_out": tokens.left_out,
        "held_out": split.num_held_out,
        "corpora": [corpus.fingerprint, dev_corpus.fingerprint],
    }
    # written last: if it exists, everything else is complete
    write_text(
        folder / "prepared.json", json.dumps(metadata | {"sha256": fingerprint_json(metadata)})
    )
    return PreprocessedData(
        source, target, corpus, dev_corpus, dev, tokens.left_out, split.num_held_out
    )


def _make_tokenizers(
    split: TrainDevSplit, settings: Settings, warm_start: WarmStart | None
) -> tuple[Tokenizer, Tokenizer]:
    """Return both tokenizers, trained on the training pairs or those of an older model."""
    text = settings.text
    if warm_start is not None:
        saved = warm_start.saved
        target = saved.source if text.shared_vocabulary else saved.target
        return saved.source.tokenizer, target.tokenizer
    if text.shared_vocabulary:
        both = (line for block in split.train() for pair in block.pairs() for line in pair)
        shared = _make_tokenizer(both, text.source, text.source_vocabulary_size, settings)
        return shared, shared
    sources = (line for block in split.train() for line in block.sources)
    targets = (line for block in split.train() for line in block.targets)
    return (
        _make_tokenizer(sources, text.source, text.source_vocabulary_size, settings),
        _make_tokenizer(targets, text.target, text.target_vocabulary_size, settings),
    )


def _make_tokenizer(lines: Iterable[str], kind: str, size: int, settings: Settings) -> Tokenizer:
    if kind in names_of(SubwordAlgorithm):
        return train_subwords(lines, size, cast(SubwordAlgorithm, kind), settings.train.seed)
    if kind == Tagged.kind:
        return Tagged(settings.text.tag_position, settings.text.tag_separators)
    return plain_tokenizer(kind, settings.data.normalization)


def _make_indexers(tokenizers: tuple[Tokenizer, Tokenizer], *, shared: bool) -> Indexers:
    """Return what counts tokens; with a shared vocabulary, one that counts both sides."""
    source = make_token_indexer(tokenizers[0])
    return source, source if shared else make_token_indexer(tokenizers[1])


def _make_processors(
    tokenizers: tuple[Tokenizer, Tokenizer],
    indexers: Indexers,
    settings: Settings,
    warm_start: WarmStart | None,
) -> tuple[TextProcessor, TextProcessor]:
    """Build vocabularies from the counts, after the tokens of an older model."""
    text = settings.text
    older: tuple[TextProcessor | None, TextProcessor | None] = (None, None)
    if warm_start is not None:
        older = (warm_start.saved.source, warm_start.saved.target)
    source = _make_processor(
        tokenizers[0], indexers[0], text.source_vocabulary_size, settings, older[0]
    )
    source = replace(source, case=settings.data.source_case)
    if text.shared_vocabulary:
        return source, replace(source, case="keep")
    return source, _make_processor(
        tokenizers[1], indexers[1], text.target_vocabulary_size, settings, older[1]
    )


def _make_processor(
    tokenizer: Tokenizer,
    indexer: TokenIndexer,
    size: int,
    settings: Settings,
    older: TextProcessor | None,
) -> TextProcessor:
    counts, min_count = indexer.counts(), settings.text.min_count
    if older is not None:
        vocabulary = Vocabulary.from_counts(counts, None, min_count)
        return replace(older, vocabulary=older.vocabulary.union(vocabulary))
    if isinstance(tokenizer, Subwords):
        # the model has chosen its pieces already, and spells rare words with them
        vocabulary = Vocabulary.from_counts(counts, None, 1)
    else:
        vocabulary = Vocabulary.from_counts(counts, size, min_count)
    return TextProcessor(settings.data.normalization, tokenizer, vocabulary)


def _recipe(pairs: InputPairs, settings: Settings, warm_start: WarmStart | None) -> dict[str, Any]:
    """Return everything that decides the encoded data."""
    tree = to_tree(settings)
    sections = {"data": tree["data"], "text": tree["text"]}
    recipe = pairs.fingerprints | sections | {"seed": settings.train.seed, "regard": __version__}
    recipe |= {} if warm_start is None else {"start": warm_start.fingerprint}
    # with lists for tuples, as JSON is read
    return json.loads(json.dumps(recipe))


def _open_folder(folder: Path, metadata: dict[str, Any]) -> PreprocessedData:
    corpus, dev_corpus = Corpus.open(folder / "corpus"), Corpus.open(folder / "dev")
    fingerprints = [corpus.fingerprint, dev_corpus.fingerprint]
    # prepared by an earlier version, they are not named
    if metadata.get("corpora", fingerprints) != fingerprints:
        raise ValueError("the corpora are those of another run")
    dev = [(source, list(targets)) for source, targets in metadata["dev"]]
    lines = [line for source, targets in dev for line in (source, *targets)]
    whole = all(isinstance(line, str) for line in lines) and all(targets for _, targets in dev)
    if not whole or not dev or type(metadata["left_out"]) is not int:
        raise TypeError("a validation pair is not text, or a count is not a number")
    return PreprocessedData(
        TextProcessor.from_json(metadata["source"]),
        TextProcessor.from_json(metadata["target"]),
        corpus,
        dev_corpus,
        dev,
        metadata["left_out"],
        metadata["held_out"],
    )


def _read_metadata(path: Path) -> dict[str, Any] | None:
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict):
        return None
    # prepared by an earlier version, it has no digest
    digest = metadata.pop("sha256", None)
    return metadata if digest in (None, fingerprint_json(metadata)) else None


def write_text(path: Path, text: str) -> None:
    """Write a file atomically."""
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(str(path), None, unwritable(error))
