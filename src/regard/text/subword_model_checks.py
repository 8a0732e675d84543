"""Checks the bytes of a sentencepiece model before they reach its parser, which is not hardened.

Only what `subwords.train_subwords` writes passes: pieces of text with finite scores, the unknown
piece first, and no table of character replacements. The format is that of protocol buffers.
"""

import math
import struct
from collections.abc import Iterator

from regard.text import messages

PIECES, TRAINER, NORMALIZER = 1, 2, 3
"""Fields of a model."""

TEXT_KEY, SCORE_KEY = b"\x0a", b"\x15"
"""What begins the fields of a piece."""

NORMAL, UNKNOWN = b"\x18\x01", b"\x18\x02"
"""Types of pieces, with the key of the field."""

CHARACTER_MAP = 2
"""The field of a normalizer with a compiled table of replacements."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""


def check_subword_model(model: bytes) -> None:
    """Raise a ValueError for bytes that regard did not write as a sentencepiece model."""
    texts: list[bytes] = []
    for field, value in _fields(model):
        if field not in (PIECES, TRAINER, NORMALIZER) or not isinstance(value, bytes):
            raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
        if field == PIECES:
            texts.append(_piece_text(value, is_first=not texts))
        elif field == NORMALIZER and any(n == CHARACTER_MAP and v for n, v in _fields(value)):
            raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
    if len(set(texts)) < max(1, len(texts)):
        raise ValueError(messages.FOREIGN_SUBWORD_MODEL)


def _piece_text(piece: bytes, *, is_first: bool) -> bytes:
    """Return the text of a piece: a text below 128 bytes, its score, and a type unless normal."""
    end = 2 + piece[1] if len(piece) > 1 else 0
    text, score, type_ = piece[2:end], piece[end : end + 5], piece[end + 5 :]
    if not text or piece[:1] != TEXT_KEY or len(score) < 5 or score[:1] != SCORE_KEY:
        raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
    # raises a UnicodeDecodeError, which is a ValueError
    text.decode()
    if (type_ or NORMAL) != (UNKNOWN if is_first else NORMAL):
        raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
    if not math.isfinite(struct.unpack("<f", score[1:])[0]):
        raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
    return text


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        wire_type = key & 7
        if wire_type == VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if wire_type == BYTES:
            size, place = _varint(message, place)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire_type, len(message))
        content, place = message[place : place + size], place + size
        if place > len(message):
            raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
        yield key >> 3, content


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Read a number of seven bits per byte, the lowest first; return it and the place after it."""
    number = 0
    # at most ten bytes hold 64 bits
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        number, place = number | (byte & 127) << shift, place + 1
        if byte < 128:
            return number, place
    raise ValueError(messages.FOREIGN_SUBWORD_MODEL)
