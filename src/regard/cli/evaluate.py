"""`regard evaluate`: scores one model, or compares two, on held-out pairs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import messages, options
from regard.cli.options import (
    ColumnNames,
    Device,
    Import,
    SkipBadLines,
    SourceFile,
    TargetFile,
    choice,
    file_argument,
    file_option,
    whole_number,
)
from regard.cli.progress import progress_bar
from regard.cli.translate import CHUNK
from regard.errors import ConfigError, DataError

if TYPE_CHECKING:
    from regard.config.settings import DataConfig
    from regard.metrics.corpus_scores import MetricScore
    from regard.metrics.paired_bootstrap import Comparison
    from regard.pipeline.pairs_source import PairsSource
    from regard.translator import Translator

MAX_SKIPPED_LINES = 5
"""Bad lines that are printed; the others are counted."""

Files = Annotated[
    list[Path],
    file_argument(
        "MODEL [MODEL] PAIRS",
        "One or two models, or any number with --ensemble; then the pairs, unless --source and "
        "--target are used.",
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,…",
        help="Metrics: accuracy, levenshtein, cer, wer, per, bleu, chrf, ter; bleu:none, "
        "bleu:char, bleu:zh and bleu:intl are BLEU with another tokenizer. Default: those of the "
        "model's task, data.task.",
    ),
]
Ensemble = Annotated[bool, typer.Option("--ensemble", help="Evaluate all models as one ensemble.")]
EachLine = Annotated[
    bool,
    typer.Option("--each-line", help="Score every line, even if its source repeats."),
]
GoldFile = Annotated[
    Path | None,
    file_option(
        "alignments",
        "Gold alignments instead of PAIRS: print the alignment error rate of the attention.",
        "GOLD",
    ),
]
Samples = Annotated[str, whole_number("samples", "Bootstrap samples to compare two models.", 1)]
Seed = Annotated[str, whole_number("seed", "Random seed of the bootstrap.", 0)]

SEARCH_KEYS = {"beam_size": "beam_sizes", "length_penalty": "length_penalties", "stop": "stops"}
"""Search settings that a score depends on, with their keys in a comparison of two models."""


@options.file_settings()
@options.search_settings("beam_size")
def evaluate(
    files: Files,
    search: dict[str, Any],
    source: SourceFile = None,
    target: TargetFile = None,
    columns: ColumnNames = None,
    file: Any = None,
    skip_bad_lines: SkipBadLines = False,
    metrics: Names = None,
    alignments: GoldFile = None,
    ensemble: Ensemble = False,
    each_line: EachLine = False,
    samples: Samples = "1000",
    seed: Seed = "0",
    format_: Annotated[str, choice("format", "Output format.", "table", "json")] = "table",
    device: Device = "auto",
    import_: Import = None,
) -> None:
    """Score a model on pairs, or compare two.

    All targets of a source are its references, unless --each-line is used.
    """
    from regard.metrics import corpus_scores
    from regard.metrics.paired_bootstrap import paired_bootstrap
    from regard.metrics.tasks import metrics_of, with_task
    from regard.translator import load

    named = [] if metrics is None else [name.strip() for name in metrics.split(",")]
    corpus_scores.check_names(named)
    if alignments is not None:
        _print_alignments(files, alignments, format_, device, single=not (ensemble or each_line))
        return
    models, pairs = (files, None) if source or target else (files[:-1], files[-1])
    groups = _groups(models, ensemble)
    translators = [load(*group, device=device) for group in groups]
    normalization = _normalization(translators, models)
    data = translators[0].settings.data
    pairs_source = options.pairs_source(pairs, source, target, columns)
    pairs_source = pairs_source.like_training(data.file, file)
    test_set = _TestSet(pairs_source, data, each_line=each_line, skip_bad_lines=skip_bad_lines)
    outputs = [_outputs(translator, test_set.sources, search) for translator in translators]
    recipe = _search_recipe(translators, search)
    recipe |= {"lines": len(test_set.sources), "each_line": each_line}
    task = test_set.task_of(translators[0])
    recipe |= {"pairs": test_set.fingerprint, "normalization": normalization, "task": task}
    named = named or metrics_of(task, test_set.references)
    names = [with_task(name, task) for name in named]
    if len(groups) == 1:
        name = " + ".join(model.name for model in models)
        recipe = {"model": name} | recipe
        _print(corpus_scores.evaluate(outputs[0], test_set.references, names), recipe, format_)
    else:
        one, other = outputs
        sides, draws = (one, other, test_set.references), (int(samples), int(seed))
        compared = [paired_bootstrap(*sides, name, *draws) for name in names]
        recipe = {"models": [model.name for model in models]} | recipe
        _print_comparison(compared, recipe, format_)
    if format_ == "table":
        options.hint("regard", "show", models[0], *options.positional(test_set.sources[0]))


def _search_recipe(translators: "list[Translator]", search: dict[str, Any]) -> dict[str, Any]:
    """Return the search settings of one model, or of both."""
    configs = [one.search_options(**search).config for one in translators]
    if len(configs) == 1:
        return {name: getattr(configs[0], name) for name in SEARCH_KEYS}
    return {
        plural: [getattr(config, name) for config in configs]
        for name, plural in SEARCH_KEYS.items()
    }


def _groups(models: list[Path], ensemble: bool) -> list[list[Path]]:
    """Return the models of each ensemble; without --ensemble, one or two single models."""
    if len(models) not in (1, 2) and not (ensemble and models):
        raise ConfigError("evaluate", [messages.wrong_number_of_models(len(models))])
    return [models] if ensemble else [[model] for model in models]


def _print_alignments(
    files: list[Path], gold: Path, format_: str, device: str, *, single: bool
) -> None:
    from regard.pipeline.alignment_evaluation import evaluate_alignments, read_gold_alignments
    from regard.translator import load

    if not single:
        raise ConfigError("evaluate", [messages.flags_with_alignments()])
    if len(files) != 1:
        raise ConfigError("evaluate", [messages.one_model_with_alignments(len(files))])
    translator = load(files[0], device=device)
    golds, skipped_links = read_gold_alignments(gold)
    with progress_bar(len(golds)) as progress:
        score = evaluate_alignments(translator, golds, gold, progress)
    recipe = {"model": files[0].name, "lines": len(golds), "left_out_links": skipped_links}
    if format_ == "json":
        print(json.dumps(recipe | {"scores": [score.to_json()]}, ensure_ascii=False))
        return
    print(
        options.table(
            ("metric", files[0].name, "better is"), ("AER", f"{score.value:.2f}", "lower")
        )
    )
    print(f"{len(golds):,} lines, {skipped_links:,} links past the end of a line skipped")
    print(f"aer: {score.signature}")
    options.hint("regard", "show", files[0], *options.positional(" ".join(golds[0].source)))


def _outputs(translator: "Translator", sources: list[str], search: dict[str, Any]) -> list[str]:
    """Return only the texts: the attention of all lines would not fit into memory."""
    texts: list[str] = []
    with progress_bar(len(sources)) as progress:
        for first in range(0, len(sources), CHUNK):
            part = sources[first : first + CHUNK]
            # a variable would keep these translations alive during the next call
            texts += [x.text for x in translator.translate(part, progress=progress, **search)]
    return texts


def _normalization(translators: "list[Translator]", models: list[Path]) -> str:
    """Return the Unicode form of the outputs, to which the references are normalized."""
    forms = [translator.settings.data.normalization for translator in translators]
    if forms[0] != forms[-1]:
        problem = messages.different_normalizations((models[0], models[1]), (forms[0], forms[1]))
        raise ConfigError("evaluate", [problem])
    return forms[0]


class _SkippedLines:
    """Prints the first bad lines and counts all."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, error: "DataError") -> None:
        self.count += 1
        if self.count <= MAX_SKIPPED_LINES:
            print(f"skipped: {error}", file=sys.stderr)

    def print_count(self, source: "PairsSource") -> None:
        if self.count:
            print(messages.skipped_lines(self.count), file=sys.stderr)
            if self.count > MAX_SKIPPED_LINES:
                options.hint("regard", "check", *options.pairs_arguments(source), "--all")


