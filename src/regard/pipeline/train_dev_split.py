"""The training pairs and those held out for validation: together by source, lemma or group."""

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from regard.config.settings import Settings
from regard.data.pair_blocks import PairBlock
from regard.errors import DataError
from regard.pipeline import messages
from regard.pipeline.input_pairs import InputPairs
from regard.pipeline.near_duplicates import near_duplicate_keys
from regard.pipeline.pair_spool import SpooledBlock
from regard.pipeline.split import Hashes, SmallestHashes, source_hashes
from regard.pipeline.tag_profile import split_tags
from regard.text.letter_case import change_case


@final
class TrainDevSplit:
    """Training and validation pairs; both can be read several times."""

    def __init__(self, pairs: InputPairs, settings: Settings) -> None:
        data = settings.data
        self.pairs = pairs
        self.form = data.normalization
        self.case = data.source_case
        self.rule = data.split_by
        self.tag_position = settings.text.tag_position
        self.threshold = 0
        self.num_held_out: int | None = None
        if pairs.dev is None:
            self.threshold = self._threshold(data.dev_fraction, data.max_dev_sources)
        self._dev: list[tuple[str, str]] = []

    def train(self) -> Iterator[PairBlock]:
        """Read the training pairs, and remember those that are held out."""
        self._dev = []
        held_out_hashes: set[int] = set()
        for block in self.pairs.train.spool.blocks(self.form):
            hashes = self._hashes(block)
            train, held_out = block.split(self.threshold, hashes)
            self._dev += held_out.pairs()
            held_out_hashes.update(hashes[hashes < np.uint64(self.threshold)].tolist())
            yield train._replace(sources=_change_case(train.sources, self.case, self.form))
        if self.pairs.dev is None:
            self.num_held_out = len(held_out_hashes)

    def dev(self) -> Iterator[tuple[str, str]]:
        """Read the validation pairs, after the training pairs were read."""
        if self.pairs.dev is None:
            yield from self._dev
            return
        for block in self.pairs.dev.spool.blocks(self.form):
            yield from block.pairs.pairs()

    def _threshold(self, fraction: float, max_sources: int) -> int:
        """Return the hash below which pairs are held out."""
        name, profile = self.pairs.train.name, self.pairs.profile
        if self.rule == "group" and not profile.has_groups:
            raise DataError(name, None, messages.NO_GROUPS)
        if self.rule == "source" and not profile.has_groups:
            return profile.dev_threshold(fraction, max_sources)
        keys, sources = SmallestHashes(), SmallestHashes()
        for block in self.pairs.train.spool.blocks(self.form):
            keys.add(self._hashes(block))
            sources.add(source_hashes(block.pairs.sources))
        if keys.num_different < 2:
            raise DataError(name, None, messages.nothing_to_split(self.rule))
        # a lemma has several sources
        most = max(1, max_sources * keys.num_different // sources.num_different)
        return keys.threshold(fraction, most)

    def _hashes(self, block: SpooledBlock) -> Hashes:
        """Return a hash of what each pair is held out by."""
        sources = block.pairs.sources
        match self.rule:
            case "lemma":
                return source_hashes(split_tags(line, self.tag_position)[0] for line in sources)
            case "near_duplicates":
                return source_hashes(near_duplicate_keys(sources))
            case "source" if block.pairs.groups:
                return source_hashes(sources)
            case _:
                return block.hashes


def _change_case(lines: Sequence[str], case: str, form: str) -> Sequence[str]:
    # a line end composes with no letter: lines may be changed together
    return lines if case == "keep" else change_case("\n".join(lines), case, form).split("\n")
