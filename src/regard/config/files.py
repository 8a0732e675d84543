"""The settings `[data.file]`: how a file of pairs or of lines is laid out."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regard.config import messages
from regard.config.checks import are_valid, refuse
from regard.config.columns import Columns, parse_list
from regard.errors import ConfigError

FileFormat = Literal["auto", "tsv", "csv", "jsonl", "xlsx", "ods"]


@dataclass(frozen=True, kw_only=True)
class FileConfig:
    """How a file is laid out. What is auto is detected for each file, and reported."""

    format: FileFormat = "auto"
    """Format of the file. tsv: columns separated by tabs, without quotation marks. csv: columns
    separated by a character; cells may be in quotation marks. jsonl: one JSON object per line.
    xlsx, ods: a workbook."""

    delimiter: str = "auto"
    """What separates columns: tab, or one character such as ;."""

    encoding: str = "auto"
    """Encoding of the file, such as cp1250. auto: UTF-8, or UTF-16 if the file begins with a byte
    order mark."""

    header: Literal["auto", "yes", "no"] = "auto"
    """Whether the first line holds the names of the columns."""

    columns: str = ""
    """Columns of each side, by number or name, such as source=1,3 target=2."""

    names: str = ""
    """The same columns by name. regard train fills it in; files with these names in their header
    are read by them."""

    group_by: str = ""
    """Columns, by number or name; pairs with equal text in them are held out together."""

    joiner: str = " "
    """Text between the columns of a side that has several."""

    comment: str = ""
    """Lines that begin with this text are skipped."""

    sheet: str = ""
    """Sheet of a workbook. Default: the first."""

    def __post_init__(self) -> None:
        refuse("data.file", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if are_valid(self, "delimiter") and not _is_delimiter(self.delimiter):
            yield messages.wrong_delimiter(self.delimiter)
        if are_valid(self, "encoding") and not _is_encoding(self.encoding):
            yield messages.wrong_encoding(self.encoding)
        for name in ("columns", "names"):
            text = getattr(self, name)
            if are_valid(self, name) and text and not _are_columns(text):
                yield messages.wrong_columns(text)
        if are_valid(self, "group_by") and self.group_by and not parse_list(self.group_by):
            yield messages.wrong_group(self.group_by)

    def parsed(self, names: bool = False) -> Columns | None:
        """Return the columns, or the same by name; None if they are not given."""
        text = self.names if names else self.columns
        return Columns.parse(text, needs_target=False) if text else None


def _is_delimiter(text: str) -> bool:
    return text in ("auto", "tab") or (
        len(text) == 1 and text not in '"\ufeff' and text.isprintable()
    )


def _is_encoding(name: str) -> bool:
    if name == "auto":
        return True
    try:
        codecs.getincrementaldecoder(name)
        # base64 and zip are codecs too, but not of text
        return bool("a\n".encode(name))
    except (LookupError, ValueError):
        return False


def _are_columns(text: str) -> bool:
    try:
        Columns.parse(text, needs_target=False)
    except ConfigError:
        return False
    return True


ANY_FILE = FileConfig()
"""A file of which everything is detected."""