class _TestSet:
    """Each source once with all of its targets, or every line; and the fingerprint of the pairs."""

    def __init__(
        self,
        source: "PairsSource",
        data: "DataConfig",
        *,
        each_line: bool,
        skip_bad_lines: bool,
    ) -> None:
        from regard.pipeline.input_pairs import read_pairs

        skipped = _SkippedLines()
        skip = skipped.add if skip_bad_lines else None
        form, trim = data.normalization, data.trim
        spool, profile, notes = read_pairs(source, form, trim=trim, skip=skip)
        for sentence in notes.sentences():
            print(sentence, file=sys.stderr)
        skipped.print_count(source)
        if not profile.pairs:
            raise DataError(source.name, None, messages.NO_GOOD_PAIRS)
        by_source: dict[tuple[str, int], list[str]] = {}
        for number, (line, answer) in enumerate(spool.pairs()):
            by_source.setdefault((line, number if each_line else 0), []).append(answer)
        self.sources = [line for line, _ in by_source]
        # duplicate pairs are one reference
        self.references = [list(dict.fromkeys(answers)) for answers in by_source.values()]
        self.fingerprint = profile.fingerprint
        self.profile = profile

    def task_of(self, translator: "Translator") -> str:
        """Return the task of a model; the pairs tell that of a model from an earlier version."""
        from regard.config.toml import to_tree
        from regard.pipeline.task_inference import infer_task

        task = translator.settings.data.task
        if task != "auto":
            return task
        return infer_task(self.profile, to_tree(translator.settings)["text"]).name


