"""How good is a model on the lines held out? Decodes them, or takes their loss."""

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
from regard.api.prepare import Prepared, write_text
from regard.data.batches import make_batch
from regard.data.buckets import in_order
from regard.errors import InputError
from regard.inference.fixed_row_matmul import tile_rows
from regard.metrics.lines import edit_statistics
from regard.metrics.scores import LOWER_IS_BETTER, evaluate
from regard.models.seq2seq import Seq2Seq
from regard.saved_model import SavedModel
from regard.training.progress_report import ValidationResult, ValidationSample
from regard.translator import Translation, Translator

FINAL = ("exact", "cer", "wer", "bleu", "chrf")
"""What a finished model is scored by; TER is left out, it can take minutes."""

LONGEST = 60
"""Tokens of a line whose attention is logged; of longer ones it would fill the log."""


@final
class Judge:
    """Scores the model of a run, greedily, by the metric that its settings name.

    Each time another line is shown, and throughout the one of middle length. `done` is how many
    validations the run has behind it, so that it shows the lines that it would have shown had it
    never stopped.
    """

    def __init__(self, saved: SavedModel, prepared: Prepared, done: int = 0) -> None:
        self.metric = saved.settings.train.metric
        self.higher_is_better = self.metric not in {*LOWER_IS_BETTER, "loss"}
        self.batch_tokens = saved.settings.train.batch_tokens
        self.prepared = prepared
        self.translator = Translator(saved)
        self.num_validations = done
        by_length = sorted(range(len(prepared.dev)), key=lambda n: (len(prepared.dev[n][0]), n))
        self.watched = by_length[len(by_length) // 2]

    def __call__(self, model: Seq2Seq) -> ValidationResult:
        """Score the model, which is the run's own."""
        self.num_validations += 1
        dev, at = self.prepared.dev, self.num_validations % len(self.prepared.dev)
        if self.metric == "loss":
            score, signature = self._loss(model), f"loss|version:regard-{__version__}"
            places = [at, self.watched]
            found = dict(zip(places, self._translated([dev[n][0] for n in places]), strict=True))
        else:
            found = dict(enumerate(self._translated([source for source, _ in dev])))
            outputs = [answer.text for answer in found.values()]
            scored = evaluate(outputs, [targets for _, targets in dev], [self.metric])[0]
            score, signature = scored.value, scored.signature
        sample, watched = (_sample(found[n], dev[n][1]) for n in (at, self.watched))
        return ValidationResult(score, sample, watched, signature)

    def time(self) -> float:
        """Guess the seconds of a validation: of one batch, as long as its targets are."""
        search = self.translator.settings.search
        together = max(search.batch_size, tile_rows(self.translator.models[0].device))
        lines = [source for source, _ in self.prepared.dev[:together]]
        if self.metric == "loss":
            lines = lines[:2]
        longest = max(1, int(self.prepared.dev_corpus.target_lengths.mean()))
        # what is loaded or compiled at the first time is not what a validation takes
        self._translated(lines[:1], max_length=1, min_length=0)
        start = time.perf_counter()
        self._translated(lines, max_length=min(longest, search.max_length), min_length=0)
        took = time.perf_counter() - start
        return took * (1 if self.metric == "loss" else len(self.prepared.dev) / len(lines))

    def judged(self, facts: dict[str, Any], folder: Path) -> Translator:
        """Score the model as it will be used, and return it with its summary.

        What came of each line is left in the folder, for the report of the run.
        """
        answers = self.translator.translate([source for source, _ in self.prepared.dev])
        references = [targets for _, targets in self.prepared.dev]
        scores = evaluate([answer.text for answer in answers], references, FINAL)
        summary = facts | {"scores": [score.to_json() for score in scores]}
        write_text(folder / "dev.jsonl", "".join(_judged_lines(answers, references)))
        write_text(folder / "summary.json", json.dumps(summary, sort_keys=True) + "\n")
        return Translator(replace(self.translator.members[0], summary=summary))

    def _translated(self, lines: list[str], **settings: int) -> list[Translation]:
        greedy = {"beam_size": 1, "nbest": 1, "temperature": 0.0}
        return self.translator.translate(lines, **(greedy | settings))

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        """Return −log p of a target symbol, on average."""
        corpus = self.prepared.dev_corpus
        device = model.device
        total, tokens = 0.0, 0
        widths = np.maximum(corpus.source_lengths, corpus.target_lengths)
        for rows in in_order(widths, self.batch_tokens)[0]:
            batch = make_batch(corpus, rows)
            tokens += batch.num_tokens
            batch = batch.to(device)
            sides = batch.source, batch.source_mask, batch.fed, batch.target, batch.target_mask
            total += float(model.loss(*sides))
        if not math.isfinite(total):
            raise InputError(
                f"the loss on held-out pairs is {total}, but it must be a number; "
                "a smaller train.learning_rate would do"
            )
        return total / tokens


def _sample(answer: Translation, targets: Sequence[str]) -> ValidationSample:
    """Return a line to look at; of several right targets the one that came out, or the first."""
    right = answer.text if answer.text in targets else targets[0]
    shown = ValidationSample(answer.source, right, answer.text)
    weights = answer.attention
    if weights is None or max(weights.shape) > LONGEST:
        return shown
    # four digits are more than a picture shows
    rows = tuple(tuple(round(weight, 4) for weight in row) for row in weights.tolist())
    return shown._replace(source_tokens=answer.source_tokens, tokens=answer.tokens, weights=rows)


def _judged_lines(
    answers: Sequence[Translation], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Write what came of each line, and the edits to its best target by the length of that."""
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
