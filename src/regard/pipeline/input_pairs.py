"""Reads the pairs of a request, once: into a profile and a spool."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.files import FileConfig
from regard.config.settings import DataConfig
from regard.config.toml import Tree, merge_trees
from regard.data.reading_notes import ReadingNotes
from regard.errors import DataError
from regard.pipeline import messages
from regard.pipeline.corpus_profile import (
    CorpusProfile,
    normalize_block,
    split_hashes,
    too_few,
)
from regard.pipeline.pair_spool import PairSpool
from regard.pipeline.pairs_source import PairsSource, is_file
from regard.pipeline.request import TrainRequest
from regard.text.normalization import FORMS

MAX_LOGGED_BAD_LINES = 5

BadLine = Callable[[DataError], None]


class ReadPairs(NamedTuple):
    """Pairs and their statistics."""

    spool: PairSpool
    profile: CorpusProfile
    notes: ReadingNotes
    """What was found in the file and changed."""

    @property
    def name(self) -> str:
        """Name of the pairs in messages."""
        return self.spool.name


class InputPairs(NamedTuple):
    """Training pairs and validation pairs; without the latter, some training pairs are held out."""

    train: ReadPairs
    dev: ReadPairs | None
    trim: bool = False
    """Whether white space at the edges was removed."""

    skipped: tuple[DataError, ...] = ()
    """Bad lines that were skipped."""

    @property
    def profile(self) -> CorpusProfile:
        """The profile that automatic settings depend on."""
        return self.train.profile

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """Fingerprints of the training pairs and of the validation pairs."""
        dev = None if self.dev is None else self.dev.profile.fingerprint
        return {"pairs": self.profile.fingerprint, "dev": dev}

    def complete_settings(self, explicit: Tree) -> Tree:
        """Add how the training pairs were read, so that other files can be read like them."""
        layout = self.train.notes.layout
        tree = merge_trees({"data": {"trim": self.trim}}, explicit)
        if layout is None or not (file := layout.settings()):
            return tree
        return merge_trees(tree, {"data": {"file": file}})


def read_input_pairs(
    request: TrainRequest,
    start_normalization: str | None,
    log: Callable[[str], None],
    old_recipe: Tree | None = None,
) -> InputPairs:
    """Read all pairs of a request, before anything is written to its folder.

    `start_normalization` is the Unicode form of the model that training starts from; `old_recipe`
    is that of the run to resume, which began with or without `data.trim`.
    """
    section = request.settings.get("data")
    section = section if isinstance(section, dict) else {}
    form = section.get("normalization")
    # an unknown form is refused with all other wrong settings
    form = form if form in FORMS else DataConfig().normalization
    # pairs that will be encoded in another form are spooled unchanged
    spool_form = form if start_normalization in (None, form) else "none"
    # lines of a list are as the program made them
    is_list = request.pairs.pairs is not None and not is_file(request.pairs.pairs)
    file, trim = _file_config(section.get("file")), section.get("trim", not is_list) is True
    if old_recipe is not None and "trim" not in section:
        trim = old_recipe["settings"]["data"].get("trim", False) is True
    skipped: list[DataError] = []
    skip = skipped.append if request.skip_bad_lines else None
    folder = None if request.out is None else _existing_folder(request.out)
    options: dict[str, Any] = {"trim": trim, "skip": skip, "folder": folder}
    train_source = replace(request.pairs, file=file)
    train, dev = read_pairs(train_source, form, spool_form, **options), None
    if request.dev is not None:
        source = PairsSource(request.dev, label="dev")
        if is_file(request.dev):
            columns = request.pairs.columns or (train_source.layout.columns or None)
            source = replace(source, columns=columns, file=replace(file, group_by=""))
        dev = read_pairs(source, form, spool_form, **options)
    for read in (train, dev):
        for sentence in () if read is None else read.notes.sentences():
            log(sentence)
    for error in skipped[:MAX_LOGGED_BAD_LINES]:
        log(f"skipped: {error}")
    if skipped:
        log(f"skipped {len(skipped):,} bad line{'s' * (len(skipped) != 1)}")
    pairs = InputPairs(train, dev, trim, tuple(skipped))
    _check_number_of_pairs(pairs)
    return pairs


def _file_config(section: Any) -> FileConfig:
    """Return the settings of `[data.file]`; unknown ones are refused with all other settings."""
    known = {field.name for field in fields(FileConfig)}
    section = section if isinstance(section, dict) else {}
    return FileConfig(**{name: value for name, value in section.items() if name in known})


def read_pairs(
    source: PairsSource,
    normalization: str,
    spool_normalization: str | None = None,
    *,
    trim: bool = False,
    skip: BadLine | None = None,
    folder: Path | None = None,
) -> ReadPairs:
    """Read pairs once; a bad line raises an error, or is passed to `skip`."""
    spool_normalization = spool_normalization or normalization
    spool = PairSpool(source.name, spool_normalization, folder)
    profile = CorpusProfile(normalization)
    notes = ReadingNotes(source.name)
    for block in source.scan_blocks(trim=trim, notes=notes):
        if isinstance(block, DataError):
            if skip is None or block.ends_reading:
                raise block
            skip(block)
            continue
        normalized = normalize_block(block, normalization)
        hashes = profile.add(normalized)
        if spool_normalization == normalization:
            spool.add(normalized, hashes)
        else:
            spool.add(block, split_hashes(block))
    return ReadPairs(spool, profile, notes)


def _existing_folder(out: Path) -> Path:
    """Return the folder that a model file will be in, or the nearest above it that exists."""
    return next(folder for folder in out.absolute().parents if folder.is_dir())


def _check_number_of_pairs(pairs: InputPairs) -> None:
    train, dev = pairs.train, pairs.dev
    if dev is not None and not dev.profile.pairs:
        raise DataError(dev.name, None, messages.EMPTY_DEV)
    if problem := too_few(train.profile, dev=dev is not None):
        raise DataError(train.name, None, problem)
