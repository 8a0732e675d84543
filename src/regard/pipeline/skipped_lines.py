"""The bad lines that a run skipped, all of them, in its folder."""

from collections.abc import Callable, Iterable
from pathlib import Path

from regard.errors import DataError
from regard.pipeline.preprocessing import write_text

NAME = "skipped.tsv"


def skipped_tsv(skipped: Iterable[DataError]) -> str:
    """Return a table of bad lines: file, line and problem."""
    rows = [("file", "line", "problem")]
    rows += [(error.file, str(error.line or ""), error.problem) for error in skipped]
    return "".join("\t".join(row) + "\n" for row in rows)


def write_skipped_lines(
    folder: Path, skipped: tuple[DataError, ...], log: Callable[[str], None]
) -> None:
    """Write all skipped lines with their reasons, or remove the file of an earlier run."""
    path = folder / NAME
    if skipped:
        write_text(path, skipped_tsv(skipped))
        log(f"all skipped lines with reasons: {path}")
    else:
        path.unlink(missing_ok=True)
