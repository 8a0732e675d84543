"""A line ⇄ its tokens: one class per tokenizer.

For every tokenizer, detokenize(tokenize(line)) is the line. `Characters` and `Tagged` keep it
exactly; the others turn each run of white space into one space and strip both ends. White space is
what `str.split` splits at, U+2028 and U+0085 included. Tokenizers expect normalized lines.
"""

import base64
import binascii
import re
import sys
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from reprlib import repr as shortened
from typing import Any, ClassVar, final

from typing_extensions import override

from regard import extensions
from regard.choices import (
    RENAMED_TOKENIZERS,
    TagPosition,
    are_tag_separators,
    names_of,
    wrong_value,
)
from regard.errors import InputError
from regard.text import messages
from regard.text.escapes import ESCAPE, escape, unescape
from regard.text.normalization import FORMS, normalize
from regard.text.subword_model_checks import check_subword_model

JOINER = "￭"
"""Stands on a punctuation mark, on the side that had no space."""

DOTTED_CIRCLE = "◌"
"""Stands for the letter of a mark that is a token of its own, as in Unicode's charts."""

SPACE = "▁"
"""What sentencepiece writes for a space."""

UNKNOWN_PIECE = 0
"""The id that sentencepiece gives to text that no piece of a model covers."""

RESERVED = SPACE + "▅"
"""Characters that sentencepiece reserves: it writes the first, and drops lines with the second."""


class Tokenizer(ABC):
    """Splits a line into tokens and joins them again; equal JSON means equal tokenizers."""

    kind: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.kind)

    @abstractmethod
    def tokenize(self, line: str) -> list[str]:
        """Split a line into tokens."""

    @abstractmethod
    def detokenize(self, tokens: Iterable[str]) -> str:
        """Join tokens to a line; any tokens, in any order."""

    def to_json(self) -> dict[str, str]:
        """Return what `tokenizer_from_json` takes."""
        return {"kind": self.kind}


@final
@dataclass(frozen=True)
class Characters(Tokenizer):
    """Every code point is a token, spaces and combining marks included."""

    kind: ClassVar[str] = "characters"

    @override
    def tokenize(self, line: str) -> list[str]:
        return list(line)

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        return "".join(tokens)


@final
@dataclass(frozen=True)
class Whitespace(Tokenizer):
    """Tokens are separated by spaces: phonemes, tags, text that was split elsewhere."""

    kind: ClassVar[str] = "whitespace"

    @override
    def tokenize(self, line: str) -> list[str]:
        return line.split()

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        return " ".join(tokens)


@final
@dataclass(frozen=True)
class Phonemes(Tokenizer):
    """Phonemes are separated by spaces: the letters of each are a token, each mark another.

    `t͡ʃʰ aː` is `t͡ʃ ◌ʰ a ◌ː`: a model learns a length or a tone once for all phonemes. Accents that
    are composed with their letters are marks too, except with the form `none`; `detokenize`
    composes them again. A ◌ of the text itself is escaped.
    """

    kind: ClassVar[str] = "phonemes"
    form: str = "NFC"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            form = shortened(self.form)
            raise ValueError(messages.wrong_choice("form of phonemes", form, FORMS))

    @override
    def tokenize(self, line: str) -> list[str]:
        decomposed = line if self.form == "none" else normalize(line, "NFD")
        return [token for phoneme in decomposed.split() for token in _split_marks(phoneme)]

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        phonemes: list[str] = []
        for token in tokens:
            if not token.startswith(DOTTED_CIRCLE):
                phonemes.append(unescape(token, DOTTED_CIRCLE))
            elif phonemes:
                phonemes[-1] += token[1:]
            else:
                phonemes.append(token[1:])
        return _collapse_spaces(normalize(" ".join(phonemes), self.form))

    @override
    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "form": self.form}


def _split_marks(phoneme: str) -> list[str]:
    """Split the marks from the end of a phoneme, unless there is nothing else."""
    letters = len(phoneme)
    while letters and _is_mark(phoneme[letters - 1]):
        letters -= 1
    # a tone mark by itself
    letters = letters or len(phoneme)
    marks = [DOTTED_CIRCLE + mark for mark in phoneme[letters:]]
    return [escape(phoneme[:letters], DOTTED_CIRCLE), *marks]


