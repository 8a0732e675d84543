"""Which columns of a table make source, target and group: by number or by name."""

import csv
import re
from dataclasses import dataclass
from io import StringIO
from typing import final

from regard.config import messages
from regard.errors import ConfigError

Column = int | str
"""A column by its number, from 1, or by its name in the header."""

SIDES = ("source", "target")


@final
@dataclass(frozen=True)
class Columns:
    """Columns of each side; several are joined."""

    source: tuple[Column, ...]
    target: tuple[Column, ...] = ()
    group: tuple[Column, ...] = ()
    """Pairs with equal text in these columns are held out together."""

    def __post_init__(self) -> None:
        numbers = [one for one in (*self.source, *self.target, *self.group) if type(one) is int]
        if not self.source or min(numbers, default=1) < 1:
            raise columns_error(str(self))

    @classmethod
    def parse(cls, text: str, *, needs_target: bool = True) -> "Columns":
        """Read `source=1,3 target=2` or `source=lemma,tags target=form`."""
        parts = [
            part.partition("=") for part in re.split(r"\s+(?=(?:source|target)=)", text.strip())
        ]
        sides = {name.strip(): parse_list(value) for name, _, value in parts}
        needed = set(SIDES) if needs_target else {"source"}
        known = needed <= sides.keys() <= set(SIDES) and len(sides) == len(parts)
        if not known or () in sides.values():
            raise columns_error(text)
        return cls(**sides)

    @property
    def names(self) -> list[str]:
        """The columns that are given by name."""
        return [one for one in (*self.source, *self.target, *self.group) if isinstance(one, str)]

    def __str__(self) -> str:
        return " ".join(
            f"{name}={format_list(columns)}"
            for name, columns in ((side, getattr(self, side)) for side in SIDES)
            if columns or name == "source"
        )


def parse_list(text: str) -> tuple[Column, ...]:
    """Read `1,3` or `lemma,tags`; a name with a comma is in quotation marks. () if it is wrong."""
    try:
        (cells,) = list(csv.reader([text.strip()], strict=True))
    except (csv.Error, ValueError):
        return ()
    columns = tuple(map(_column, cells))
    return () if None in columns else columns  # type: ignore[return-value]


def _column(text: str) -> Column | None:
    text = text.strip()
    # seven digits at most: no line has more columns
    if re.fullmatch(r"[0-9]{1,7}", text) and int(text) > 0:
        return int(text)
    wrong = not text or "=" in text or not text.isprintable()
    return None if wrong or re.fullmatch(r"[-+]?[0-9.]+", text) else text


def format_list(columns: tuple[Column, ...]) -> str:
    """Write what `parse_list` reads."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(columns)
    return line.getvalue()


def columns_error(text: str) -> ConfigError:
    """Return the error of columns that cannot be read."""
    return ConfigError("data", [messages.wrong_columns(text)])
