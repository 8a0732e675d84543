"""Words that no file has, for models to say something of that another can learn.

They are drawn from a model of the letters of the words that are known. What is said of them, and
by whom, is the runner's part.
"""

import random
from collections import defaultdict
from collections.abc import Sequence

ORDER = 3
"""Letters that the next one is drawn by; fewer where these have been seen once."""

TRIES = 50
"""Words drawn for each that is wanted: most are known already where there are few letters."""

_START, _END = "\x02", "\x03"


def invented(words: Sequence[str], count: int, seed: int = 1) -> list[str]:
    """Draw so many new words, or as many as are found, from the letters that follow each other."""
    rng = random.Random(seed)
    following = _following(words)
    longest, known = max(map(len, words)), set(words)
    found: dict[str, None] = {}
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        word = _drawn(following, longest, rng)
        if word.strip() == word and len(word) > 1 and word not in known:
            found[word] = None
    return [*found]


def _following(words: Sequence[str]) -> dict[str, list[str]]:
    """Return what came after each run of letters, as often as it came."""
    following = defaultdict(list)
    for word in words:
        letters = _START * ORDER + word + _END
        for at in range(ORDER, len(letters)):
            for size in range(1, ORDER + 1):
                following[letters[at - size : at]].append(letters[at])
    return following


def _drawn(following: dict[str, list[str]], longest: int, rng: random.Random) -> str:
    """Draw a word letter by letter; one that becomes too long is nothing."""
    letters = _START * ORDER
    while len(letters) <= ORDER + longest:
        size = ORDER
        while size > 1 and len(following[letters[-size:]]) < 2:
            size -= 1
        letter = rng.choice(following[letters[-size:]])
        if letter == _END:
            return letters[ORDER:]
        letters += letter
    return ""
