"""Letter case: one case for all sources, and the tokens in the case that was typed."""

from collections.abc import Iterable, Sequence

from regard.choices import SourceCase, names_of
from regard.errors import ConfigError
from regard.text import messages
from regard.text.normalization import normalize

CASES = names_of(SourceCase)


def single_case(characters: Iterable[str]) -> str | None:
    """Return the one case of the letters that have a case, None if they have two or none."""
    cased = [x for x in characters if x.lower() != x.upper()]
    for case, change in (("lower", str.lower), ("upper", str.upper)):
        if cased and all(change(x) == x for x in cased):
            return case
    return None


def change_case(text: str, case: str, form: str) -> str:
    """Return normalized text in a case, again normalized; `keep` leaves it as it is.

    It knows no language: I is i in lower case, in Turkish too. İ is a plain i, so lower case
    keeps the number of characters.
    """
    if case not in CASES:
        raise ConfigError("text", [messages.wrong_choice("case", repr(case), CASES)])
    if case == "keep":
        return text
    # the composed form may exist in one case only, as that of ǰ
    changed = text.replace("İ", "i").lower() if case == "lower" else text.upper()
    return normalize(changed, form)


def restore_case(tokens: Sequence[str], line: str, case: str) -> list[str]:
    """Return tokens with the letters of the line that they come from, if each can be aligned.

    Characters that only the tokens have, such as marks of a tokenizer, stay.
    """
    restored, at = [], 0
    for token in tokens:
        letters = []
        for character in token:
            start = at
            while start < len(line) and line[start].isspace() and not character.isspace():
                start += 1
            if start < len(line) and _is_same(line[start], character, case):
                letters.append(line[start])
                at = start + 1
            elif character.isalnum():
                return list(tokens)
            else:
                letters.append(character)
        restored.append("".join(letters))
    return restored


def _is_same(original: str, character: str, case: str) -> bool:
    changed = change_case(original, case, "none")
    # a sigma at the end of a word has another lower case
    return character in (original, changed) or (original, character) == ("Σ", "ς")
