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
from regard.inference.fixed_row_matmul import tile_rows
from regard.metrics.corpus_scores import LOWER_IS_BETTER, evaluate
from regard.metrics.line_statistics import edit_statistics
from regard.models.seq2seq import Seq2Seq
from regard.pipeline import messages
from regard.pipeline.preprocessing import TrainingData, write_text
from regard.saved_model import SavedModel
from regard.training.progress_report import ValidationResult, ValidationSample
from regard.translator import Translation, Translator

FINAL = ("exact", "cer", "wer", "bleu", "chrf")
"""What a finished model is scored by; TER is left out, it can take minutes."""

TRIAL_TOKENS = 16
"""Tokens of each line that are decoded for an estimate of a validation's time."""

MAX_LOGGED_TOKENS = 60
"""Tokens of a line whose attention is logged; of longer ones it would fill the log."""


@final
class Validator:
    """Scores the model of a run, greedily, by the metric that its settings name.

    Each validation logs another sample, and always the line of median length. `num_before` is how
    many validations the run has behind it: a resumed run logs the same samples as one that never
    stopped.
    """

    def __init__(self, saved: SavedModel, training_data: TrainingData, num_before: int = 0) -> None:
        self.metric = saved.settings.train.metric
        self.higher_is_better = self.metric not in {*LOWER_IS_BETTER, "loss"}
        self.batch_tokens = saved.settings.train.batch_tokens
        self.training_data = training_data
        self.translator = Translator(saved)
        self.num_validations = num_before
        by_length = sorted(
            range(len(training_data.dev)), key=lambda n: (len(training_data.dev[n][0]), n)
        )
        self.watched = by_length[len(by_length) // 2]

    def __call__(self, model: Seq2Seq) -> ValidationResult:
        """Score the model, which is the run's own."""
        self.num_validations += 1
        dev, at = self.training_data.dev, self.num_validations % len(self.training_data.dev)
        if self.metric == "loss":
            score, signature = self._loss(model), f"loss|version:regard-{__version__}"
            places = [at, self.watched]
            outputs = self._translate([dev[n][0] for n in places])
            answers = dict(zip(places, outputs, strict=True))
        else:
            answers = dict(enumerate(self._translate([source for source, _ in dev])))
            texts = [answer.text for answer in answers.values()]
            metric = evaluate(texts, [targets for _, targets in dev], [self.metric])[0]
            score, signature = metric.value, metric.signature
        sample, watched = (_sample(answers[n], dev[n][1]) for n in (at, self.watched))
        return ValidationResult(score, sample, watched, signature)

    def estimate_seconds(self) -> float:
        """Estimate the time of a validation from the first tokens of one batch.

        Targets are taken to have their mean length, and each token to take as long as the others.
        """
        search = self.translator.settings.search
        together = max(search.batch_size, tile_rows(self.translator.models[0].device))
        lines = [source for source, _ in self.training_data.dev[:together]]
        if self.metric == "loss":
            lines = lines[:2]
        longest = max(1, int(self.training_data.dev_corpus.target_lengths.mean()))
        longest = min(longest, search.max_length)
        tokens = min(longest, TRIAL_TOKENS)
        # what is loaded or compiled at the first time is not what a validation takes
        self._translate(lines[:1], max_length=1, min_length=0)
        start = time.perf_counter()
        self._translate(lines, max_length=tokens, min_length=0)
        seconds = (time.perf_counter() - start) * longest / tokens
        return seconds * (1 if self.metric == "loss" else len(self.training_data.dev) / len(lines))

    def score_final_model(self, facts: dict[str, Any], folder: Path) -> Translator:
        """Score the model as it will be used, and return it with its summary.

        The output for each line is written to the folder, for the report of the run.
        """
        answers = self.translator.translate([source for source, _ in self.training_data.dev])
        references = [targets for _, targets in self.training_data.dev]
        scores = evaluate([answer.text for answer in answers], references, FINAL)
        summary = facts | {"scores": [score.to_json() for score in scores]}
        write_text(folder / "dev.jsonl", "".join(_output_lines(answers, references)))
        write_text(folder / "summary.json", json.dumps(summary, sort_keys=True) + "\n")
        return Translator(replace(self.translator.members[0], summary=summary))

    def _translate(self, lines: list[str], **settings: int) -> list[Translation]:
        greedy = {"beam_size": 1, "nbest": 1, "temperature": 0.0}
        return self.translator.translate(lines, **(greedy | settings))

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        """Return −log p of a target token, on average."""
        corpus = self.training_data.dev_corpus
        device = model.device
        total, tokens = 0.0, 0
        widths = np.maximum(corpus.source_lengths, corpus.target_lengths)
        for rows in batches_by_length(widths, self.batch_tokens)[0]:
            batch = make_batch(corpus, rows)
            tokens += batch.num_tokens
            batch = batch.to(device)
            sides = batch.source, batch.source_mask, batch.fed, batch.target, batch.target_mask
            total += float(model.loss(*sides))
        if not math.isfinite(total):
            raise InputError(messages.infinite_loss(total))
        return total / tokens


def _sample(answer: Translation, targets: Sequence[str]) -> ValidationSample:
    """Return a line to look at; of several right targets the one that came out, or the first."""
    right = answer.text if answer.text in targets else targets[0]
    sample = ValidationSample(answer.source, right, answer.text)
    weights = answer.attention
    if weights is None or max(weights.shape) > MAX_LOGGED_TOKENS:
        return sample
    # four digits are more than a picture shows
    rows = tuple(tuple(round(weight, 4) for weight in row) for row in weights.tolist())
    return sample._replace(source_tokens=answer.source_tokens, tokens=answer.tokens, weights=rows)


def _output_lines(
    answers: Sequence[Translation], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield the output for each line, and its edit distance to the best target."""
    rows = edit_statistics("cer", "character", [x.text for x in answers], references).rows
    for answer, targets, (edits, length) in zip(answers, references, rows, strict=True):
        entry = {
            "source": answer.source,
            "source_length": len(answer.source_tokens),
            "targets": list(targets),
            "output": answer.text,
            "edits": edits,
            "length": length,
            "score": edits / max(1, length),
        }
        yield json.dumps(entry) + "\n"
