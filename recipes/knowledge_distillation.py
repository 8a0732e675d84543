"""Pseudo-words: unlabeled sources for sequence-level knowledge distillation (Kim and Rush 2016).

They are sampled from a character n-gram model of the known words. The runner lets an ensemble of
teachers label them and trains a student on these pseudo-labels (`recipes/steps.py`).
"""

import random
from collections import defaultdict
from collections.abc import Sequence

ORDER = 3
"""Context length in letters; a context that occurred only once is shortened (back-off)."""

MAX_TRIES = 50
"""Samples per wanted word: with a small alphabet most samples are known words."""

_START, _END = "\x02", "\x03"


def generate_pseudo_words(words: Sequence[str], count: int, seed: int = 1) -> list[str]:
    """Sample up to `count` different words that are not among the known ones."""
    rng = random.Random(seed)
    continuations = _continuations(words)
    longest, known = max(map(len, words)), set(words)
    pseudo_words: dict[str, None] = {}
    for _ in range(MAX_TRIES * count):
        if len(pseudo_words) == count:
            break
        word = _sample_word(continuations, longest, rng)
        if word.strip() == word and len(word) > 1 and word not in known:
            pseudo_words[word] = None
    return [*pseudo_words]


def _continuations(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the letters that follow each context, one entry per occurrence."""
    continuations = defaultdict(list)
    for word in words:
        letters = _START * ORDER + word + _END
        for position in range(ORDER, len(letters)):
            for size in range(1, ORDER + 1):
                continuations[letters[position - size : position]].append(letters[position])
    return continuations


def _sample_word(continuations: dict[str, list[str]], longest: int, rng: random.Random) -> str:
    """Sample a word letter by letter; return an empty one if it becomes too long."""
    letters = _START * ORDER
    while len(letters) <= ORDER + longest:
        size = ORDER
        while size > 1 and len(continuations[letters[-size:]]) < 2:
            size -= 1
        letter = rng.choice(continuations[letters[-size:]])
        if letter == _END:
            return letters[ORDER:]
        letters += letter
    return ""
