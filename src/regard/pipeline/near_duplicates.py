"""Near-duplicates of sentences: equal but for case, punctuation, digits and spaces."""

import re
import unicodedata
from collections.abc import Sequence
from typing import final

MIN_LETTERS = 4
"""A line of fewer letters is a near-duplicate only of itself: dates and numbers stay apart."""

_NUMBER = re.compile("0+")


@final
class _Folding(dict[int, str | None]):
    """What a character of a line in small letters becomes, by its code point; made at first use."""

    def __missing__(self, code: int) -> str | None:
        category = unicodedata.category(chr(code))
        # a line end stays between lines
        folded = chr(code) if category[0] in "LMN" or code == ord("\n") else None
        if category == "Nd":
            folded = "0"
        self[code] = folded
        return folded


_FOLDING = _Folding()


def near_duplicate_keys(lines: Sequence[str]) -> list[str]:
    """Return a key of each line that its near-duplicates share."""
    if not lines:
        return []
    folded = _NUMBER.sub("0", "\n".join(lines).casefold().translate(_FOLDING)).split("\n")
    return [
        key if len(key) - key.count("0") >= MIN_LETTERS else line
        for key, line in zip(folded, lines, strict=True)
    ]
