"""Scores a model on the validation pairs: decodes the sources, or computes the loss."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch

from regard import __version__
from regard.data.batches import make_batch
from regard.data.length_buckets import batches_by_length
from regard.errors import InputError
from regard.metrics.corpus_scores import LOWER_IS_BETTER, evaluate
from regard.metrics.line_statistics import edit_statistics
from regard.metrics.tasks import metrics_of, with_task
from regard.models.seq2seq import Seq2Seq
from regard.pipeline import messages
from regard.pipeline.preprocessing import PreprocessedData, write_text
from regard.saved_model import SavedModel
from regard.training.plan import select_evenly_spaced
from regard.training.progress_report import ValidationResult, ValidationSample
from regard.translator import Translation, Translator

SLOW_METRICS = {"ter"}
"""Metrics that can take minutes; the score of a finished run leaves them out."""

TRIAL_LINES, TRIAL_TOKENS = (16, 128), 8
"""Numbers of lines, and tokens of each, that are decoded for an estimate of a validation's time."""

EARLY_LENGTH = 1.3
"""Estimated length of an early model's outputs, compared with that of the targets."""

MAX_EXAMPLE_CHARACTERS = 100
"""Characters of the longer side of an example."""

MAX_LOGGED_TOKENS = 60
"""Tokens of a line whose attention is logged; of longer ones it would fill the log."""


