"""Where pairs come from: files, standard input or a list."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from typing_extensions import TypeIs

from regard.config.files import FileConfig
from regard.data.detection import fits_utf_8
from regard.data.lines import AnyPath, display_name
from regard.data.messages import BLANK, BLANK_SOURCE, BLANK_TARGET
from regard.data.pair_blocks import PairBlock, group_into_blocks, scan_blocks
from regard.data.pairs import Pair, scan
from regard.data.reading_notes import ReadingNotes
from regard.errors import ConfigError, DataError
from regard.pipeline import messages

PairsInput = AnyPath | Iterable[tuple[str, str]]

BLANKS = {(True, True): BLANK, (True, False): BLANK_SOURCE, (False, True): BLANK_TARGET}


@final
@dataclass(frozen=True)
class PairsSource:
    """Where the pairs are: one file, two parallel ones, or a list."""

    pairs: PairsInput | None = None
    source: AnyPath | None = None
    target: AnyPath | None = None
    columns: str | None = None
    label: str = "pairs"
    """Name of a list in messages."""

    group_by: str | None = None
    """The columns of which pairs with equal text are held out together."""

    file: FileConfig = field(default_factory=FileConfig)
    """How the files are laid out."""

    @property
    def name(self) -> str:
        """Name of the file or list in messages."""
        return self.label if self._file is None else display_name(self._file)

    @property
    def _file(self) -> AnyPath | None:
        """The file, the first of two; None for a list."""
        return self.pairs if is_file(self.pairs) else self.source

    @property
    def stem(self) -> str:
        """Stem for names of output files: the file's name without its suffixes."""
        if self._file is None or os.fspath(self._file) == "-":
            return "model"
        name = Path(self._file).name
        for ending in (
            ".gz",
            ".tsv",
            ".txt",
            ".jsonl",
            ".ndjson",
            ".json",
            ".csv",
            ".xlsx",
            ".ods",
        ):
            name = name.removesuffix(ending)
        return name or "model"

    @property
    def layout(self) -> FileConfig:
        """How the files are laid out, with the columns."""
        file = self.file
        if self.columns is not None:
            file = replace(file, columns=self.columns, names="")
        return file if self.group_by is None else replace(file, group_by=self.group_by)

    def like_training(self, trained: FileConfig, typed: Mapping[str, Any]) -> "PairsSource":
        """Return the same pairs, read as those that a model was trained on."""
        path = self.pairs if is_file(self.pairs) else None
        return replace(self, file=file_like_training(trained, path, typed))

    def scan(
        self, *, trim: bool = False, notes: ReadingNotes | None = None
    ) -> Iterator[Pair | DataError]:
        """Yield each pair or the error of its line, once."""
        if self.pairs is not None and not is_file(self.pairs):
            arguments = (self.source, self.target, self.columns, self.group_by)
            if arguments != (None, None, None, None):
                raise ConfigError("data", [messages.list_with_files(self.label)])
            return _scan_list(self.pairs, self.label)
        files: dict[str, Any] = {"source": self.source, "target": self.target, "file": self.layout}
        return scan(self.pairs, **files, trim=trim, notes=notes)

    def scan_blocks(
        self, *, trim: bool = False, notes: ReadingNotes | None = None
    ) -> Iterator[PairBlock | DataError]:
        """Yield pairs in blocks and the errors of lines, once."""
        if self.pairs is not None and not is_file(self.pairs):
            return group_into_blocks(self.scan())
        files: dict[str, Any] = {"source": self.source, "target": self.target, "file": self.layout}
        return scan_blocks(self.pairs, **files, trim=trim, notes=notes)


def file_like_training(
    trained: FileConfig, path: AnyPath | None, typed: Mapping[str, Any]
) -> FileConfig:
    """Return how a file is read for a model: like the file that it was trained on.

    What belongs to that file alone is detected anew: format, delimiter, header and sheet; and the
    encoding, if the file is UTF-8.
    """
    if path is None:
        return FileConfig(**typed)
    names = ("columns", "names", "joiner", "comment")
    settings: dict[str, Any] = {name: getattr(trained, name) for name in names}
    if trained.encoding != "auto" and "encoding" not in typed and os.path.isfile(path):
        settings |= {} if fits_utf_8(path) else {"encoding": trained.encoding}
    if "columns" in typed:
        settings["names"] = ""
    return FileConfig(**(settings | dict(typed)))


def is_file(pairs: object) -> TypeIs[AnyPath]:
    """Whether pairs are a path, not the pairs themselves."""
    return isinstance(pairs, str | os.PathLike)


def _scan_list(pairs: Iterable[tuple[str, str]], label: str) -> Iterator[Pair | DataError]:
    for number, pair in enumerate(pairs, start=1):
        problem = _problem(pair)
        yield Pair(*pair, label, number) if problem is None else DataError(label, number, problem)


def _problem(pair: Any) -> str | None:
    """Say why something is not a pair of lines, in the words of the file readers."""
    # a string of two letters is not a pair
    whole = isinstance(pair, list | tuple) and len(pair) == 2
    if not whole or not all(isinstance(side, str) for side in pair):
        return messages.NOT_A_PAIR
    source, target = pair
    if problem := BLANKS.get((not source.strip(), not target.strip())):
        return problem
    if match := re.search("[\0\n\ud800-\udfff]", source + target):
        what = {"\0": "NUL", "\n": "a line end"}.get(match[0], "a lone surrogate")
        return messages.no_line(what)
    return None
