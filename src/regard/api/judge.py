"""How good is a model on the lines held out? Decodes them, or takes their loss."""

import math
import time
from dataclasses import replace
from typing import Any, final

import numpy as np
import torch

from regard.api.prepare import Prepared
from regard.data.batches import make_batch
from regard.data.buckets import in_order
from regard.errors import InputError
from regard.metrics.scores import LOWER_IS_BETTER, evaluate
from regard.models.seq2seq import Seq2Seq
from regard.store import Saved
from regard.training.loop import Sample, Validation
from regard.training.loss import summed_loss
from regard.translator import Translator

FINAL = ("exact", "cer", "wer", "bleu", "chrf")
"""What a finished model is scored by; TER is left out, it can take minutes."""


@final
class Judge:
    """Scores the model of a run, greedily, by the metric that its settings name.

    `done` is how many validations the run has behind it, so that it shows the lines that it would
    have shown had it never stopped.
    """

    def __init__(self, saved: Saved, prepared: Prepared, done: int = 0) -> None:
        self.metric = saved.settings.train.metric
        self.higher_is_better = self.metric not in {*LOWER_IS_BETTER, "loss"}
        self.batch_tokens = saved.settings.train.batch_tokens
        self.prepared = prepared
        self.translator = Translator(saved)
        self.num_validations = done

    def __call__(self, model: Seq2Seq) -> Validation:
        """Score the model, which is the run's own; one line is shown, another each time."""
        self.num_validations += 1
        at = self.num_validations % len(self.prepared.dev)
        if self.metric == "loss":
            source, targets = self.prepared.dev[at]
            output = self._translated([source])[0]
            return Validation(self._loss(model), Sample(source, targets[0], output))
        outputs = self._translated([source for source, _ in self.prepared.dev])
        references = [targets for _, targets in self.prepared.dev]
        source, targets = self.prepared.dev[at]
        right = targets[0] if outputs[at] not in targets else outputs[at]
        score = evaluate(outputs, references, [self.metric])[0].value
        return Validation(score, Sample(source, right, outputs[at]))

    def time(self) -> float:
        """Guess the seconds of a validation: of one batch, as long as its targets are."""
        search = self.translator.settings.search
        lines = [source for source, _ in self.prepared.dev[: search.batch_size]]
        if self.metric == "loss":
            lines = lines[:1]
        longest = max(1, int(self.prepared.dev_corpus.target_lengths.mean()))
        start = time.perf_counter()
        self._translated(lines, max_length=min(longest, search.max_length), min_length=0)
        took = time.perf_counter() - start
        return took * (1 if self.metric == "loss" else len(self.prepared.dev) / len(lines))

    def judged(self, facts: dict[str, Any]) -> Translator:
        """Score the model as it will be used, and return it with its summary."""
        answers = self.translator.translate([source for source, _ in self.prepared.dev])
        references = [targets for _, targets in self.prepared.dev]
        scores = evaluate([answer.text for answer in answers], references, FINAL)
        summary = facts | {"scores": [score.to_json() for score in scores]}
        return Translator(replace(self.translator.members[0], summary=summary))

    def _translated(self, lines: list[str], **settings: int) -> list[str]:
        greedy = {"beam_size": 1, "nbest": 1, "temperature": 0.0}
        return [answer.text for answer in self.translator.translate(lines, **(greedy | settings))]

    @torch.inference_mode()
    def _loss(self, model: Seq2Seq) -> float:
        """Return −log p of a target symbol, on average."""
        corpus = self.prepared.dev_corpus
        device = model.target_embedding.weight.device
        total, tokens = 0.0, 0
        widths = np.maximum(corpus.source_lengths, corpus.target_lengths)
        for rows in in_order(widths, self.batch_tokens)[0]:
            batch = make_batch(corpus, rows)
            tokens += batch.num_tokens
            batch = batch.to(device)
            logits = model(batch.source, batch.source_mask, batch.fed).logits
            total += float(summed_loss(logits, batch.target, batch.target_mask))
        if not math.isfinite(total):
            raise InputError(
                f"the loss on held-out pairs is {total}, but it must be a number; "
                "a smaller train.learning_rate would do"
            )
        return total / tokens
