"""Report on a file of pairs before training; refuses nothing.

One pass. For each pair, memory holds two hashes of eight bytes, two lengths and a line number.
"""

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.data import messages
from regard.data.messages import BLANK_SOURCE, BLANK_TARGET
from regard.data.pairs import Pair
from regard.data.reading_notes import ReadingNotes
from regard.data.unusual_characters import KINDS, find_unusual_characters
from regard.errors import DataError

EXAMPLES = 5
"""Examples that the report shows of each kind."""

BINS = 10

RATIO, SLACK = 3, 10
"""A pair is an outlier when one side is more than RATIO times as long as usual for the other, and
SLACK characters more: short lines may differ freely."""


@final
@dataclass(frozen=True)
class Occurrences:
    """Number of lines of one kind, and the first few of them."""

    count: int
    examples: tuple[str, ...]


@final
@dataclass(frozen=True)
class SideStatistics:
    """One side of all pairs, its lengths in characters.

    `starts` are the lower edges of the histogram's bins; the last bin ends at the maximum.
    """

    minimum: int
    quartiles: tuple[int, int, int]
    maximum: int
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    with_spaces: float
    alphabet_size: int


@final
@dataclass(frozen=True)
class Overlap:
    """How much of a validation set is in the training set."""

    dev_pairs: int
    same_pairs: int
    same_sources: int


