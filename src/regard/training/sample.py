"""One line of a validation to look at, safe to write to a terminal and cut to its width.

Widths are counted in cells: Chinese takes two, a combining mark none. Where terminals differ, the
wider is taken, so that no line is ever broken.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.cells import get_character_cell_size

from regard.training.loop import Sample

LONGEST = 4000
"""Characters of a line that are looked at: more fit on no screen."""

NEAR = 3
"""Characters before a difference that are shown with it."""

JOINERS = {"\u200c", "\u200d"}
EMOJI = "\ufe0f"
# categories of what a terminal would obey, hide or refuse to print; spaces are none of it
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
AT_THE_EDGES = re.compile("^ +| +$")


def sample_line(sample: Sample, width: int) -> str:
    """Return source → output on one line, with the right target where it is another."""
    wrong = sample.output != sample.target
    texts = [sample.source, sample.output, *([sample.target] if wrong else [])]
    texts = [visible(text[:LONGEST]) for text in texts]
    frame = "{} → {} (right: {})" if wrong else "{} → {}"
    room = width - cells(frame.replace("{}", ""))
    if wrong and sum(map(cells, texts)) > room:
        texts[1:] = _from_where_they_part(texts[1], texts[2])
    shares = _shares([cells(text) for text in texts], room)
    return frame.format(*(isolated(fit(*pair)) for pair in zip(texts, shares, strict=True)))


def _from_where_they_part(one: str, other: str) -> tuple[str, str]:
    """Leave out what two texts begin with alike, but for the last few letters of it."""
    pairs = enumerate(zip(one, other, strict=False))
    alike = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    at = max(0, alike - NEAR)
    while at and not _size(one[at]):
        at -= 1
    return (one, other) if at < 2 else (f"…{one[at:]}", f"…{other[at:]}")


def visible(line: str) -> str:
    """Show what cannot be seen: control characters, no text at all, spaces at the edges.

    Afterwards no line can move the cursor, change colors or turn the direction of what follows.
    """
    if not line:
        return "∅"
    line = AT_THE_EDGES.sub(lambda spaces: "␣" * len(spaces[0]), line)
    shown = "".join(
        # inside a word joiners shape its letters
        character if character in JOINERS and 0 < at < len(line) - 1 else _seen(character)
        for at, character in enumerate(line)
    )
    # a mark alone would sit on its neighbour
    return shown if _size(shown[0]) else f"◌{shown}"


def _seen(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"⟨{code:04X}⟩" if unicodedata.category(character) in UNSEEN else character


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes at most."""
    return sum(map(_size, text))


def _size(character: str) -> int:
    # some terminals make the letter before it wide
    return 1 if character == EMOJI else get_character_cell_size(character)


def fit(text: str, width: int) -> str:
    """Cut a text to a width, with an ellipsis, and never between a letter and its marks."""
    ends = list(accumulate(map(_size, text)))
    if not ends or ends[-1] <= width:
        return text
    return text[: bisect_right(ends, width - 1)].rstrip("\u200d") + "…"


def isolated(text: str) -> str:
    """Keep a direction from right to left to itself, so that what stands around it stays put."""
    if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text):
        return f"\u2068{text}\u2069"
    return text


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Divide the room; who needs less than an even share leaves the rest to the others."""
    shares = list(sizes)
    shortest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
    for others, at in zip(range(len(sizes), 0, -1), shortest_first, strict=True):
        shares[at] = max(1, min(sizes[at], room // others))
        room -= shares[at]
    return shares
