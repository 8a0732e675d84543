"""`regard check`: a report on a file of pairs, before training."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import options
from regard.cli.options import (
    ColumnNames,
    GroupBy,
    Pairs,
    SourceFile,
    TargetFile,
    choice,
    file_option,
)

if TYPE_CHECKING:
    from regard.data.pairs import Pair
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import AutoSetting
    from regard.pipeline.corpus_profile import CorpusProfile

BLOCK_PAIRS = 1000


def check(
    pairs: Pairs = None,
    dev: Annotated[
        Path | None,
        file_option("dev", "Validation pairs; report what they share with PAIRS.", "PAIRS"),
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    group_by: GroupBy = None,
    format_: Annotated[str, choice("format", "Output format.", "text", "json")] = "text",
) -> None:
    """Report on a file of pairs before training.

    Prints counts, bad lines, duplicates, lengths, oddities and the automatic settings. The exit
    code is 2 if a line is bad, or if there are too few pairs to train on.
    """
    from regard.data import corpus_check as checker
    from regard.data.pairs import Columns, read_pairs
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import auto_configure, will_use_gpu
    from regard.pipeline.corpus_profile import too_few

    pairs_source = options.pairs_source(pairs, source, target, columns, group_by)
    text_columns = pairs_source.columns
    parsed_columns = None if text_columns is None else Columns.parse(text_columns)
    dev_pairs = None if dev is None else list(read_pairs(str(dev), columns=parsed_columns))
    observer = _Observer()
    findings = checker.check(observer.observe(pairs_source.scan()), dev=dev_pairs)
    if not findings.pairs and findings.bad_lines.count == 1:
        # the file is missing or empty: one sentence says it all
        raise observer.first_errors[0]
    profile = observer.profile()
    problem = too_few(profile, dev=dev is not None)
    automatic: Sequence[AutoSetting] = (
        () if problem else auto_configure(profile, {}, on_gpu=will_use_gpu({})).reasons
    )
    if format_ == "json":
        report = findings.to_json() | {
            "chosen": {setting.name: setting.value for setting in automatic}
        }
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(checker.render(findings), end="")
        if automatic:
            print("\nautomatic settings:", *automatic, sep="\n  ")
    if problem:
        raise DataError(pairs_source.name, None, problem)
    # --skip-bad-lines does not help if the file is truncated
    if format_ == "text" and not observer.ends_early:
        extra: list[object] = [] if dev is None else ["--dev", dev]
        extra += ["--skip-bad-lines"] if findings.bad_lines.count else []
        options.hint("regard", "train", *options.pairs_arguments(pairs_source), *extra)
    if findings.bad_lines.count:
        raise typer.Exit(2)


class _Observer:
    """Profiles the pairs while the checker reads them, so they are read only once."""

    def __init__(self) -> None:
        from regard.pipeline.corpus_profile import CorpusProfile

        self.first_errors: list[DataError] = []
        self.ends_early = False
        self._profile = CorpusProfile("NFC")
        self._block: list[tuple[str, str]] = []

    def observe(self, pairs: "Iterable[Pair | DataError]") -> "Iterator[Pair | DataError]":
        """Yield pairs and errors unchanged."""
        for pair in pairs:
            if isinstance(pair, Exception):
                self.first_errors = self.first_errors or [pair]
                self.ends_early = self.ends_early or pair.ends_reading
            else:
                self._block.append((pair.source, pair.target))
                if len(self._block) == BLOCK_PAIRS:
                    self.profile()
            yield pair

    def profile(self) -> "CorpusProfile":
        """Return the profile of the pairs so far."""
        self._profile.add_pairs(self._block)
        self._block = []
        return self._profile
