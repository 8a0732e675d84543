"""Train a demo as its settings say, from its pairs alone, and ask the model."""

from dataclasses import dataclass

import numpy as np
import torch

from regard.data.corpus import write_corpus
from regard.models import build
from regard.models.seq2seq import Seq2Seq
from regard.search import Request, search
from regard.text.side import Side
from regard.text.tokenizers import tokenizer_from_json
from regard.text.vocabulary import Vocabulary
from regard.training.loop import Job, Validation, learned, train
from regard.training.state import RunFolder
from search_options import SHARED, wanted
from training_job import Silent


@dataclass(frozen=True)
class Answer:
    """An output, its tokens, and their weights over the source's."""

    line: str
    tokens: list[str]
    weights: np.ndarray | None


@dataclass(frozen=True)
class Demo:
    """What came out of training."""

    model: Seq2Seq
    source: Side
    target: Side
    search: dict

    def answers(self, lines):
        """Translate lines: from BOS to EOS, each symbol fed back as it came out."""
        requests = [Request(tuple(self.source.ids(line))) for line in lines]
        found = [best[0] for best in search([self.model], requests, wanted(**self.search))]
        tokens = [self.target.vocabulary.tokens(best.words) for best in found]
        return [
            # of the one layer and the one head there is
            Answer(
                self.target.line(words),
                words,
                None if best.weights is None else best.weights[:, 0, 0],
            )
            for words, best in zip(tokens, found, strict=True)
        ]

    def lines(self, lines):
        """Translate lines, and return the outputs alone."""
        return [answer.line for answer in self.answers(lines)]


def side(name, lines):
    tokenizer = tokenizer_from_json({"kind": name})
    return Side("NFC", tokenizer, Vocabulary.build(map(tokenizer.split, lines)))


def trained(folder, pairs, settings):
    """Teach a model the pairs; validation is on the same ones, there being no others."""
    folder.mkdir(parents=True, exist_ok=True)
    source = side(settings.text.source, [pair[0] for pair in pairs])
    target = side(settings.text.target, [pair[1] for pair in pairs])
    options = {name: getattr(settings.search, name) for name in SHARED}
    corpus = write_corpus(
        folder / "corpus", [(source.ids(given), target.ids(wanted)) for given, wanted in pairs]
    )
    torch.manual_seed(settings.train.seed)
    model = build(settings.model, len(source.vocabulary), len(target.vocabulary))

    def exact(model):
        found = Demo(model, source, target, options).lines([pair[0] for pair in pairs])
        right = sum(line == pair[1] for line, pair in zip(found, pairs, strict=True))
        return Validation(100 * right / len(pairs))

    job = Job(model, corpus, settings.train, RunFolder(folder), exact, True, {})
    return Demo(learned(job, train(job, Silent())), source, target, options)
