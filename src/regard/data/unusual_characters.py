"""Characters that seldom belong in a line, and words that mix alphabets; none is refused.

Suspicious spaces are reported too: a model of characters learns them as tokens.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

KINDS = {
    "control": "control characters",
    "invisible": "invisible characters",
    "replacement": "replacement characters (a decoding went wrong)",
    "private": "private use characters",
    "unassigned": "unassigned characters",
    "spaces": "spaces at an edge, doubled, or of another kind",
    "mixed": "words of mixed scripts",
    "not_nfc": "not in Unicode's composed form (NFC)",
}
"""Kind of unusual character → its name in a report."""

_CATEGORIES = {
    **dict.fromkeys(("Cc", "Zl", "Zp"), "control"),
    "Cf": "invisible",
    "Co": "private",
    "Cn": "unassigned",
    "Cs": "unassigned",
}
# joiners are spelling in Persian and in India's scripts, and hold emoji together
_JOINERS = "\u200c\u200d"
# scripts that put spaces between words; a Chinese line may well contain a Latin word
_SCRIPTS = frozenset(
    (
        *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "COPTIC", "CHEROKEE", "ETHIOPIC"),
        *("HEBREW", "ARABIC", "SYRIAC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA"),
        *("TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA"),
    )
)
# Greek letters of the phonetic alphabet, which has no others for these sounds
_PHONETIC = "βθχ"
_WORD = re.compile(r"[^\W\d_]+")


@cache
def kind_of(character: str) -> str | None:
    """Return what is unusual about a character, if anything is."""
    if character == "\ufffd":
        return "replacement"
    if character in _JOINERS:
        return None
    return _CATEGORIES.get(unicodedata.category(character))


@cache
def script_of(character: str) -> str | None:
    """Return the script of a letter, by its Unicode name; None for what belongs to any."""
    if unicodedata.category(character) not in ("Ll", "Lu", "Lt", "Lo") or character in _PHONETIC:
        return None
    script = unicodedata.name(character, "").split(" ")[0]
    return script if script in _SCRIPTS else None


def find_unusual_characters(text: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of unusual character in a line once, with an example."""
    # fast path: most lines end here
    space_problem = _space_problem(text)
    if text.isascii() and text.isprintable():
        if space_problem:
            yield "spaces", space_problem
        return
    characters = sorted(set(text))
    first_of_kind = {kind: x for x in reversed(characters) if (kind := kind_of(x))}
    for kind, character in first_of_kind.items():
        yield kind, f"U+{ord(character):04X}"
    if space_problem:
        yield "spaces", space_problem
    if _mixes_scripts(characters):
        yield from (
            ("mixed", word) for word in islice(filter(_mixes_scripts, _WORD.findall(text)), 1)
        )
    if not unicodedata.is_normalized("NFC", text):
        composed = unicodedata.normalize("NFC", text)
        actual, composed_character = next(
            (x, y) for x, y in zip(text, composed, strict=False) if x != y
        )
        yield "not_nfc", f"U+{ord(actual):04X} where NFC has U+{ord(composed_character):04X}"


def _space_problem(text: str) -> str | None:
    """Return the first problem with the spaces of a line, if there is one."""
    if text.startswith(" "):
        return "a space at the start"
    if text.endswith(" "):
        return "a space at the end"
    if "  " in text:
        return "two spaces in a row"
    if text.isascii():
        return None
    others = (f"U+{ord(x):04X}" for x in text if x != " " and unicodedata.category(x) == "Zs")
    return next(others, None)


def _mixes_scripts(characters: Iterable[str]) -> bool:
    return len({script_of(character) for character in characters} - {None}) > 1
