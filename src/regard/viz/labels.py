"""Tokens as labels: the unseen made visible, measured and cut in terminal cells.

A cell is a column of the terminal: Chinese takes two, a combining mark none. Widths are rich's;
no code here asks the terminal.
"""

import unicodedata
from bisect import bisect_left

from rich.cells import cell_len

ELLIPSIS = "…"
JOINERS = {"\u200c", "\u200d"}
# categories of what a terminal would obey, hide or refuse to print
UNSEEN = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}
# what may not stand in XML either
NO_CHARACTERS = "\ufffe\uffff"


def visible(token: str) -> str:
    """Show what cannot be seen: spaces, control characters, an empty token, a mark without a base.

    Afterwards no label can move the cursor, change colors or turn the direction of what follows.
    """
    if not token:
        return "∅"
    shown = "".join(
        # inside a word joiners shape its letters
        character if character in JOINERS and 0 < at < len(token) - 1 else _seen(character)
        for at, character in enumerate(token)
    )
    # a mark alone would sit on its neighbour
    return shown if cell_len(shown[0]) else f"◌{shown}"


def readable(line: str) -> str:
    """Show what cannot be seen in a line of words, whose spaces stay spaces."""
    return " ".join(visible(word) if word else "" for word in line.split(" "))


def _seen(character: str) -> str:
    code = ord(character)
    if code <= 0x20:
        return "␣" if character == " " else chr(0x2400 + code)
    unseen = unicodedata.category(character) in UNSEEN or character in NO_CHARACTERS
    return f"⟨{code:04X}⟩" if unseen else character


def fit(label: str, width: int) -> str:
    """Cut a label to a width, with an ellipsis, and never between a letter and its marks."""
    if cell_len(label) <= width:
        return label
    # the longest start that leaves a cell has the marks that follow its last letter; what lies
    # beyond 64 characters a cell is not worth measuring
    label = label[: 64 * width]
    ends = range(len(label) + 1)
    end = bisect_left(ends, width, key=lambda end: cell_len(label[:end])) - 1
    return label[:end].rstrip("\u200d") + ELLIPSIS


def right_to_left(label: str) -> bool:
    """Whether a terminal that knows Hebrew and Arabic would turn a part of it round."""
    return any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in label)


def isolate(label: str) -> str:
    """Keep a label's direction to itself (U+2068 … U+2069), so that cells stay in their order."""
    return f"\u2068{label}\u2069"


def alone(token: str) -> str:
    """Return a token's label, its direction kept to itself where no element could."""
    return _isolated(visible(token))


def heading(*lines: str) -> str:
    """Return `source → target`, each to be read, and each in its own direction."""
    return " → ".join(_isolated(readable(line)) for line in lines)


def _isolated(label: str) -> str:
    return isolate(label) if right_to_left(label) else label