def _is_mark(character: str) -> bool:
    """Whether it modifies the letter before it: an accent, a length, an aspiration."""
    category = unicodedata.category(character)
    return category.startswith("M") or category in {"Lm", "Sk"}


@final
@dataclass(frozen=True)
class Tagged(Tokenizer):
    """Characters, except in the last or first word: each of its tags is a token.

    `walk V;PST` is `w a l k ␣V ;PST`, where ␣ is the space: a tag begins with its separator. With
    the separators `;(,)`, `N;ACC(PL;PSS(1,SG))` is `N ;ACC (PL ;PSS (1 ,SG ) )`. A line without a
    space has no tags.
    """

    kind: ClassVar[str] = "tagged"
    position: TagPosition = "last"
    separators: str = ";"

    def __post_init__(self) -> None:
        if self.position not in names_of(TagPosition):
            position = shortened(self.position)
            raise ValueError(messages.wrong_choice("tag position", position, names_of(TagPosition)))
        if not are_tag_separators(self.separators):
            raise ValueError(messages.wrong_tag_separators(shortened(self.separators)))

    @cached_property
    def _tag(self) -> re.Pattern[str]:
        signs = re.escape(self.separators)
        return re.compile(f"[{signs} ][^{signs}]*|[^{signs} ][^{signs}]*")

    @override
    def tokenize(self, line: str) -> list[str]:
        letters, space, tags = line.rpartition(" ")
        if self.position == "first":
            tags, space, letters = line.partition(" ")
        if not space:
            return list(line)
        if self.position == "first":
            return [*self._tag.findall(tags), *(space + letters)]
        return [*letters, *self._tag.findall(space + tags)]

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        return "".join(tokens)

    @override
    def to_json(self) -> dict[str, str]:
        if self == Tagged():
            return {"kind": self.kind}
        return {"kind": self.kind, "position": self.position, "separators": self.separators}


@final
@dataclass(frozen=True)
class Words(Tokenizer):
    """Words and punctuation marks; a mark records on which sides there was no space.

    `“Yes,” he said.` is `“￭ Yes ￭, ￭” he said ￭.`: a joiner stands where there was no space, on
    the later of two marks. A joiner of the text itself is escaped.
    """

    kind: ClassVar[str] = "words"

    @override
    def tokenize(self, line: str) -> list[str]:
        return [token for chunk in line.split() for token in _split_punctuation(chunk)]

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        parts: list[str] = []
        joins_next = True
        for token in tokens:
            if not (joins_next or token.startswith(JOINER)):
                parts.append(" ")
            parts.append(unescape(token.removeprefix(JOINER).removesuffix(JOINER), JOINER))
            joins_next = token.endswith(JOINER)
        return "".join(parts)


def _split_punctuation(chunk: str) -> list[str]:
    """Split text without spaces into words and punctuation marks with their joiners."""
    if chunk.isalnum():
        return [chunk]
    matches = _word_or_mark_pattern().findall(chunk)
    tokens = []
    for i, (word, mark) in enumerate(matches):
        before_word = i + 1 < len(matches) and matches[i + 1][0]
        left = JOINER if mark and i else ""
        right = JOINER if mark and before_word else ""
        tokens.append(left + escape(word or mark, JOINER) + right)
    return tokens


@cache
def _word_or_mark_pattern() -> re.Pattern[str]:
    """Compile the pattern of a word (group 1) or a punctuation mark (group 2).

    A combining mark or an invisible sign (a joiner inside a Persian word, the variation selector
    of an emoji) belongs to the character before it, and so does what follows a zero-width joiner.
    """
    every = map(chr, range(sys.maxunicode + 1))
    follows = "".join(c for c in every if unicodedata.category(c) in {"Mn", "Mc", "Me", "Cf"})
    in_word, in_mark, joined = rf"[\w{follows}]", f"[{follows}]", r"(?<=\u200d)\S"
    word = f"{in_word}+(?:{joined}{in_word}*)*"
    mark = rf"\S{in_mark}*(?:{joined}{in_mark}*)*"
    return re.compile(f"({word})|({mark})")


