"""Text in other encodings than UTF-8: detected, and decoded as it is read."""

import codecs
import io
from typing import IO, Any, final

from typing_extensions import override

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

COMMON_ENCODINGS = {
    "cp1252": "Western",
    "cp1250": "Central European",
    "cp1251": "Cyrillic",
    "cp1255": "Hebrew",
    "shift_jis": "Japanese",
    "gb18030": "Chinese",
}
"""Legacy encodings to suggest, and what each is for."""

_BAD_BYTES = 0xDC00
"""Code point that stands for byte 0 where it cannot be decoded: a lone surrogate."""


def _keep_bad_bytes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 (decoders only)
    bad = error.object[error.start : error.end]
    return "".join(chr(_BAD_BYTES + byte) for byte in bad), error.end


codecs.register_error("regard-keep-bad-bytes", _keep_bad_bytes)


def detect_encoding(sample: bytes) -> str:
    """Return UTF-16 if a byte order mark or the zeros in ASCII characters show it, else UTF-8."""
    if sample[:2] in UTF_16:
        return "utf-16"
    even, odd = sample[0:4096:2].count(0), sample[1:4096:2].count(0)
    half = min(len(sample), 4096) // 2
    # tabs, line ends and spaces are ASCII in any script
    if max(even, odd) > max(3, 0.05 * half) and min(even, odd) == 0:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


def can_decode(raw: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding; one character may be cut at the end."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(raw)
    except UnicodeError:
        return False
    return True


def undecodable(raw: bytes) -> tuple[int, int]:
    """Return the position of the first bad character of a transcoded line, and its byte."""
    text = raw.decode("utf-8", "surrogatepass")
    bad = (n for n, x in enumerate(text) if _BAD_BYTES <= ord(x) < _BAD_BYTES + 256)
    position = next(bad, 0)
    return position + 1, ord(text[position]) & 0xFF


@final
class Transcoder(io.RawIOBase):
    """A file in another encoding as UTF-8; bytes that do not fit become invalid UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str, carriage_returns: bool = False) -> None:
        super().__init__()
        self.file: Any = file
        self.decoder = codecs.getincrementaldecoder(encoding)("regard-keep-bad-bytes")
        self.carriage_returns = carriage_returns
        self.pending = b""
        self.at_end = False

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        while not self.pending and not self.at_end:
            raw = self.file.read1(1 << 16)
            self.at_end = not raw
            text = self.decoder.decode(raw, final=self.at_end)
            if self.carriage_returns:
                text = text.replace("\r", "\n")
            self.pending = text.encode("utf-8", "surrogatepass")
        chunk, self.pending = self.pending[: len(buffer)], self.pending[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)
