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
    from regard.data.pairs import Pair
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import AutoSetting
    from regard.pipeline.corpus_profile import CorpusProfile

BLOCK_PAIRS = 1000


@options.file_settings()
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
    file: Any = None,
    all_: Annotated[bool, flag("all", "List all bad lines, not only the first.")] = False,
    out: Annotated[
        Path | None, file_option("out", "Write all bad lines to a table.", "FILE.tsv")
    ] = None,
    overwrite: Annotated[bool, flag("overwrite", "Overwrite an existing --out.")] = False,
    format_: Annotated[str, choice("format", "Output format.", "text", "json")] = "text",
) -> None:
    """Report on a file of pairs before training.

    Prints counts, bad lines, duplicates, lengths, oddities and the automatic settings. The exit
    code is 2 if a line is bad, or if there are too few pairs to train on.
    """
    from regard.data import corpus_check as checker
    from regard.data.pairs import read_pairs
    from regard.data.reading_notes import ReadingNotes
    from regard.errors import DataError
    from regard.pipeline.auto_configuration import auto_configure, will_use_gpu
    from regard.pipeline.corpus_profile import too_few
    from regard.pipeline.skipped_lines import skipped_tsv

    if out is not None:
        refuse_output("check", out, ("tsv",), overwrite)
    pairs_source = replace(
        options.pairs_source(pairs, source, target, columns, group_by), file=FileConfig(**file)
    )
    dev_file = replace(pairs_source.layout, group_by="")
    dev_pairs = None if dev is None else list(read_pairs(str(dev), file=dev_file, trim=True))
    observer, notes = _Observer(), ReadingNotes(pairs_source.name)
    found = pairs_source.scan(trim=True, notes=notes)
    findings = checker.check(
        observer.observe(found), dev=dev_pairs, notes=notes, all_bad_lines=all_ or format_ == "json"
    )
    if not findings.pairs and findings.bad_lines.count == 1 and observer.ends_early:
        # the file is missing or empty: one sentence says it all
        raise observer.errors[0]
    profile = observer.profile()
    problem = too_few(profile, dev=dev is not None)
    automatic: Sequence[AutoSetting] = (
        () if problem else auto_configure(profile, {}, on_gpu=will_use_gpu({})).reasons
    )
    if format_ == "json":
        report = findings.to_json() | {
            "reading": notes.to_json(),
            "chosen": {setting.name: setting.value for setting in automatic},
        }
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(checker.render(findings, notes.sentences()), end="")
        if automatic:
            print("\nautomatic settings:", *automatic, sep="\n  ")
    if out is not None:
        write_output(out, skipped_tsv(observer.errors).encode())
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
