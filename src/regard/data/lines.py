"""Bytes to lines, and an error for each line that cannot be read; knows nothing of pairs.

A line ends at "\\n" and nowhere else: U+2028, U+0085 and a "\\r" inside stay. One "\\r" at its end
(CRLF) and a byte order mark before the first line are removed. Compression and UTF-16 are detected
from the bytes, not from the file name. Memory holds one line, however long the file.
"""

import gzip
import io
import math
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, final

from typing_extensions import override

from regard.data import messages
from regard.data.encodings import (
    COMMON_ENCODINGS,
    UTF_16,
    Transcoder,
    can_decode,
    undecodable,
)
from regard.errors import DataError, unreadable

MAX_CHARACTERS = 1_000_000
"""The longest line that is read: a longer one is a file without line ends, not a line."""

STANDARD_INPUT = "standard input"
"""Name of the file "-" in messages."""

AnyPath = str | os.PathLike[str]

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
# a character has at most four bytes; with the line end, no line that is short enough is cut
_MAX_BYTES = 4 * MAX_CHARACTERS + len(BOM) + len(b"\r\n")


def display_name(path: AnyPath) -> str:
    """Return the name of a file in messages."""
    if isinstance(path, CopiedFile):
        return path.original
    return STANDARD_INPUT if os.fspath(path) == "-" else os.fspath(path)


def lines(
    path: AnyPath,
    *,
    may_be_empty: bool = False,
    encoding: str = "auto",
    carriage_returns: bool = False,
) -> Iterator[str | DataError]:
    """Yield each line, or its error; raise an error after which nothing can be read.

    `carriage_returns` says that lines end at "\\r", as on old Macs.
    """
    name, number = display_name(path), 0
    try:
        with open_decompressed(path) as file:
            if encoding == "auto":
                encoding = "utf-16" if _peek(file, name) in UTF_16 else "utf-8"
            if encoding != "utf-8" or carriage_returns:
                transcoder: Any = Transcoder(file, encoding, carriage_returns)
                file = io.BufferedReader(transcoder)
            for line in lines_of(file, name, encoding=encoding):
                number += 1
                yield line
    except OSError as error:
        raise DataError(name, number + 1, unreadable(error, name)) from None
    if number == 0 and not may_be_empty:
        raise empty_file(name)


def lines_of(
    file: IO[bytes], name: str, number: int = 0, end: float = math.inf, encoding: str = "utf-8"
) -> Iterator[str | DataError]:
    """Yield the lines after the first `number` of an open file that begin before byte `end`.

    The bytes are UTF-8; a file in another `encoding` comes through a `Transcoder`.
    """
    while True:
        with _damage_reported(name, number + 1):
            raw = file.readline(_MAX_BYTES) if end == math.inf or file.tell() < end else b""
        if not raw or (number == 0 and raw == BOM):
            return
        number += 1
        try:
            with _damage_reported(name, number):
                whole = _read_to_end(raw, file)
            if number == 1:
                whole = whole.removeprefix(BOM)
            yield _decode(whole, encoding)
        except ValueError as error:
            yield DataError(name, number, str(error))


@contextmanager
def _damage_reported(name: str, line: int) -> Iterator[None]:
    """Name the line at which a file cannot be read on."""
    try:
        yield
    except EOFError:
        raise DataError(name, line, messages.GZIP_CUT) from None
    except (gzip.BadGzipFile, zlib.error):
        raise DataError(name, line, messages.GZIP_DAMAGED) from None
    except OSError as error:
        raise DataError(name, line, unreadable(error, name)) from None


def empty_file(name: str) -> DataError:
    """Return the error of a file without any line."""
    return DataError(name, None, messages.EMPTY_FILE)


def _read_to_end(raw: bytes, file: IO[bytes]) -> bytes:
    """Return the line; if it is too long, skip its rest and raise."""
    if len(raw) < _MAX_BYTES or raw.endswith(b"\n"):
        return raw
    while raw and not raw.endswith(b"\n"):
        raw = file.readline(_MAX_BYTES)
    raise _too_long()


