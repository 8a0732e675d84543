"""How one file is laid out, when everything is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from regard.choices import printable
from regard.config.columns import Column, Columns, format_list

DELIMITER_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}
TWO_COLUMNS = Columns((1,), (2,))
FORMAT_NAMES = {
    "tsv": "TSV",
    "csv": "CSV",
    "jsonl": "JSON lines",
    "xlsx": "Excel workbook",
    "ods": "OpenDocument spreadsheet",
}


@final
@dataclass(frozen=True)
class Layout:
    """The layout of a file: what is needed to read its rows, and which cells make a side."""

    format: str = "tsv"
    delimiter: str = "\t"
    encoding: str = "utf-8"
    carriage_returns: bool = False
    """Lines end at "\\r", as on old Macs."""

    comment: str = ""
    sheet: str = ""
    names: tuple[str, ...] = ()
    """The names of all columns, from the header line; of JSON lines, the keys that are read."""

    columns: Columns = TWO_COLUMNS
    """The columns by number."""

    exact: bool = True
    """Whether columns beyond those are an error, since nobody chose any."""

    joiner: str = " "
    other_delimiter: str | None = field(default=None, compare=False)
    """What else may separate columns, for advice."""

    @property
    def width(self) -> int:
        """The number of columns that a row must have."""
        return max(map(int, (*self.columns.source, *self.columns.target, *self.columns.group)))

    @property
    def has_header(self) -> bool:
        """Whether the first line holds names."""
        return bool(self.names) and self.format != "jsonl"

    @property
    def is_plain(self) -> bool:
        """Whether the file is as simple as can be: UTF-8, two columns, a tab between."""
        return self == Layout() or (self.format == "jsonl" and self.names == ("source", "target"))

    def description(self) -> str:
        """Say in one line how the file is read."""
        parts = [FORMAT_NAMES[self.format]]
        if self.format in ("tsv", "csv"):
            parts = ["lines"] if not self.delimiter else parts
            name = DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))
            parts[0] += f" separated by {name}" if self.format == "csv" else ""
            parts += [self.encoding.upper()] if self.encoding != "utf-8" else []
            parts += ["with line ends of old Macs"] if self.carriage_returns else []
        parts += [f"sheet {printable(self.sheet)}"] if self.sheet else []
        parts += ["with a header line"] if self.has_header else []
        sides = [("source", self.columns.source), ("target", self.columns.target)]
        sides += [("group", self.columns.group)]
        columns = ", ".join(f"{side} = {self._named(few)}" for side, few in sides if few)
        return f"read as {', '.join(parts)}: {columns}"

    def _named(self, columns: Sequence[Column]) -> str:
        if self.format == "jsonl":
            return " + ".join(printable(self.names[int(one) - 1]) for one in columns)
        numbers = " + ".join(map(str, columns))
        noun = "column" if len(columns) == 1 else "columns"
        if not self.names or max(map(int, columns)) > len(self.names):
            return f"{noun} {numbers}"
        names = " + ".join(printable(self.names[int(one) - 1]) for one in columns)
        return f"{noun} {numbers} ({names})"

    def settings(self) -> dict[str, Any]:
        """Return the settings of `[data.file]` by which other files are read like this one."""
        if self.is_plain or not self.delimiter:
            return {}
        columns = self.columns
        names = ""
        if self.names and max(map(int, columns.source + columns.target)) <= len(self.names):
            names = str(Columns(self._names(columns.source), self._names(columns.target)))
        group = {"group_by": format_list(self._names(columns.group))} if columns.group else {}
        if self.format == "jsonl":
            return {"columns": names} | group
        return {"columns": str(columns), "names": names} | group

    def _names(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        names: list[Column] = [self.names[int(one) - 1] if self.names else one for one in columns]
        return tuple(names)