@final
class Validator:
    """Scores the model of a run, greedily, by the metric that its settings name.

    Each validation logs a new sample and the line of median length. `num_validations` counts the
    earlier validations of the run: a resumed run logs the same samples as one without a stop.
    """

    def __init__(
        self, saved: SavedModel, preprocessed_data: PreprocessedData, num_validations: int = 0
    ) -> None:
        self.task = saved.settings.data.task
        self.metric = with_task(saved.settings.train.metric, self.task)
        self.higher_is_better = self.metric not in {*LOWER_IS_BETTER, "loss"}
        self.batch_tokens = saved.settings.train.batch_tokens
        self.preprocessed_data = preprocessed_data
        self.translator = Translator(saved)
        self.num_validations = num_validations
        by_length = sorted(
            range(len(preprocessed_data.dev)), key=lambda n: (len(preprocessed_data.dev[n][0]), n)
        )
        self.fixed_index = by_length[len(by_length) // 2]

    def __call__(self, model: Seq2Seq) -> ValidationResult:
        """Score the model of the run."""
        self.num_validations += 1
        dev = self.preprocessed_data.dev
        index = self.num_validations % len(dev)
        if self.metric == "loss":
            score, signature = self._loss(model), f"loss|version:regard-{__version__}"
            indexes = [index, self.fixed_index]
            lines = [dev[n][0] for n in indexes]
            translations = dict(zip(indexes, self._translate(lines), strict=True))
        else:
            translations = dict(enumerate(self._translate([source for source, _ in dev])))
            outputs = [translation.text for translation in translations.values()]
            metric_score = evaluate(outputs, [targets for _, targets in dev], [self.metric])[0]
            score, signature = metric_score.value, metric_score.signature
        sample, fixed_sample = (
            _sample(translations[n], dev[n][1]) for n in (index, self.fixed_index)
        )
        return ValidationResult(score, sample, fixed_sample, signature)

    def estimate_seconds(self, seconds: float | None = None, *, final: bool = False) -> float:
        """Estimate the time of a validation, or of the final scoring, from a few tokens.

        Outputs are assumed to be longer than the targets, as early models write them. Lines are
        timed until `seconds` have passed.
        """
        dev, search = self.preprocessed_data.dev, self.translator.settings.search
        length = self.preprocessed_data.dev_corpus.target_lengths.mean() * EARLY_LENGTH
        length = min(max(1, int(length)), search.max_length)
        tokens = min(length, TRIAL_TOKENS)
        beams = {"beam_size": search.beam_size, "nbest": search.nbest} if final else {}
        # the first call also loads and compiles, and is not timed
        self._translate([dev[0][0]], max_length=1, min_length=0)
        for num_lines in TRIAL_LINES:
            lines = [source for source, _ in select_evenly_spaced(dev, num_lines)]
            share = len(dev) / len(lines)
            if self.metric == "loss" and not final:
                lines, share = lines[:2], 1
            start = time.perf_counter()
            self._translate(lines, max_length=tokens, min_length=tokens, **beams)
            measured = time.perf_counter() - start
            if seconds is not None and measured > seconds / 4:
                break
        return measured * share * length / tokens

    def score_final_model(self, training_summary: dict[str, Any], folder: Path) -> Translator:
        """Score the model as it will be used, and return it with its summary.

        The output for each line is written to the folder, for the report of the run.
        """
        translations = self.translator.translate(
            [source for source, _ in self.preprocessed_data.dev]
        )
        references = [targets for _, targets in self.preprocessed_data.dev]
        names = [name for name in metrics_of(self.task, references) if name not in SLOW_METRICS]
        scores = evaluate([translation.text for translation in translations], references, names)
        summary = training_summary | {"scores": [score.to_json() for score in scores]}
        max_examples = self.translator.settings.data.max_examples
        summary["examples"] = example_pairs(self.preprocessed_data.dev, max_examples)
        write_text(folder / "dev.jsonl", "".join(_dev_lines(translations, references)))
        write_text(folder / "summary.json", json.dumps(summary, sort_keys=True) + "\n")
        return Translator(replace(self.translator.members[0], summary=summary))

    def _translate(self, lines: list[str], **settings: int) -> list[Translation]:
        greedy = {"beam_size": 1, "nbest": 1, "temperature": 0.0}
        return self.translator.translate(lines, **(greedy | settings))

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        """Return the mean of −log p per target token."""
        corpus = self.preprocessed_data.dev_corpus
        device = model.device
        total, tokens = 0.0, 0
        widths = np.maximum(corpus.source_lengths, corpus.target_lengths)
        for rows in batches_by_length(widths, self.batch_tokens)[0]:
            batch = make_batch(corpus, rows)
            tokens += batch.num_tokens
            batch = batch.to(device)
            tensors = batch.source, batch.source_mask, batch.fed, batch.target, batch.target_mask
            total += float(model.loss(*tensors))
        if not math.isfinite(total):
            raise InputError(messages.infinite_loss(total))
        return total / tokens


def example_pairs(
    dev: Sequence[tuple[str, Sequence[str]]], max_examples: int
) -> list[dict[str, str]]:
    """Return validation pairs from short to long, none of which is too long for a button."""
    pairs = ((source, targets[0]) for source, targets in dev)
    short = [pair for pair in pairs if max(map(len, pair)) <= MAX_EXAMPLE_CHARACTERS]
    by_length = sorted(short, key=lambda pair: (len(pair[0]), pair))
    count = min(max_examples, len(by_length))
    middles = [(2 * n + 1) * len(by_length) // (2 * count) for n in range(count)]
    return [dict(zip(("source", "target"), by_length[n], strict=True)) for n in middles]


def _sample(translation: Translation, targets: Sequence[str]) -> ValidationSample:
    """Return a sample; its target is the one that equals the output, or the first."""
    target = translation.text if translation.text in targets else targets[0]
    sample = ValidationSample(translation.source, target, translation.text)
    weights = translation.attention
    if weights is None or max(weights.shape) > MAX_LOGGED_TOKENS:
        return sample
    # a picture shows no more than four digits
    rows = tuple(tuple(round(weight, 4) for weight in row) for row in weights.tolist())
    return sample._replace(
        source_tokens=translation.source_tokens, tokens=translation.tokens, weights=rows
    )


def _dev_lines(
    translations: Sequence[Translation], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield the output for each line, and its edit distance to the best target."""
    rows = edit_statistics("cer", "character", [x.text for x in translations], references).rows
    for translation, targets, (edits, length) in zip(translations, references, rows, strict=True):
        entry = {
            "source": translation.source,
            "source_length": len(translation.source_tokens),
            "targets": list(targets),
            "output": translation.text,
            "edits": edits,
            "length": length,
            "score": edits / max(1, length),
        }
        yield json.dumps(entry) + "\n"
