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
    from regard.pipeline.auto_configuration import AutoConfiguration, AutoSetting
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
    list_all = all_ or format_ == "json"
    corpus_report = checker.check(
        observer.observe(entries), dev=dev_pairs, notes=notes, all_bad_lines=list_all
    )
    if not corpus_report.pairs and corpus_report.bad_lines.count == 1 and observer.ends_early:
        # the file is missing or empty: one sentence says it all
        raise observer.errors[0]
    profile = observer.profile()
    problem = too_few(profile, dev=dev is not None)
    configuration = None if problem else auto_configure(profile, {}, on_gpu=will_use_gpu({}))
    warnings = _warnings(profile, dev_pairs or [], str(dev), configuration)
    automatic = () if configuration is None else configuration.reasons
    print_report = _print_json if format_ == "json" else _print_text
    print_report(corpus_report, notes, automatic, warnings)
    if format_ == "text" and automatic:
        _print_training_time(profile)
    if out is not None:
        write_output(out, skipped_tsv(observer.errors).encode())
    if problem:
        raise DataError(pairs_source.name, None, problem)
    # --skip-bad-lines does not help if the file is truncated
    if format_ == "text" and not observer.ends_early:
        train_options: list[object] = [] if dev is None else ["--dev", dev]
        train_options += ["--skip-bad-lines"] * bool(corpus_report.bad_lines.count)
        options.hint("regard", "train", *options.pairs_arguments(pairs_source), *train_options)
    if corpus_report.bad_lines.count:
        raise typer.Exit(2)


def _dev_pairs(path: str, train: "PairsSource") -> "list[Pair]":
    from regard.data.pairs import read_pairs

    return list(read_pairs(path, file=replace(train.layout, group_by=""), trim=True))


def _print_text(
    corpus_report: "CorpusReport",
    notes: "ReadingNotes",
    automatic: "Sequence[AutoSetting]",
    warnings: list[str],
) -> None:
    from regard.data.corpus_check import render

    print(render(corpus_report, notes.sentences()), end="")
    for warning in warnings:
        print(f"warning      {warning}")
    if automatic:
        print("\nautomatic settings:", *automatic, sep="\n  ")


def _print_json(
    corpus_report: "CorpusReport",
    notes: "ReadingNotes",
    automatic: "Sequence[AutoSetting]",
    warnings: list[str],
) -> None:
    automatic_settings = {setting.name: setting.value for setting in automatic}
    report = corpus_report.to_json() | {
        "reading": notes.to_json(),
        "chosen": automatic_settings,
        "warnings": warnings,
    }
    print(json.dumps(report, ensure_ascii=False))


def _print_training_time(profile: "CorpusProfile") -> None:
    from regard.pipeline.training_time import estimate_training_seconds
    from regard.training.estimate import format_duration

    seconds = format_duration(estimate_training_seconds(profile))
    print(f"\ntraining takes about {seconds} at most here, validations not included")


def _warnings(
    profile: "CorpusProfile",
    dev_pairs: "list[Pair]",
    name: str,
    configuration: "AutoConfiguration | None",
) -> list[str]:
    """Say how the spelling of the dev pairs differs from that of the training pairs."""
    from regard.pipeline.corpus_profile import CorpusProfile
    from regard.pipeline.spelling_differences import spelling_differences

    if configuration is None:
        return []
    dev = CorpusProfile.of(((pair.source, pair.target) for pair in dev_pairs), "NFC")
    return spelling_differences(profile, dev, name, configuration.settings.data)


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
