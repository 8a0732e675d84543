"""Names to choose from, declared once, and the messages that refuse any other name."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal, get_args

Normalization = Literal["NFC", "NFD", "NFKC", "none"]
"""Unicode normalization forms; none leaves lines unchanged."""

SourceCase = Literal["keep", "lower", "upper"]
"""What a model reads of the case of its sources."""

SubwordAlgorithm = Literal["unigram", "bpe"]
"""Tokenizers that are learned, by sentencepiece."""

TokenizerName = Literal["characters", "words", "whitespace", "tagged", "phonemes", "unigram", "bpe"]
"""Tokenizers of a line."""

RENAMED_TOKENIZERS = {"symbols": "whitespace", "sounds": "phonemes"}
"""Name of a tokenizer in an earlier version → its name today."""

TaskName = Literal[
    "auto",
    "g2p",
    "inflection",
    "transliteration",
    "normalization",
    "transcription",
    "translation",
    "other",
]
"""What pairs are: a task has metrics of its own. auto: it is not known yet."""

TagPosition = Literal["last", "first"]
"""Where the tags of a tagged line stand: in its last or in its first word."""

TAG_SEPARATORS = ";|,/(){}[]"
"""Signs at which UniMorph and other schemes split the tags of a word."""

UnknownMode = Literal["copy", "mark"]
"""What stands for an unknown token: the source token with the most attention, or a mark."""

VectorMethod = Literal["skip-gram", "cbow"]
"""How word vectors are learned: a token from its neighbors, or the neighbors from it."""

MAX_CHARACTERS = 80
"""Maximum number of characters of a value in a message."""


def names_of(choice: Any) -> tuple[str, ...]:
    """Return the names of a choice that is declared here."""
    return get_args(choice)


def are_tag_separators(text: object) -> bool:
    """Whether each character can separate tags: neither a letter, a digit nor a space."""
    return (
        isinstance(text, str) and bool(text) and not any(x.isalnum() or x.isspace() for x in text)
    )


def either(names: Iterable[str]) -> str:
    """Join names as in a sentence: a, b or c."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the name that is spelled most like another."""
    return get_close_matches(name, list(names), n=1, cutoff=0)[0]


def unknown_choice(name: str, value: Any, names: Iterable[str]) -> str:
    """Say which names a choice has, and which of them the value may be a misspelling of."""
    known, text = list(names), printable(value)
    sentence = wrong_value(name, text, either(known))
    similar = get_close_matches(text, known, n=1) or get_close_matches(text.lower(), known, n=1)
    return f"{sentence} Did you mean {similar[0]}?" if similar else sentence


def wrong_value(name: str, text: Any, requirement: str, remedy: str = "") -> str:
    """Say that a value is wrong, what it must be, and what to do if that is not obvious."""
    return f"{name} is {text}; it must be {requirement}." + (f" {remedy}" if remedy else "")


def printable(value: Any) -> str:
    """Return a value as messages show it: on one line, and cut if it is long."""
    try:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except (ValueError, RecursionError):
        # an integer of thousands of digits, or endless nesting
        return "…"
    text = text if text and text.isprintable() else repr(text)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
