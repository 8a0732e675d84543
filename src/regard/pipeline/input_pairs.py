"""Reads the pairs of a request, once: into a profile and a spool."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from regard.config.settings import DataConfig
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

    @property
    def name(self) -> str:
        """Name of the pairs in messages."""
        return self.spool.name


class InputPairs(NamedTuple):
    """Training pairs and validation pairs; without the latter, some training pairs are held out."""

    train: ReadPairs
    dev: ReadPairs | None

    @property
    def profile(self) -> CorpusProfile:
        """The profile that automatic settings depend on."""
        return self.train.profile

    @property
    def fingerprints(self) -> dict[str, str | None]:
        """Fingerprints of the training pairs and of the validation pairs."""
        dev = None if self.dev is None else self.dev.profile.fingerprint
        return {"pairs": self.profile.fingerprint, "dev": dev}


def read_input_pairs(
    request: TrainRequest, start_normalization: str | None, log: Callable[[str], None]
) -> InputPairs:
    """Read all pairs of a request, before anything is written to its folder.

    `start_normalization` is the Unicode form of the model that training starts from.
    """
    section = request.settings.get("data")
    form = section.get("normalization") if isinstance(section, dict) else None
    # an unknown form is refused with all other wrong settings
    form = form if form in FORMS else DataConfig().normalization
    # pairs that will be encoded in another form are spooled unchanged
    spool_form = form if start_normalization in (None, form) else "none"
    skipped: list[DataError] = []
    skip = skipped.append if request.skip_bad_lines else None
    folder = None if request.out is None else _existing_folder(request.out)
    train, dev = read_pairs(request.pairs, form, spool_form, skip=skip, folder=folder), None
    if request.dev is not None:
        columns = request.pairs.columns if is_file(request.dev) else None
        source = PairsSource(request.dev, columns=columns, label="dev")
        dev = read_pairs(source, form, spool_form, skip=skip, folder=folder)
    for error in skipped[:MAX_LOGGED_BAD_LINES]:
        log(f"skipped: {error}")
    if skipped:
        log(f"skipped {len(skipped):,} bad line{'s' * (len(skipped) != 1)}")
    pairs = InputPairs(train, dev)
    _check_number_of_pairs(pairs)
    return pairs


def read_pairs(
    source: PairsSource,
    normalization: str,
    spool_normalization: str | None = None,
    *,
    skip: BadLine | None = None,
    folder: Path | None = None,
) -> ReadPairs:
    """Read pairs once; a bad line raises an error, or is passed to `skip`."""
    spool_normalization = spool_normalization or normalization
    spool = PairSpool(source.name, spool_normalization, folder)
    profile = CorpusProfile(normalization)
    for block in source.scan_blocks():
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
    return ReadPairs(spool, profile)


def _existing_folder(out: Path) -> Path:
    """Return the folder that a model file will be in, or the nearest above it that exists."""
    return next(folder for folder in out.absolute().parents if folder.is_dir())


def _check_number_of_pairs(pairs: InputPairs) -> None:
    train, dev = pairs
    if dev is not None and not dev.profile.pairs:
        raise DataError(dev.name, None, messages.EMPTY_DEV)
    if problem := too_few(train.profile, dev=dev is not None):
        raise DataError(train.name, None, problem)
