"""What can be seen in a couplet without knowing the right one, and where the model looked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recipes.files import lines_of

SHOWN = 20


def pattern(line: Sequence[str]) -> tuple[int, ...]:
    """Return for each character where it stood first."""
    return tuple(map(line.index, line))


def copied(first: str, second: str) -> bool:
    """Whether the second line has a character of the first; marks come again in their places."""
    return any(character.isalpha() and character in first for character in second)


def looked_at(model: Path, dev: Path, device: str) -> dict[str, Any]:
    """Let a model answer first lines, and return shares in percent and some couplets."""
    from regard.translator import load

    pairs = [line.split("\t") for line in lines_of(dev)]
    firsts = list(dict.fromkeys(first for first, _ in pairs))
    answers = load(model, device=device).translate(firsts)
    seconds = [answer.text for answer in answers]
    both = list(zip(firsts, seconds, strict=True))
    right = dict(reversed(pairs))
    characters = [
        (wanted, given)
        for first, second in both
        for wanted, given in zip(right[first], second, strict=False)
    ]
    found = {
        "right length": _share([len(one) == len(other) for one, other in both]),
        "same pattern of repetition": _share(
            [pattern(one) == pattern(other) for one, other in both]
        ),
        "no copied character": _share([not copied(one, other) for one, other in both]),
        "character as in the reference": _share([a == b for a, b in characters]),
    }
    looks = [answer.attention[:-1] for answer in answers if answer.attention is not None]
    if looks:
        own = np.concatenate([rows.argmax(axis=1) == np.arange(len(rows)) for rows in looks])
        found["largest weight on its own position"] = 100 * float(own.mean())
    return {"couplets": found, "shown": [list(couplet) for couplet in both[:SHOWN]]}


def _share(found: Sequence[bool]) -> float:
    return 100 * sum(found) / len(found)
