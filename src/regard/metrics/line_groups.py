"""Groups of lines, by which errors are counted: length, tag, certainty, seen in training.

A factor, such as `source length`, has groups, such as `6–10`. A line is in one group of each
factor, or in several of `tag`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp

LENGTH, TAG, VOCABULARY, CERTAINTY = "source length", "tag", "source tokens", "certainty"
IN_TRAINING, PARTS_SEEN, RAREST = "source in training", "lemma and tags in training", "rarest word"

LENGTH_BOUNDS = (3, 5, 7, 10, 15, 20, 30, 40, 60, 80)
"""The longest sources of each group but the last."""

COUNT_BOUNDS = (0, 1, 5, 20, 100)
"""The highest training counts of each group but the last."""

CERTAINTY_BOUNDS = (0.5, 0.9, 0.99)

KNOWN, UNKNOWN = "all known to the model", "some unknown to the model"
PART_NAMES = {
    (True, True): "lemma and tags seen",
    (True, False): "only lemma seen",
    (False, True): "only tags seen",
    (False, False): "neither seen",
}

TAG_SEPARATORS = " ;|,\t"


def number_group(number: int, bounds: Sequence[int], low: int = 0) -> str:
    """Return the group of a whole number, such as `6–10`; the first begins with `low`."""
    for high in bounds:
        if number <= high:
            return str(high) if low == high else f"{low}–{high}"
        low = high + 1
    return f"{low} and more"


def certainty_group(score: float, num_tokens: int) -> str:
    """Return the group of the mean probability of a token, in percent: exp(score / tokens)."""
    certainty = exp(score / max(1, num_tokens))
    names = ["below 50 %", "50–90 %", "90–99 %", "above 99 %"]
    return names[sum(certainty > bound for bound in CERTAINTY_BOUNDS)]


def split_tags(tokens: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return the lemma and the tags of a source that the tokenizer `tagged` has split.

    Its letters are tokens of one character; a tag stands with its separator.
    """
    parts = list(tokens)
    lemma = "".join(part for part in parts if len(part) == 1)
    tags = (part.strip(TAG_SEPARATORS) for part in parts if len(part) > 1)
    return lemma.strip(), tuple(tag for tag in tags if tag)


@dataclass
class TrainingCounts:
    """What the training pairs had: sources, lemmas, sets of tags, and words with their counts."""

    sources: set[str] = field(default_factory=set)
    lemmas: set[str] = field(default_factory=set)
    tags: set[tuple[str, ...]] = field(default_factory=set)
    words: Counter[str] = field(default_factory=Counter)

    def add(self, source: str, tagged_tokens: Sequence[str] | None) -> None:
        """Count a source; `tagged_tokens` are those of the tokenizer `tagged`."""
        self.sources.add(source)
        if tagged_tokens is None:
            self.words.update(source.split())
        else:
            lemma, tags = split_tags(tagged_tokens)
            self.lemmas.add(lemma)
            self.tags.add(tags)

    def groups(self, source: str, tagged_tokens: Sequence[str] | None) -> dict[str, str]:
        """Return the groups of a source that depend on the training pairs."""
        groups = {IN_TRAINING: "seen" if source in self.sources else "unseen"}
        if tagged_tokens is not None:
            lemma, tags = split_tags(tagged_tokens)
            groups[PARTS_SEEN] = PART_NAMES[lemma in self.lemmas, tags in self.tags]
        elif len(words := source.split()) > 1:
            count = min(self.words[word] for word in words)
            groups[RAREST] = f"{number_group(count, COUNT_BOUNDS)} times"
        return groups


def group_order(factor: str, name: str) -> tuple[int, str]:
    """Return the place of a group among those of its factor, for sorting."""
    orders = {
        IN_TRAINING: ["seen", "unseen"],
        VOCABULARY: [KNOWN, UNKNOWN],
        PARTS_SEEN: list(PART_NAMES.values()),
        CERTAINTY: ["below 50 %", "50–90 %", "90–99 %", "above 99 %"],
    }
    if factor in orders:
        return orders[factor].index(name), name
    digits = name.split("–")[0].split(" ")[0]
    return (int(digits) if digits.isascii() and digits.isdigit() else 0), name