def _peek(file: Any, name: str) -> bytes:
    """Return the first two bytes without reading them."""
    with _damage_reported(name, 1):
        return file.peek(2)[:2]


def _decode(raw: bytes, encoding: str) -> str:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if encoding == "utf-8":
            fitting = [name for name in COMMON_ENCODINGS if can_decode(raw, name)]
            advice = [f"{name} ({COMMON_ENCODINGS[name]})" for name in fitting]
            problem = messages.not_utf8(error.start + 1, raw[error.start], advice)
        else:
            problem = messages.not_in_encoding(*undecodable(raw), encoding)
        raise ValueError(problem) from None
    if len(text) > MAX_CHARACTERS:
        raise _too_long()
    if "\0" in text:
        raise ValueError(messages.nul(text.index("\0") + 1))
    return text


def _too_long() -> ValueError:
    return ValueError(messages.line_too_long(MAX_CHARACTERS))


@contextmanager
def open_decompressed(path: AnyPath) -> Iterator[IO[bytes]]:
    """Open a file or standard input, and decompress gzip."""
    with ExitStack() as stack:
        raw = _standard_input() if os.fspath(path) == "-" else stack.enter_context(open_bytes(path))
        # a second byte only if it is needed: a line typed at a prompt must not block
        head = raw.read(1)
        if head in (GZIP[:1], *(mark[:1] for mark in UTF_16)):
            head += raw.read(1)
        whole: Any = io.BufferedReader(_PrependedReader(head, raw))
        if head == GZIP:
            # the outer buffer splits lines in C; GzipFile's own readline is many times slower
            whole = io.BufferedReader(stack.enter_context(gzip.GzipFile(fileobj=whole, mode="rb")))
        yield whole


@final
class CopiedFile(os.PathLike[str]):
    """A copy of standard input or of a pipe, which can be read twice."""

    def __init__(self, path: str, original: str) -> None:
        self.path = path
        self.original = original

    @override
    def __fspath__(self) -> str:
        return self.path


@contextmanager
def rereadable(path: AnyPath) -> Iterator[AnyPath]:
    """Copy standard input or a pipe to a temporary file; leave any other path."""
    is_pipe = os.fspath(path) != "-" and not os.path.isfile(path)
    if os.fspath(path) != "-" and (not is_pipe or os.path.isdir(path) or not os.path.exists(path)):
        yield path
        return
    name = display_name(path)
    with ExitStack() as stack:
        source = (
            _standard_input() if name == STANDARD_INPUT else stack.enter_context(open_bytes(path))
        )
        try:
            copy = stack.enter_context(tempfile.NamedTemporaryFile())
            shutil.copyfileobj(source, copy)
            copy.flush()
        except OSError as error:
            raise DataError(name, None, unreadable(error, name)) from None
        yield CopiedFile(copy.name, name)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise DataError(STANDARD_INPUT, None, messages.CLOSED)
    return sys.stdin.buffer


def open_bytes(path: AnyPath) -> IO[bytes]:
    """Open a file as bytes; the error says what is wrong with its path."""
    name = os.fspath(path)
    try:
        return open(name, "rb")
    except ValueError:
        # a NUL in a name
        raise DataError(repr(name), None, messages.NO_SUCH_FILE) from None
    except OSError as error:
        raise DataError(name, None, unreadable(error, name)) from None


@final
class _PrependedReader(io.RawIOBase):
    """The bytes that were read first, then the rest: a pipe cannot be rewound."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self.head = head
        self.rest: Any = rest

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        # read1 returns what is available: a line typed at a terminal arrives at once
        chunk = self.head or self.rest.read1(len(buffer))
        self.head = b""
        buffer[: len(chunk)] = chunk
        return len(chunk)
