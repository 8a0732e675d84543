"""Where pairs come from: files, standard input or a list; each can be read again and again."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from regard.data.lines import shown
from regard.data.pairs import BLANK, BLANK_SOURCE, BLANK_TARGET, Columns, Pair, scan
from regard.errors import DataError

AnyPath = str | os.PathLike[str]
Given = AnyPath | Iterable[tuple[str, str]]


@final
@dataclass(frozen=True)
class Origin:
    """What a person said about where the pairs are: one file, two parallel ones, or a list."""

    pairs: Given | None = None
    source: AnyPath | None = None
    target: AnyPath | None = None
    columns: str | None = None

    @property
    def name(self) -> str:
        """What a sentence calls it."""
        if isinstance(self.pairs, str | os.PathLike):
            return shown(self.pairs)
        return shown(self.source) if self.source is not None else "pairs"

    @property
    def stem(self) -> str:
        """What files made from it are called: the file's name without its endings."""
        if self.name in ("pairs", shown("-")):
            return "model"
        name = Path(self.name).name
        for ending in (".gz", ".tsv", ".txt", ".jsonl", ".csv"):
            name = name.removesuffix(ending)
        return name or "model"

    def scan(self) -> Iterator[Pair | DataError]:
        """Read once: each pair, or what is wrong with its line."""
        if self.pairs is not None and not isinstance(self.pairs, str | os.PathLike):
            return _scan_list(self.pairs)
        columns = Columns.parse(self.columns) if self.columns is not None else None
        return scan(self.pairs, columns=columns, source=self.source, target=self.target)


def _scan_list(pairs: Iterable[tuple[str, str]]) -> Iterator[Pair | DataError]:
    for number, pair in enumerate(pairs, start=1):
        try:
            source, target = pair
            blank = (not source.strip(), not target.strip())
        except (TypeError, ValueError, AttributeError):
            yield DataError("pairs", number, "it is no pair of lines; (source, target) would do")
            continue
        problem = {(True, True): BLANK, (True, False): BLANK_SOURCE, (False, True): BLANK_TARGET}
        if any(blank):
            yield DataError("pairs", number, problem[blank])
        elif "\n" in source + target:
            yield DataError("pairs", number, "it holds a line end; removing it would do")
        else:
            yield Pair(source, target, "pairs", number)


@final
class Pairs:
    """Pairs that can be read again; a bad line ends the reading, or is skipped and told of."""

    def __init__(self, origin: Origin, skipped: Callable[[DataError], None] | None = None) -> None:
        self.origin = origin
        self.name = origin.name
        self._skipped = skipped
        self._spool: Any = None
        again = origin.pairs is None or isinstance(origin.pairs, str | os.PathLike)
        if "-" in (origin.pairs, origin.source, origin.target) or not again:
            self._spool = _spooled(self._once())

    def __iter__(self) -> Iterator[tuple[str, str]]:
        if self._spool is None:
            return self._once()
        return self._from_spool()

    def skip_in_silence(self) -> None:
        """Do not tell again of lines that have been told of."""
        if self._skipped is not None:
            self._skipped = lambda error: None

    def _once(self) -> Iterator[tuple[str, str]]:
        """Read from the origin; a bad line ends it, unless it may be skipped."""
        for item in self.origin.scan():
            if isinstance(item, Pair):
                yield item.source, item.target
            elif self._skipped is None or item.line is None:
                raise item
            else:
                self._skipped(item)

    def _from_spool(self) -> Iterator[tuple[str, str]]:
        self._spool.seek(0)
        for line in self._spool:
            source, target = json.loads(line)
            yield source, target


def _spooled(pairs: Iterable[tuple[str, str]]) -> Any:
    """Keep what can be read only once in a file that nobody else sees."""
    # closed with the object that holds it
    spool = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115
    for pair in pairs:
        # ASCII: a lone surrogate in a list would not survive UTF-8
        spool.write(json.dumps(pair) + "\n")
    return spool
