"""Report on a file of pairs before training; refuses nothing.

One pass. Memory holds two hashes of eight bytes for each pair, its lengths and its line number,
however long the lines.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.data.messages import BLANK, BLANK_SOURCE, BLANK_TARGET
from regard.data.pairs import Pair
from regard.data.unusual_characters import KINDS, unusual_characters_in
from regard.errors import DataError

EXAMPLES = 5
"""How many examples of each kind are shown."""

BINS = 10

RATIO, SLACK = 3, 10
"""A pair is an outlier when one side is more than RATIO times as long as usual for the other, and
SLACK characters more: short lines may differ freely."""


@final
@dataclass(frozen=True)
class ReportEntry:
    """Number of lines of one kind, and the first few of them."""

    count: int
    examples: tuple[str, ...]


@final
@dataclass(frozen=True)
class SideStatistics:
    """One side of all pairs, its lengths in characters.

    `starts` are where the bins of the histogram begin; the last goes on to the maximum.
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
    """How much of a validation set was in the training set."""

    dev_pairs: int
    same_pairs: int
    same_sources: int


@final
@dataclass(frozen=True)
class CorpusReport:
    """The whole report; `source` and `target` are None if no pair could be read."""

    pairs: int
    bad_lines: ReportEntry
    blank_lines: int
    one_sided_lines: int
    duplicates: ReportEntry
    sources: int
    sources_with_several_targets: int
    overlap: Overlap | None
    source: SideStatistics | None
    target: SideStatistics | None
    usual_ratio: float | None
    ratio_outliers: ReportEntry
    unusual: dict[str, ReportEntry]

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dictionaries."""
        return json.loads(json.dumps(asdict(self)))


def check(
    pairs: Iterable[Pair | DataError],
    problems: Iterable[DataError] = (),
    dev: Iterable[Pair] | None = None,
) -> CorpusReport:
    """Check every pair once; errors come among the pairs, as from `scan`, or in `problems`."""
    tally = _Tally()
    for entry in chain(pairs, problems):
        if isinstance(entry, DataError):
            tally.add_problem(entry)
        else:
            tally.add(entry)
    return tally.report(None if dev is None else _Hashes.of(dev))


@final
class _Examples:
    """A count and the first few."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, example: str) -> None:
        self.count += 1
        if self.count <= EXAMPLES:
            self.first.append(example)

    def entry(self) -> ReportEntry:
        return ReportEntry(self.count, tuple(self.first))


@final
class _Hashes:
    """Hashes of sources and pairs, to find the same ones in any number of lines."""

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
        source = blake2b(_bytes(pair.source), digest_size=8).digest()
        both = blake2b(source + _bytes(pair.target), digest_size=8).digest()
        self.sources.append(int.from_bytes(source, "little"))
        self.pairs.append(int.from_bytes(both, "little"))

    def overlap(self, dev: "_Hashes") -> Overlap:
        return Overlap(
            dev_pairs=len(dev.pairs),
            same_pairs=int(np.isin(dev.pairs, self.pairs).sum()),
            same_sources=int(np.isin(dev.sources, self.sources).sum()),
        )


