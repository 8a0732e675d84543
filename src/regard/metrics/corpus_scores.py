"""Corpus scores, each with the signature of its computation.

BLEU, chrF and TER are sacrebleu's, to the last digit; accuracy and the error rates are our own.
Nothing here normalizes Unicode; case is folded and words are split only if a signature says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from regard.choices import unknown_choice
from regard.errors import ConfigError
from regard.metrics import line_statistics
from regard.metrics.line_statistics import Outputs, References, Statistics

LOWER_IS_BETTER = {"ter", "cer", "cer:spaced", "wer", "wer:line", "per", "levenshtein"}

UNIT_VARIANTS = (":line", ":spaced")
"""Variants of a metric that differ only in its unit, which the signature names."""


@dataclass(frozen=True)
class MetricScore:
    """A score and how to compute it again: in percent, or on a scale to 100.

    Only the Levenshtein distance is a number of edits.
    """

    name: str
    value: float
    signature: str
    higher_is_better: bool

    def to_json(self) -> dict[str, Any]:
        """Return what `json.dumps` takes."""
        return asdict(self)


def bleu(outputs: Outputs, references: References, words: str = "13a") -> MetricScore:
    """Compute BLEU (Papineni et al. 2002) through sacrebleu; `words` names its tokenizer."""
    name = "bleu" if words == "13a" else f"bleu:{words}"
    check_names([name])
    return _score(name, outputs, references)


def chrf(outputs: Outputs, references: References) -> MetricScore:
    """Compute chrF2 (Popović 2015) through sacrebleu."""
    return _score("chrf", outputs, references)


def ter(outputs: Outputs, references: References) -> MetricScore:
    """Compute the translation edit rate (Snover et al. 2006) through sacrebleu.

    It searches for shifts of words, in Python: long lines with many shifts are slow.
    """
    return _score("ter", outputs, references)


def accuracy(outputs: Outputs, references: References) -> MetricScore:
    """Compute the share of outputs that equal any of their references, in percent."""
    return _score("accuracy", outputs, references)


def exact_match(outputs: Outputs, references: References) -> MetricScore:
    """Compute the accuracy, under its older name."""
    return _score("exact", outputs, references)


def wrong_words(outputs: Outputs, references: References) -> MetricScore:
    """Compute the word error rate if each line is one word: 100 − accuracy."""
    return _score("wer:line", outputs, references)


def levenshtein_distance(outputs: Outputs, references: References) -> MetricScore:
    """Compute the mean number of character edits to each line's best reference."""
    return _score("levenshtein", outputs, references)


def character_error_rate(outputs: Outputs, references: References) -> MetricScore:
    """Compute the character edits, in percent of the characters of each line's best reference."""
    return _score("cer", outputs, references)


def spaced_character_error_rate(outputs: Outputs, references: References) -> MetricScore:
    """Compute the character error rate of lines with spaces between characters, without these."""
    return _score("cer:spaced", outputs, references)


def word_error_rate(outputs: Outputs, references: References) -> MetricScore:
    """Compute the word edits, in percent of the words of each line's best reference.

    Words are separated by spaces.
    """
    return _score("wer", outputs, references)


def phone_error_rate(outputs: Outputs, references: References) -> MetricScore:
    """Compute the phone edits, in percent of the phones; spaces separate phones."""
    return _score("per", outputs, references)


METRICS: dict[str, Callable[[Outputs, References], MetricScore]] = {
    "bleu": bleu,
    "chrf": chrf,
    "ter": ter,
    "accuracy": accuracy,
    "exact": exact_match,
    "cer": character_error_rate,
    "wer": word_error_rate,
    "per": phone_error_rate,
    "levenshtein": levenshtein_distance,
}
_BY_NAME = METRICS | {
    "cer:spaced": spaced_character_error_rate,
    "wer:line": wrong_words,
    **{f"bleu:{words}": partial(bleu, words=words) for words in ("none", "char", "zh", "intl")},
}


def evaluate(
    outputs: Outputs,
    references: References,
    names: Sequence[str] = ("bleu", "chrf", "ter", "exact", "cer", "wer"),
) -> list[MetricScore]:
    """Compute the scores of these names, in this order."""
    names = (names,) if isinstance(names, str) else names
    check_names(names)
    return [_BY_NAME[name](outputs, references) for name in names]


def check_names(names: Sequence[str]) -> None:
    """Refuse names that no metric has, all of them at once."""
    known = list(_BY_NAME)
    if problems := [unknown_choice("name", name, known) for name in names if name not in _BY_NAME]:
        raise ConfigError("metrics", problems)


def statistics(name: str, outputs: Outputs, references: References) -> Statistics:
    """Return the statistics of a metric, line by line."""
    match name.partition(":")[0]:
        case "bleu" | "chrf" | "ter":
            return line_statistics.sacrebleu_statistics(_sacrebleu(name), outputs, references)
        case "accuracy" | "exact":
            return line_statistics.match_statistics(name, outputs, references)
        case "levenshtein":
            return line_statistics.distance_statistics(name, outputs, references)
        case "wer" if name == "wer:line":
            return line_statistics.mismatch_statistics("wer", outputs, references)
        case base:
            units = {"cer": "character", "cer:spaced": "spaced.character", "per": "phone"}
            unit = units.get(name, "word")
            return line_statistics.edit_statistics(base, unit, outputs, references)


def _score(name: str, outputs: Outputs, references: References) -> MetricScore:
    line_statistics.check(outputs, references)
    counted = statistics(name, outputs, references)
    return MetricScore(
        display_name(name), counted.value(), counted.signature, name not in LOWER_IS_BETTER
    )


def display_name(name: str) -> str:
    """Return the name of a score, without the variant that is a unit."""
    return name.partition(":")[0] if name.endswith(UNIT_VARIANTS) else name


def _sacrebleu(name: str) -> Any:
    """Return sacrebleu's own metric with the defaults of its command line."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    kind, _, tokenization = name.partition(":")
    # force silences a warning about spaces before full stops; it changes no score
    make_bleu = partial(BLEU, force=True, tokenize=tokenization or None)
    kinds: dict[str, Any] = {"bleu": make_bleu, "chrf": CHRF, "ter": TER}
    return kinds[kind]()
