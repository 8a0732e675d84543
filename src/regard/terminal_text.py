"""Text that is safe for a terminal: invisible characters are shown, long texts cut to a width.

A cell is a column of the terminal: a Chinese character takes two, a combining mark none. After
`visible_…` no text can move the cursor, change colors or turn the direction of its neighbors.
Nothing here asks a terminal or prints.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable

from rich.cells import cell_len

ELLIPSIS = "…"
JOINERS = {"\u200c", "\u200d"}
# categories of characters that a terminal would obey, hide or refuse to print
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# not allowed in XML either
NO_CHARACTERS = "\ufffe\uffff"
SPACES_AT_THE_EDGES = re.compile("^ +| +$")


def visible_token(token: str) -> str:
    """Show control characters, every space, an empty token, a combining mark without a base."""
    return _visible(token.replace(" ", "␣"), {*INVISIBLE, "Zs"})


def visible_line(line: str) -> str:
    """Show control characters, an empty line, and spaces at its edges."""
    return _visible(SPACES_AT_THE_EDGES.sub(lambda spaces: "␣" * len(spaces[0]), line), INVISIBLE)


def escape_invisible(line: str) -> str:
    """Show invisible characters in the words of a line; spaces between words stay spaces."""
    return " ".join(visible_token(word) if word else "" for word in line.split(" "))


def fit(text: str, width: int, cells: Callable[[str], int] = cell_len) -> str:
    """Cut a text to a width, with an ellipsis; never separate a letter from its marks."""
    if cells(text) <= width:
        return text
    # the longest start that leaves a cell includes the marks of its last letter; more than 64
    # characters per cell are not worth measuring
    text = text[: 64 * width]
    ends = range(len(text) + 1)
    end = bisect_left(ends, width, key=lambda end: cells(text[:end])) - 1
    return text[:end].rstrip("\u200d") + ELLIPSIS


def is_right_to_left(text: str) -> bool:
    """Whether a terminal that knows Hebrew and Arabic would reverse a part of it."""
    return any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text)


def isolate(text: str) -> str:
    """Put a text between U+2068 and U+2069: its direction then does not affect its neighbors."""
    return f"\u2068{text}\u2069"


def isolate_right_to_left(text: str) -> str:
    """Isolate a text only if a part of it runs from right to left."""
    return isolate(text) if is_right_to_left(text) else text


def token_label(token: str) -> str:
    """Return a visible token whose direction does not affect its neighbors."""
    return isolate_right_to_left(visible_token(token))


def arrow_heading(*lines: str) -> str:
    """Return `source → target`, each line visible and in its own direction."""
    return " → ".join(isolate_right_to_left(escape_invisible(line)) for line in lines)


def _visible(text: str, invisible: set[str]) -> str:
    if not text:
        return "∅"
    label = "".join(
        # inside a word, joiners shape its letters
        character
        if character in JOINERS and 0 < i < len(text) - 1
        else _visible_character(character, invisible)
        for i, character in enumerate(text)
    )
    # a mark alone would sit on its neighbor
    return label if cell_len(label[0]) else f"◌{label}"


def _visible_character(character: str, invisible: set[str]) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if character != " " and unicodedata.category(character) in invisible:
        return f"⟨{code:04X}⟩"
    return f"⟨{code:04X}⟩" if character in NO_CHARACTERS else character