def _print(scored: "list[MetricScore]", recipe: dict[str, Any], format_: str) -> None:
    if format_ == "json":
        scores = [score.to_json() for score in scored]
        print(json.dumps(recipe | {"scores": scores}, ensure_ascii=False))
        return
    from regard.metrics.tasks import label, meaning

    rows = [
        (
            label(score.name),
            f"{score.value:.2f}",
            "higher" if score.higher_is_better else "lower",
            meaning(score.name, score.signature),
        )
        for score in scored
    ]
    print(options.table(("metric", recipe["model"], "better is", "what it is"), *rows))
    _print_recipe(recipe, {score.name: score.signature for score in scored})


def _print_comparison(
    comparisons: "list[Comparison]", recipe: dict[str, Any], format_: str
) -> None:
    if format_ == "json":
        compared = [comparison.to_json() for comparison in comparisons]
        print(json.dumps(recipe | {"comparisons": compared}, ensure_ascii=False))
        return
    from regard.metrics.tasks import label, meaning

    rows = [
        (
            label(comparison.name),
            f"{comparison.value_a:.2f}",
            f"{comparison.value_b:.2f}",
            f"{comparison.value_b - comparison.value_a:+.2f}",
            f"{comparison.interval[0]:+.2f} … {comparison.interval[1]:+.2f}",
            f"{comparison.p_value:.3f}",
            "higher" if comparison.higher_is_better else "lower",
            meaning(comparison.name, comparison.signature),
        )
        for comparison in comparisons
    ]
    head = (
        "metric",
        *recipe["models"],
        "difference",
        "95 % interval",
        "p",
        "better is",
        "what it is",
    )
    print(options.table(head, *rows))
    _print_recipe(recipe, {comparison.name: comparison.signature for comparison in comparisons})


def _print_recipe(recipe: dict[str, Any], signatures: dict[str, str]) -> None:
    """Print what reproduces the scores."""
    beams, penalties, stops = (
        " and ".join(sorted({str(value) for value in recipe.get(plural, [recipe.get(name)])}))
        for name, plural in SEARCH_KEYS.items()
    )
    unit = "lines" if recipe["each_line"] else "sources"
    print(
        f"{recipe['lines']:,} {unit}, beam size {beams}, length penalty {penalties}, stop "
        f"{stops}, pairs {recipe['pairs'][:16]}, {recipe['normalization']}, task {recipe['task']}"
    )
    for name, signature in signatures.items():
        print(f"{name}: {signature}")
