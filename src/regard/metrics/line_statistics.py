"""What each line contributes to a corpus score: a row of numbers, and the formula for the sums.

No score is an average over lines: rows are summed over the corpus, or over a sample of its lines,
and the formula is applied once.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from reprlib import repr as shortened
from typing import Any

from regard import __version__
from regard.errors import InputError
from regard.metrics import messages

VERSION = f"regard-{__version__}"

Outputs = Sequence[str]
References = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Statistics:
    """A row per line, the formula for their sums, and the signature of the metric."""

    rows: Sequence[Sequence[float]]
    formula: Callable[[Sequence[float]], float]
    signature: str

    def value(self) -> float:
        """Apply the formula to the whole corpus."""
        # from left to right, as sacrebleu adds: another order changes the last digit
        return self.formula([reduce(add, column) for column in zip(*self.rows, strict=True)])


def check(outputs: Outputs, references: References, what: str = "outputs") -> None:
    """Check that each output has a list of at least one reference."""
    if len(outputs) != len(references):
        raise InputError(messages.wrong_line_count(what, len(outputs), len(references)))
    if not outputs:
        raise InputError(messages.no_lines(what))
    for number, texts in enumerate(references, 1):
        if isinstance(texts, str):
            raise InputError(messages.references_not_a_list(number, shortened(texts)))
        if not texts:
            raise InputError(messages.no_references(number))


def sacrebleu_statistics(metric: Any, outputs: Outputs, references: References) -> Statistics:
    """Return the statistics of a sacrebleu metric; the score equals that of its command line."""
    rows = metric._extract_corpus_statistics(list(outputs), reference_streams(references))

    def formula(sums: Sequence[float]) -> float:
        return float(metric._compute_score_from_stats(sums).score)

    name = metric._compute_score_from_stats(rows[0]).name
    return Statistics(rows, formula, f"{name}|{metric.get_signature()}")


def reference_streams(references: References) -> list[list[str | None]]:
    """Transpose lists of references: the first of every line, the second of every line, …

    A line that has no such reference gets None, which sacrebleu leaves out; '' would count as a
    reference of length 0 and change BLEU and TER.
    """
    return [
        [texts[index] if index < len(texts) else None for texts in references]
        for index in range(max(map(len, references)))
    ]


def match_statistics(name: str, outputs: Outputs, references: References) -> Statistics:
    """Count the lines that equal any of their references, and the lines."""
    pairs = zip(outputs, references, strict=True)
    rows = [(int(output in texts), 1) for output, texts in pairs]
    signature = f"{name}|nrefs:{_count(references)}|refs:any|version:{VERSION}"
    return Statistics(rows, rate, signature)


def mismatch_statistics(name: str, outputs: Outputs, references: References) -> Statistics:
    """Count the lines that equal none of their references, and the lines: each line is a word."""
    pairs = zip(outputs, references, strict=True)
    rows = [(int(output not in texts), 1) for output, texts in pairs]
    signature = f"{name}|nrefs:{_count(references)}|refs:any|unit:line|version:{VERSION}"
    return Statistics(rows, rate, signature)


def distance_statistics(name: str, outputs: Outputs, references: References) -> Statistics:
    """Count the edits of characters to the best reference of each line, and the lines."""
    edits = edit_statistics(name, "character", outputs, references)
    signature = edits.signature.replace("|unit:character|", "|unit:character|mean:lines|")
    return Statistics([(row[0], 1) for row in edits.rows], mean, signature)


def edit_statistics(name: str, unit: str, outputs: Outputs, references: References) -> Statistics:
    """Count the edits to the best reference of each line, and the units in it.

    The best has the fewest edits; among equals it is the longest.
    """
    import rapidfuzz
    from rapidfuzz.distance import Levenshtein

    split = _characters if unit == "character" else _words

    def row(output: str, texts: Sequence[str]) -> tuple[int, int]:
        candidates = [split(text) for text in texts]
        edits, length = min((Levenshtein.distance(split(output), x), -len(x)) for x in candidates)
        return edits, -length

    rows = [row(output, texts) for output, texts in zip(outputs, references, strict=True)]
    counted = f"{name}|nrefs:{_count(references)}|refs:best|unit:{unit}"
    return Statistics(rows, rate, f"{counted}|rapidfuzz:{rapidfuzz.__version__}|version:{VERSION}")


def rate(sums: Sequence[float]) -> float:
    """Return the first sum in percent of the second.

    If all references are empty, any edit makes it 100, as in sacrebleu's TER.
    """
    part, whole = sums
    return 100 * part / whole if whole else 100.0 * (part > 0)


def mean(sums: Sequence[float]) -> float:
    """Return the first sum divided by the second."""
    return sums[0] / sums[1]


def _characters(line: str) -> Sequence[Hashable]:
    return line


def _words(line: str) -> Sequence[Hashable]:
    return [word for word in line.split(" ") if word]


def _count(references: References) -> str:
    """Return how many references each line has, or `var`, as in sacrebleu's signatures."""
    counts = {len(texts) for texts in references}
    return str(counts.pop()) if len(counts) == 1 else "var"
