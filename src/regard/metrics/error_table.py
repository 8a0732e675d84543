"""An error analysis as a table, for a spreadsheet: one row for each line."""

import csv
import io
from collections.abc import Iterator
from typing import Literal

from regard.metrics.error_analysis import AnalyzedLine, ErrorAnalysis


def to_table(analysis: ErrorAnalysis, kind: Literal["tsv", "csv"]) -> bytes:
    """Write the table as a TSV without quotes, or as a CSV with the mark that Excel needs."""
    rows = [_head(analysis), *(_row(analysis, line) for line in analysis.lines)]
    if kind == "tsv":
        lines = ("\t".join(map(_without_tabs, row)) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def _head(analysis: ErrorAnalysis) -> list[str]:
    columns = ("output", "exact", "edits", "length", "operations", "log-probability")
    outputs = [f"{column} {label}".strip() for label in analysis.labels for column in columns]
    return ["pair", "source", "reference", "verdict", *outputs, *analysis.groups]


def _row(analysis: ErrorAnalysis, line: AnalyzedLine) -> list[str]:
    groups = (" ".join(line.groups.get(factor, ())) for factor in analysis.groups)
    references = " | ".join(line.references)
    return [
        *(str(line.number), line.source, references, analysis.verdict(line)),
        *_outputs(line),
        *groups,
    ]


def _outputs(line: AnalyzedLine) -> Iterator[str]:
    for one in line.outputs:
        yield one.text
        yield str(int(one.exact))
        yield str(len(one.operations))
        yield str(one.length)
        yield " ".join(map(str, one.operations))
        yield f"{one.score:.4f}"


def _without_tabs(cell: str) -> str:
    return " ".join(cell.splitlines()).replace("\t", " ")
