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


def _seen(character: str) -> str:
    code = ord(character)
    if code <= 0x20:
        return "␣" if character == " " else chr(0x2400 + code)
    return f"⟨{code:04X}⟩" if unicodedata.category(character) in UNSEEN else character


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
