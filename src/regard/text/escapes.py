"""Escapes characters of a text that a tokenizer uses as its own marks."""

import re

ESCAPE = "␛"


def escape(text: str, marks: str) -> str:
    """Write ␛0 for ␛, ␛1 for the first of the marks, ␛2 for the second …"""
    for i, mark in enumerate(ESCAPE + marks):
        text = text.replace(mark, f"{ESCAPE}{i}")
    return text


def unescape(text: str, marks: str) -> str:
    """Undo `escape`; a ␛ that it cannot have written stays as it is."""
    spellings = ESCAPE + marks
    if ESCAPE not in text:
        return text
    last = len(spellings) - 1
    return re.sub(f"{ESCAPE}([0-{last}])", lambda match: spellings[int(match[1])], text)
