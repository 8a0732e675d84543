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
    from regard.pipeline.auto_configuration import AutoConfiguration, AutoSetting
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
    from regard.pipeline.training_time import estimate_training_seconds
    from regard.training.estimate import format_duration

    pairs_source = options.pairs_source(pairs, source, target, columns, group_by)
    text_columns = pairs_source.columns
    parsed_columns = None if text_columns is None else Columns.parse(text_columns)
    dev_pairs = None if dev is None else list(read_pairs(str(dev), columns=parsed_columns))
    observer = _Observer()
    corpus_report = checker.check(observer.observe(pairs_source.scan()), dev=dev_pairs)
    if not corpus_report.pairs and corpus_report.bad_lines.count == 1:
        # the file is missing or empty: one sentence says it all
        raise observer.first_errors[0]
    profile = observer.profile()
    problem = too_few(profile, dev=dev is not None)
    configuration = None if problem else auto_configure(profile, {}, on_gpu=will_use_gpu({}))
    automatic: Sequence[AutoSetting] = () if configuration is None else configuration.reasons
    warnings = _warnings(profile, dev_pairs or [], str(dev), configuration)
    if format_ == "json":
        report = corpus_report.to_json() | {
            "chosen": {setting.name: setting.value for setting in automatic},
            "warnings": warnings,
        }
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(checker.render(corpus_report), end="")
        for warning in warnings:
            print(f"warning      {warning}")
        if automatic:
            print("\nautomatic settings:", *automatic, sep="\n  ")
            seconds = format_duration(estimate_training_seconds(profile))
            print(f"\ntraining takes about {seconds} at most here, validations not included")
    if problem:
        raise DataError(pairs_source.name, None, problem)
    # --skip-bad-lines does not help if the file is truncated
    if format_ == "text" and not observer.ends_early:
        train_options: list[object] = [] if dev is None else ["--dev", dev]
        train_options += ["--skip-bad-lines"] if corpus_report.bad_lines.count else []
        options.hint("regard", "train", *options.pairs_arguments(pairs_source), *train_options)
    if corpus_report.bad_lines.count:
        raise typer.Exit(2)


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
