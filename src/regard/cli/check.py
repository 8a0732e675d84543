"""`regard check`: a report on a file of pairs, before training."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    flag,
)
from regard.cli.output import refuse_output, write_output
from regard.config.files import FileConfig

if TYPE_CHECKING:
    from regard.data.corpus_check import CorpusReport
    from regard.data.pairs import Pair
    from regard.data.reading_notes import ReadingNotes
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import AutoSetting
    from regard.pipeline.corpus_profile import CorpusProfile
    from regard.pipeline.pairs_source import PairsSource

BLOCK_PAIRS = 1000

DevFile = Annotated[
    Path | None,
    file_option("dev", "Validation pairs; report what they share with PAIRS.", "PAIRS"),
]
Out = Annotated[Path | None, file_option("out", "Write all bad lines to a table.", "FILE.tsv")]


@options.file_settings()
def check(
    pairs: Pairs = None,
    dev: DevFile = None,
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    group_by: GroupBy = None,
    file: Any = None,
    all_: Annotated[bool, flag("all", "List all bad lines, not only the first.")] = False,
    out: Out = None,
    overwrite: Annotated[bool, flag("overwrite", "Overwrite an existing --out.")] = False,
    format_: Annotated[str, choice("format", "Output format.", "text", "json")] = "text",
) -> None:
    """Report on a file of pairs before training.

    Prints counts, bad lines, duplicates, lengths, oddities and the automatic settings. The exit
    code is 2 if a line is bad, or if there are too few pairs to train on.
    """
    from regard.data import corpus_check as checker
    from regard.data.reading_notes import ReadingNotes
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import auto_configure, will_use_gpu
    from regard.pipeline.corpus_profile import too_few
    from regard.pipeline.skipped_lines import skipped_tsv

    if out is not None:
        refuse_output("check", out, ("tsv",), overwrite)
    pairs_source = options.pairs_source(pairs, source, target, columns, group_by)
    pairs_source = replace(pairs_source, file=FileConfig(**file))
    dev_pairs = None if dev is None else _dev_pairs(str(dev), pairs_source)
    observer, notes = _Observer(), ReadingNotes(pairs_source.name)
    entries = pairs_source.scan(trim=True, notes=notes)
    findings = checker.check(
        observer.observe(entries),
        dev=dev_pairs,
        notes=notes,
        all_bad_lines=all_ or format_ == "json",
    )
    if not findings.pairs and findings.bad_lines.count == 1 and observer.ends_early:
        # the file is missing or empty: one sentence says it all
        raise observer.errors[0]
    profile = observer.profile()
    problem = too_few(profile, dev=dev is not None)
    automatic = () if problem else auto_configure(profile, {}, on_gpu=will_use_gpu({})).reasons
    (_print_json if format_ == "json" else _print_text)(findings, notes, automatic)
    if out is not None:
        write_output(out, skipped_tsv(observer.errors).encode())
    if problem:
        raise DataError(pairs_source.name, None, problem)
    # --skip-bad-lines does not help if the file is truncated
    if format_ == "text" and not observer.ends_early:
        extra: list[object] = [] if dev is None else ["--dev", dev]
        extra += ["--skip-bad-lines"] * bool(findings.bad_lines.count)
        options.hint("regard", "train", *options.pairs_arguments(pairs_source), *extra)
    if findings.bad_lines.count:
        raise typer.Exit(2)


def _dev_pairs(path: str, train: "PairsSource") -> "list[Pair]":
    from regard.data.pairs import read_pairs

    return list(read_pairs(path, file=replace(train.layout, group_by=""), trim=True))


def _print_text(
    findings: "CorpusReport", notes: "ReadingNotes", automatic: "Sequence[AutoSetting]"
) -> None:
    from regard.data.corpus_check import render

    print(render(findings, notes.sentences()), end="")
    if automatic:
        print("\nautomatic settings:", *automatic, sep="\n  ")


def _print_json(
    findings: "CorpusReport", notes: "ReadingNotes", automatic: "Sequence[AutoSetting]"
) -> None:
    automatic_settings = {setting.name: setting.value for setting in automatic}
    report = findings.to_json() | {"reading": notes.to_json(), "chosen": automatic_settings}
    print(json.dumps(report, ensure_ascii=False))


class _Observer:
    """Profiles the pairs while the checker reads them, so they are read only once."""

    def __init__(self) -> None:
        from regard.pipeline.corpus_profile import CorpusProfile

        self.errors: list[DataError] = []
        self.ends_early = False
        self._profile = CorpusProfile("NFC")
        self._block: list[tuple[str, str]] = []

    def observe(self, pairs: "Iterable[Pair | DataError]") -> "Iterator[Pair | DataError]":
        """Yield pairs and errors unchanged."""
        for pair in pairs:
            if isinstance(pair, Exception):
                self.errors.append(pair)
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
