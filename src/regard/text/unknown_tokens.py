"""Unknown tokens of a source, and how the nearest text that the model knows differs from them."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

from regard.special_tokens import UNKNOWN
from regard.text.text_processor import TextProcessor

Difference = Literal["case", "width", "form"]

_HALF_TO_FULL = {0x20: 0x3000} | {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


@final
@dataclass(frozen=True)
class UnknownToken:
    """A source token that the model does not know, at a position from 0.

    `similar` is text that the model knows and that differs only in `difference`: case, width
    (fullwidth or halfwidth) or Unicode form (composed, decomposed, compatibility).
    """

    position: int
    token: str
    similar: str | None = None
    difference: Difference | None = None


def unknown_tokens(
    tokens: Sequence[str], ids: Sequence[int], processor: TextProcessor, spelled: Sequence[str] = ()
) -> tuple[UnknownToken, ...]:
    """Return the unknown tokens of a line, in order; `spelled` are the tokens in their own case."""
    spelled = spelled or tokens
    positions = [position for position, token_id in enumerate(ids) if token_id == UNKNOWN]
    variants = {tokens[i]: _known_variant(tokens[i], processor) for i in positions}
    return tuple(UnknownToken(i, spelled[i], *variants[tokens[i]]) for i in positions)


def _known_variant(
    token: str, processor: TextProcessor
) -> tuple[str, Difference] | tuple[None, None]:
    """Return the first variant of a token that the model knows, and how it differs."""

    def is_known(text: str) -> bool:
        ids = processor.vocabulary.encode(processor.tokenizer.tokenize(text))
        return bool(ids) and UNKNOWN not in ids

    return similar_text(processor.tokenizer.detokenize([token]), is_known)


def similar_text(
    text: str, is_known: Callable[[str], bool]
) -> tuple[str, Difference] | tuple[None, None]:
    """Return the first other spelling that is known, and how it differs."""
    spellings = (pair for pair in _variants(text) if is_known(pair[0]))
    return next(spellings, (None, None))


def _variants(text: str) -> Iterator[tuple[str, Difference]]:
    """Yield other spellings of a text, each once."""
    spellings = {text}
    for change, difference in _CHANGES:
        variant = change(text)
        if variant not in spellings:
            spellings.add(variant)
            yield variant, difference


def other_width(text: str) -> str:
    """Return fullwidth and halfwidth characters in their usual width."""
    return "".join(unicodedata.normalize("NFKC", x) if is_wide_form(x) else x for x in text)


def is_wide_form(character: str) -> bool:
    """Whether a character is the fullwidth or halfwidth form of another one."""
    return unicodedata.decomposition(character).startswith(("<wide>", "<narrow>"))


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _fullwidth(text: str) -> str:
    return text.translate(_HALF_TO_FULL)


_CHANGES: tuple[tuple[Callable[[str], str], Difference], ...] = (
    (str.lower, "case"),
    (str.upper, "case"),
    (str.title, "case"),
    (other_width, "width"),
    (lambda text: other_width(text).lower(), "width"),
    (lambda text: other_width(text).upper(), "width"),
    (_fullwidth, "width"),
    (_composed, "form"),
    (_decomposed, "form"),
    (_compatible, "form"),
)
"""How a spelling may differ, the most usual difference first."""