def _bytes(text: str) -> bytes:
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

    def side(self) -> SideStatistics | None:
        if not self.lengths:
            return None
        lengths = np.array(self.lengths)
        minimum, *quartiles, most, maximum = np.quantile(
            lengths, [0, 0.25, 0.5, 0.75, 0.99, 1], method="inverted_cdf"
        ).tolist()
        # one very long line must not squeeze the others into one bin: the last bin is open-ended
        width = -(-(most + 1 - minimum) // (BINS - 1))
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

    def __init__(self) -> None:
        self.bad, self.problems = _Examples(), Counter[str]()
        self.hashes = _Hashes()
        self.source, self.target = _SideTally(), _SideTally()
        self.files: dict[str, int] = {}
        self.file, self.line = array("i"), array("q")
        self.unusual = {kind: _Examples() for kind in KINDS}

    def add_problem(self, error: DataError) -> None:
        self.bad.add(str(error))
        if error.problem in (BLANK, BLANK_SOURCE, BLANK_TARGET):
            self.problems[error.problem] += 1

    def add(self, pair: Pair) -> None:
        self.hashes.add(pair)
        self.file.append(self.files.setdefault(pair.file, len(self.files)))
        self.line.append(pair.line)
        self.source.add(pair.source)
        self.target.add(pair.target)
        # a line counts once for each kind, whichever side it is on
        kinds = dict(unusual_characters_in(pair.target)) | dict(unusual_characters_in(pair.source))
        for kind, what in kinds.items():
            self.unusual[kind].add(f"{pair.file}, line {pair.line}: {what}")

    def report(self, dev: _Hashes | None) -> CorpusReport:
        usual, outliers = self._ratios()
        first, duplicates = self._duplicates()
        num_targets = np.unique(np.array(self.hashes.sources)[first], return_counts=True)[1]
        return CorpusReport(
            pairs=len(self.line),
            bad_lines=self.bad.entry(),
            blank_lines=self.problems[BLANK],
            one_sided_lines=self.problems[BLANK_SOURCE] + self.problems[BLANK_TARGET],
            duplicates=duplicates,
            sources=len(num_targets),
            sources_with_several_targets=int((num_targets > 1).sum()),
            overlap=None if dev is None else self.hashes.overlap(dev),
            source=self.source.side(),
            target=self.target.side(),
            usual_ratio=usual,
            ratio_outliers=outliers,
            unusual={kind: examples.entry() for kind, examples in self.unusual.items()},
        )

    def _duplicates(self) -> tuple[NDArray[np.intp], ReportEntry]:
        """Return the row of each different pair, and the rows that repeat one."""
        _, first, same = np.unique(self.hashes.pairs, return_index=True, return_inverse=True)
        repeated = np.flatnonzero(first[same] != np.arange(len(same)))
        examples = [
            f"{self._place(i)}: as {self._place(first[same[i]])}" for i in repeated[:EXAMPLES]
        ]
        return first, ReportEntry(len(repeated), tuple(examples))

    def _ratios(self) -> tuple[float | None, ReportEntry]:
        if not self.line:
            return None, ReportEntry(0, ())
        source, target = np.array(self.source.lengths), np.array(self.target.lengths)
        usual = float(np.median(target / np.maximum(source, 1)))
        expected = usual * source
        far = (target > RATIO * expected + SLACK) | (expected > RATIO * target + SLACK)
        rows = np.flatnonzero(far)
        examples = [
            f"{self._place(i)}: {source[i]} characters against {target[i]}" for i in rows[:EXAMPLES]
        ]
        return usual, ReportEntry(len(rows), tuple(examples))

    def _place(self, row: int) -> str:
        return f"{list(self.files)[self.file[row]]}, line {self.line[row]}"


def render(report: CorpusReport) -> str:
    """Draw the report as plain text."""
    rows = [
        f"pairs        {report.pairs:,}",
        f"sources      {report.sources:,} different, "
        f"{report.sources_with_several_targets:,} with several targets",
    ]
    if overlap := report.overlap:
        rows.append(
            f"dev          {overlap.dev_pairs:,} pairs: {overlap.same_pairs:,} are among these, "
            f"{overlap.same_sources:,} have a source that is"
        )
    blank = f" ({report.blank_lines:,} blank, {report.one_sided_lines:,} with one side blank)"
    rows += _rendered("bad lines    ", report.bad_lines, blank)
    rows += _rendered("duplicates   ", report.duplicates)
    for name, side in (("source", report.source), ("target", report.target)):
        if side is not None:
            rows += _histogram(name, side)
    if report.usual_ratio is not None:
        usual = f" (usually {report.usual_ratio:.2f} target characters per source character)"
        rows += _rendered("outliers     ", report.ratio_outliers, usual)
    for kind, entry in report.unusual.items():
        if entry.count:
            rows += _rendered(f"unusual      {KINDS[kind]}: ", entry)
    return "\n".join(rows) + "\n"


def _rendered(name: str, entry: ReportEntry, more: str = "") -> list[str]:
    return [f"{name}{entry.count:,}{more}", *(f"  {example}" for example in entry.examples)]


def _histogram(name: str, side: SideStatistics) -> list[str]:
    quartiles = ", ".join(f"{quartile:,}" for quartile in side.quartiles)
    rows = [
        f"{name}       {side.minimum:,} to {side.maximum:,} characters, quartiles {quartiles}; "
        f"{side.alphabet_size:,} different characters; spaces in {side.with_spaces:.0%} of lines"
    ]
    ends = [*(min(start - 1, side.maximum) for start in side.starts[1:]), side.maximum]
    for start, end, count in zip(side.starts, ends, side.counts, strict=True):
        if start <= side.maximum:
            rows.append(f"{start:>9,}–{end:<9,} {_bar(count / max(side.counts)):<40} {count:,}")
    return rows


def _bar(share: float, width: int = 40) -> str:
    """Draw a share of the width in eighths of a character; a share above 0 is never invisible."""
    eighths = max(int(share * width * 8 + 0.5), share > 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