@final
@dataclass(frozen=True)
class Subwords(Tokenizer):
    """Subwords of a sentencepiece model; `subwords.train_subwords` trains one.

    The first piece of a word begins with ▁; a ▁ of the text itself is escaped.
    """

    kind: ClassVar[str] = "subwords"
    model: bytes = field(repr=False)

    def __post_init__(self) -> None:
        # sentencepiece would load empty bytes as a model without pieces
        if not self.model:
            raise ValueError(messages.EMPTY_SUBWORD_MODEL)
        try:
            check_subword_model(self.model)
            _ = self._processor
        except Exception as error:
            raise ValueError(messages.unloadable_subword_model(error)) from error

    @cached_property
    def _processor(self) -> Any:
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=self.model)

    @property
    def vocabulary_size(self) -> int:
        """Number of pieces, including the unknown one."""
        return int(self._processor.get_piece_size())

    @override
    def tokenize(self, line: str) -> list[str]:
        return list(self._processor.encode(sentencepiece_text(line), out_type=str))

    def pieces(self) -> list[str]:
        """Return the pieces in the order of their ids; `UNKNOWN_PIECE` stands for no piece."""
        return [self._processor.id_to_piece(i) for i in range(self.vocabulary_size)]

    def piece_ids(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the piece ids of many lines at once."""
        text = "\n".join(lines)
        # most texts need no escaping, and one check of all lines is faster than one of each
        plain = not any(mark in text for mark in ESCAPE + RESERVED) and _is_utf8(text)
        texts = map(_collapse_spaces if plain else sentencepiece_text, lines)
        return list(self._processor.encode(list(texts), out_type=int))

    @override
    def detokenize(self, tokens: Iterable[str]) -> str:
        return unescape(_collapse_spaces("".join(tokens).replace(SPACE, " ")), RESERVED)

    @override
    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "model": base64.b64encode(self.model).decode("ascii")}


def sentencepiece_text(line: str) -> str:
    """Return a line in the form that sentencepiece gets, in training and in use."""
    try:
        line.encode()
    except UnicodeEncodeError as error:
        sentence = messages.lone_surrogate(error.start + 1, line[error.start])
        raise InputError(sentence) from error
    return escape(_collapse_spaces(line), RESERVED)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _collapse_spaces(line: str) -> str:
    return " ".join(line.split())


_UNTRAINED: dict[str, type[Characters | Whitespace | Tagged | Words]] = {
    plain.kind: plain for plain in (Characters, Words, Whitespace, Tagged)
}
_EXTRA_KEYS = {
    Phonemes.kind: {"form"},
    Subwords.kind: {"model"},
}
"""Kind of tokenizer → the keys that its JSON has besides `kind`."""

KINDS = (*_UNTRAINED, *_EXTRA_KEYS)
"""The names of all kinds of tokenizer."""


def plain_tokenizer(kind: str, form: str) -> Tokenizer:
    """Return a tokenizer that needs no training, for lines in a normalization form."""
    if kind not in KINDS and (extension := extensions.find("tokenizer", kind)) is not None:
        return extension.cls()
    return Phonemes(form) if kind == Phonemes.kind else _UNTRAINED[kind]()


def tokenizer_from_json(value: object) -> Tokenizer:
    """Make a tokenizer from the output of `to_json`; anything else is a ValueError."""
    if not isinstance(value, dict):
        raise ValueError(wrong_value("tokenizer", shortened(value), "an object with a kind"))
    kind, known = value.get("kind"), (*KINDS, *extensions.names("tokenizer"))
    if isinstance(kind, str):
        kind = RENAMED_TOKENIZERS.get(kind, kind)
    if kind not in known:
        text = shortened(value.get("kind"))
        raise ValueError(messages.wrong_choice("tokenizer kind", text, known))
    expected = {"kind"} | _EXTRA_KEYS.get(kind, set())
    if kind == Tagged.kind and len(value) > 1:
        # earlier versions had tags of one form
        expected |= {"position", "separators"}
    if value.keys() != expected:
        keys = shortened(sorted(map(str, value)))
        raise ValueError(messages.wrong_tokenizer_keys(kind, keys, sorted(expected)))
    if kind == Subwords.kind:
        return Subwords(_decode_base64(value["model"]))
    if kind == Tagged.kind:
        return Tagged(**{key: value[key] for key in expected - {"kind"}})
    return plain_tokenizer(kind, value.get("form", ""))


def _decode_base64(model: object) -> bytes:
    """Decode a string in base64."""
    try:
        if isinstance(model, str):
            return base64.b64decode(model.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        pass
    raise ValueError(wrong_value("subword model", shortened(model), "bytes in base64"))
