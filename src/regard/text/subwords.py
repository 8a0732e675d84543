"""Trains subword models with sentencepiece, in memory."""

import io
import random
from collections.abc import Iterable
from itertools import islice

from regard.choices import SubwordAlgorithm, names_of, wrong_value
from regard.errors import ConfigError, InputError
from regard.text import messages
from regard.text.tokenizers import Subwords, sentencepiece_text

MAX_LINES = 500_000
"""Maximum number of training lines; of more, the seed selects a sample."""

MAX_LENGTH = 1000
"""Maximum length of a training text: a BPE word of 65,536 characters would crash sentencepiece."""

# no text contains it: runs of spaces are collapsed, and a ▁ of the text is escaped
_UNKNOWN_PIECE = "▁▁"


def train_subwords(
    lines: Iterable[str], vocabulary_size: int, kind: SubwordAlgorithm, seed: int
) -> Subwords:
    """Learn about `vocabulary_size` pieces: the same lines and seed give the same bytes.

    If the lines do not have that many pieces, it learns as many as they have; if they have more
    different characters, one for each. `vocabulary_size` of the tokenizer is the actual number.
    """
    problems = []
    if kind not in names_of(SubwordAlgorithm):
        problems.append(
            messages.wrong_choice("subword kind", repr(kind), names_of(SubwordAlgorithm))
        )
    if vocabulary_size < 1:
        problems.append(wrong_value("vocabulary_size", vocabulary_size, "at least 1"))
    if problems:
        raise ConfigError("text", problems)
    texts = [part for line in sample(lines, MAX_LINES, seed) for part in _split_long_line(line)]
    if not texts:
        raise InputError(messages.NO_TEXT)
    # every character, the space, and the unknown piece
    min_size = len({" "}.union(*texts)) + 1
    return Subwords(_train_model(texts, max(vocabulary_size, min_size), kind))


def sample(lines: Iterable[str], size: int, seed: int) -> list[str]:
    """Draw at most `size` lines, each with equal probability (reservoir sampling, algorithm R)."""
    random_bits = random.Random(seed).getrandbits
    lines = iter(lines)
    sample = list(islice(lines, size))
    for count, line in enumerate(lines, start=len(sample) + 1):
        # what randrange(count) draws, in a third of the time
        bits = count.bit_length()
        while (index := random_bits(bits)) >= count:
            pass
        if index < size:
            sample[index] = line
    return sample


def _split_long_line(line: str) -> Iterable[str]:
    """Split a line into parts that are short enough for sentencepiece.

    Repeated parts of a line count once: on a very long line that only repeats itself, the unigram
    model would train for hours.
    """
    text = sentencepiece_text(line)
    if len(text) <= MAX_LENGTH:
        return [text] if text else []
    starts = range(0, len(text), MAX_LENGTH)
    return dict.fromkeys(text[i : i + MAX_LENGTH].strip() for i in starts)


def _train_model(texts: list[str], size: int, kind: SubwordAlgorithm) -> bytes:
    """Return the bytes of a model of at most `size` pieces; empty the list."""
    from sentencepiece import SentencePieceTrainer

    model_buffer = io.BytesIO()
    # sentencepiece copies each text, so the list need not keep it
    texts.reverse()
    SentencePieceTrainer.train(
        sentence_iterator=(texts.pop() for _ in range(len(texts))),
        model_writer=model_buffer,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=1.0,
        byte_fallback=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        # in bytes; a character has at most four
        max_sentence_length=4 * MAX_LENGTH,
        unk_id=0,
        unk_piece=_UNKNOWN_PIECE,
        bos_id=-1,
        eos_id=-1,
        pad_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    return model_buffer.getvalue()
