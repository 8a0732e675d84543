"""Train a demo by the very path that its command takes."""

from regard.config.toml import to_tree
from regard.pipeline import TrainRequest, run
from regard.pipeline.pairs_source import PairsSource
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import tokenizer_from_json
from regard.text.vocabulary import Vocabulary


def trained(pairs, settings, dev=None):
    """Teach a model the pairs; validation is on the same ones where there are no others."""
    order = TrainRequest(
        pairs=PairsSource(pairs), dev=dev or pairs, settings=to_tree(settings), quiet=True
    )
    return run(order).translator


def texts(translator, lines):
    """Translate lines, and return the outputs alone."""
    return [answer.text for answer in translator.translate(lines)]


def side(name, lines):
    """Return how lines become ids, as their tokenizer and the lines themselves have it."""
    tokenizer = tokenizer_from_json({"kind": name})
    return TextProcessor("NFC", tokenizer, Vocabulary.build(map(tokenizer.tokenize, lines)))