@final
@dataclass(frozen=True)
class CorpusReport:
    """The whole report; `source` and `target` are None if no pair could be read."""

    pairs: int
    bad_lines: Occurrences
    blank_lines: int
    one_sided_lines: int
    duplicates: Occurrences
    sources: int
    sources_with_several_targets: int
    overlap: Overlap | None
    source: SideStatistics | None
    target: SideStatistics | None
    usual_ratio: float | None
    ratio_outliers: Occurrences
    unusual: dict[str, Occurrences]

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dictionaries."""
        return json.loads(json.dumps(asdict(self)))


def check(
    pairs: Iterable[Pair | DataError],
    problems: Iterable[DataError] = (),
    dev: Iterable[Pair] | None = None,
    *,
    notes: ReadingNotes | None = None,
    all_bad_lines: bool = False,
) -> CorpusReport:
    """Check every pair; errors may come among the pairs, as from `scan`, or in `problems`.

    `notes` are those of the reader, which counts blank lines.
    """
    tally = _Tally(all_bad_lines)
    for entry in chain(pairs, problems):
        if isinstance(entry, DataError):
            tally.add_problem(entry)
        else:
            tally.add(entry)
    blank_lines = 0 if notes is None else notes.blank_lines
    return tally.report(None if dev is None else _Hashes.of(dev), blank_lines)


@final
class _OccurrenceCounter:
    """Counts occurrences and keeps the first few, or all."""

    def __init__(self, limit: float = EXAMPLES) -> None:
        self.limit = limit
        self.count = 0
        self.examples: list[str] = []

    def add(self, example: str) -> None:
        self.count += 1
        if self.count <= self.limit:
            self.examples.append(example)

    def occurrences(self) -> Occurrences:
        return Occurrences(self.count, tuple(self.examples))


@final
class _Hashes:
    """Hashes of sources and pairs, to find duplicates in any number of lines."""

    def __init__(self) -> None:
        self.sources = array("Q")
        self.pairs = array("Q")

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "_Hashes":
        hashes = cls()
        for pair in pairs:
            hashes.add(pair)
        return hashes

    def add(self, pair: Pair) -> None:
        source = blake2b(_encode_text(pair.source), digest_size=8).digest()
        both = blake2b(source + _encode_text(pair.target), digest_size=8).digest()
        self.sources.append(int.from_bytes(source, "little"))
        self.pairs.append(int.from_bytes(both, "little"))

    def overlap(self, dev: "_Hashes") -> Overlap:
        return Overlap(
            dev_pairs=len(dev.pairs),
            same_pairs=int(np.isin(dev.pairs, self.pairs).sum()),
            same_sources=int(np.isin(dev.sources, self.sources).sum()),
        )


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@final
class _SideTally:
    """One side, line after line."""

    def __init__(self) -> None:
        self.lengths = array("i")
        self.spaced = 0
        self.alphabet: set[str] = set()

    def add(self, text: str) -> None:
        self.lengths.append(len(text))
        self.spaced += " " in text.strip()
        self.alphabet.update(text)

    def statistics(self) -> SideStatistics | None:
        if not self.lengths:
            return None
        lengths = np.array(self.lengths)
        minimum, *quartiles, percentile_99, maximum = np.quantile(
            lengths, [0, 0.25, 0.5, 0.75, 0.99, 1], method="inverted_cdf"
        ).tolist()
        # one very long line must not squeeze the others into one bin: the last bin is open-ended
        width = -(-(percentile_99 + 1 - minimum) // (BINS - 1))
        starts = [minimum + width * bin for bin in range(BINS)]
        counts, _ = np.histogram(lengths, [*starts, max(maximum, starts[-1]) + 1])
        return SideStatistics(
            minimum=minimum,
            quartiles=(quartiles[0], quartiles[1], quartiles[2]),
            maximum=maximum,
            starts=tuple(starts),
            counts=tuple(counts.tolist()),
            with_spaces=self.spaced / len(lengths),
            alphabet_size=len(self.alphabet),
        )


@final
class _Tally:
    """Counts over the lines so far."""

    def __init__(self, all_bad_lines: bool) -> None:
        self.bad = _OccurrenceCounter(math.inf if all_bad_lines else EXAMPLES)
        self.problems = Counter[str]()
        self.hashes = _Hashes()
        self.source, self.target = _SideTally(), _SideTally()
        self.files: dict[str, int] = {}
        self.file, self.line = array("i"), array("q")
        self.unusual = {kind: _OccurrenceCounter() for kind in KINDS}

    def add_problem(self, error: DataError) -> None:
        self.bad.add(str(error))
        if error.problem in (BLANK_SOURCE, BLANK_TARGET):
            self.problems[error.problem] += 1

    def add(self, pair: Pair) -> None:
        self.hashes.add(pair)
        self.file.append(self.files.setdefault(pair.file, len(self.files)))
        self.line.append(pair.line)
        self.source.add(pair.source)
        self.target.add(pair.target)
        # a kind counts once per line, even if it is on both sides
        kinds = dict(find_unusual_characters(pair.target)) | dict(
            find_unusual_characters(pair.source)
        )
        for kind, what in kinds.items():
            self.unusual[kind].add(f"{pair.file}, line {pair.line}: {what}")

    def report(self, dev: _Hashes | None, blank_lines: int) -> CorpusReport:
        usual, outliers = self._ratios()
        first, duplicates = self._duplicates()
        num_targets = np.unique(np.array(self.hashes.sources)[first], return_counts=True)[1]
        return CorpusReport(
            pairs=len(self.line),
            bad_lines=self.bad.occurrences(),
            blank_lines=blank_lines,
            one_sided_lines=self.problems.total(),
            duplicates=duplicates,
            sources=len(num_targets),
            sources_with_several_targets=int((num_targets > 1).sum()),
            overlap=None if dev is None else self.hashes.overlap(dev),
            source=self.source.statistics(),
            target=self.target.statistics(),
            usual_ratio=usual,
            ratio_outliers=outliers,
            unusual={kind: counter.occurrences() for kind, counter in self.unusual.items()},
        )

    def _duplicates(self) -> tuple[NDArray[np.intp], Occurrences]:
        """Return the first row of each distinct pair, and the rows that repeat one."""
        _, first, same = np.unique(self.hashes.pairs, return_index=True, return_inverse=True)
        repeated = np.flatnonzero(first[same] != np.arange(len(same)))
        examples = [
            f"{self._location(i)}: as {self._location(first[same[i]])}" for i in repeated[:EXAMPLES]
        ]
        return first, Occurrences(len(repeated), tuple(examples))

    def _ratios(self) -> tuple[float | None, Occurrences]:
        if not self.line:
            return None, Occurrences(0, ())
        source, target = np.array(self.source.lengths), np.array(self.target.lengths)
        usual = float(np.median(target / np.maximum(source, 1)))
        expected = usual * source
        far = (target > RATIO * expected + SLACK) | (expected > RATIO * target + SLACK)
        rows = np.flatnonzero(far)
        examples = [
            f"{self._location(i)}: {source[i]} characters against {target[i]}"
            for i in rows[:EXAMPLES]
        ]
        return usual, Occurrences(len(rows), tuple(examples))

    def _location(self, row: int) -> str:
        return f"{list(self.files)[self.file[row]]}, line {self.line[row]}"


def render(report: CorpusReport, reading: Sequence[str] = ()) -> str:
    """Draw the report as plain text, after the sentences of the reader."""
    lines = [
        *(f"file         {sentence}" for sentence in reading),
        f"pairs        {report.pairs:,}",
        f"sources      {report.sources:,} different, "
        f"{report.sources_with_several_targets:,} with several targets",
    ]
    if overlap := report.overlap:
        lines.append(
            f"dev          {overlap.dev_pairs:,} pairs: {overlap.same_pairs:,} are also in this "
            f"set, {overlap.same_sources:,} share a source with it"
        )
    one_sided = f" ({report.one_sided_lines:,} with one side blank)"
    lines += _format_occurrences("bad lines    ", report.bad_lines, one_sided)
    if (more := report.bad_lines.count - len(report.bad_lines.examples)) > 0:
        lines.append(f"  {messages.more_bad_lines(more)}")
    lines += _format_occurrences("duplicates   ", report.duplicates)
    for name, side in (("source", report.source), ("target", report.target)):
        if side is not None:
            lines += _format_side(name, side)
    if report.usual_ratio is not None:
        usual = f" (usually {report.usual_ratio:.2f} target characters per source character)"
        lines += _format_occurrences("outliers     ", report.ratio_outliers, usual)
    for kind, occurrences in report.unusual.items():
        if occurrences.count:
            lines += _format_occurrences(f"unusual      {KINDS[kind]}: ", occurrences)
    return "\n".join(lines) + "\n"


def _format_occurrences(name: str, occurrences: Occurrences, more: str = "") -> list[str]:
    return [
        f"{name}{occurrences.count:,}{more}",
        *(f"  {example}" for example in occurrences.examples),
    ]


def _format_side(name: str, side: SideStatistics) -> list[str]:
    quartiles = ", ".join(f"{quartile:,}" for quartile in side.quartiles)
    lines = [
        f"{name}       {side.minimum:,} to {side.maximum:,} characters, quartiles {quartiles}; "
        f"{side.alphabet_size:,} different characters; spaces in {side.with_spaces:.0%} of lines"
    ]
    ends = [*(min(start - 1, side.maximum) for start in side.starts[1:]), side.maximum]
    for start, end, count in zip(side.starts, ends, side.counts, strict=True):
        if start <= side.maximum:
            lines.append(f"{start:>9,}–{end:<9,} {_bar(count / max(side.counts)):<40} {count:,}")
    return lines


def _bar(share: float, width: int = 40) -> str:
    """Draw a share of the width in eighths of a character; a share above 0 is always visible."""
    eighths = max(int(share * width * 8 + 0.5), share > 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
