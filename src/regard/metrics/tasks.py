"""Which metrics a task has, by the names of its field, and what each of them means in one line."""

from collections.abc import Sequence
from itertools import chain, islice
from unicodedata import name as unicode_name

METRICS_OF_TASK = {
    "g2p": ("wer", "per"),
    "inflection": ("accuracy", "levenshtein"),
    "transliteration": ("accuracy", "cer"),
    "normalization": ("cer", "wer"),
    "transcription": ("cer", "wer"),
    "translation": ("bleu", "chrf", "ter"),
    "other": ("accuracy", "cer"),
    "auto": ("exact", "cer", "wer", "bleu", "chrf"),
}
"""Task → the metrics that its literature reports."""

LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF2",
    "ter": "TER",
    "cer": "CER",
    "wer": "WER",
    "per": "PER",
    "levenshtein": "Levenshtein distance",
    "aer": "AER",
    "loss": "dev loss",
}
"""Name of a metric → how papers write it; other metrics are written as they are named."""

MEANINGS = {
    "accuracy": "outputs equal to a target, in percent",
    "exact": "outputs equal to a target, in percent (accuracy)",
    "cer": "edits of characters, in percent of the target's characters",
    "wer": "edits of words, in percent of the target's words",
    "per": "edits of phones, in percent of the target's phones",
    "levenshtein": "edits of characters per line, on average",
    "bleu": "n-grams of words shared with the target, 0 to 100",
    "chrf": "n-grams of characters shared with the target, 0 to 100",
    "ter": "edits of words, shifts included, in percent of the target's words",
    "aer": "links that differ from the gold alignment, in percent",
    "loss": "mean of −log p per target token",
}

WRONG_WORDS = "words with any error, in percent: 100 − accuracy"

SAMPLE_LINES = 1000
MIN_SHARE_OF_SPACES = 0.05
"""Below this share of lines with spaces, words are not separated."""


MAX_SPACED_LENGTH = 1.5
"""Up to this mean length of a word, spaces separate characters."""


def label(name: str) -> str:
    """Return how papers write a metric: `bleu:zh` is BLEU (zh)."""
    base, _, variant = name.partition(":")
    return LABELS.get(base, base) + (f" ({variant})" if variant else "")


def meaning(name: str, signature: str = "") -> str:
    """Say in one line what a score is; its signature tells a rate of words from one of lines."""
    if "|unit:line|" in signature:
        return WRONG_WORDS
    return MEANINGS.get(name.partition(":")[0], "")


def with_task(name: str, task: str) -> str:
    """Return which metric a name means in a task: in G2P every line is one word."""
    return "wer:line" if (name, task) == ("wer", "g2p") else name


def metrics_of(task: str, references: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the metrics of a task; BLEU and CER get the tokenizer that the references need."""
    lines = list(islice(chain.from_iterable(references), SAMPLE_LINES))
    variants = {"bleu": _bleu_of(lines), "cer": _cer_of(lines)}
    return [variants.get(name, with_task(name, task)) for name in METRICS_OF_TASK[task]]


def _bleu_of(lines: Sequence[str]) -> str:
    spaced = sum(" " in line.strip() for line in lines)
    if not lines or spaced >= MIN_SHARE_OF_SPACES * len(lines):
        return "bleu"
    letters = [x for x in "".join(lines) if x.isalpha()]
    return "bleu:zh" if 2 * sum(map(is_chinese, letters)) > len(letters) else "bleu:char"


def _cer_of(lines: Sequence[str]) -> str:
    words = [word for line in lines for word in line.split()]
    is_spaced = len(words) > len(lines) and sum(map(len, words)) <= MAX_SPACED_LENGTH * len(words)
    return "cer:spaced" if is_spaced else "cer"


def is_chinese(letter: str) -> bool:
    """Whether a letter is a Chinese character."""
    return "\u3400" <= letter <= "\u9fff" or unicode_name(letter, "").startswith("CJK UNIFIED")
