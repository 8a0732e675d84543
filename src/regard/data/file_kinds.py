"""What a file is by its first bytes, and what to do with one that holds no readable pairs."""

import zipfile
from collections.abc import Mapping
from types import MappingProxyType

from regard.data import messages
from regard.data.lines import AnyPath

_BY_FIRST_BYTES: Mapping[bytes, str] = MappingProxyType(
    {
        b"\xd0\xcf\x11\xe0": messages.OLD_EXCEL,
        b"%PDF-": messages.PDF,
        b"{\\rtf": messages.RTF,
        b"BZh": messages.BZIP2,
        b"\xfd7zXZ\0": messages.XZ,
        b"\x28\xb5\x2f\xfd": messages.ZSTD,
        b"7z\xbc\xaf": messages.OTHER_ARCHIVE,
        b"Rar!": messages.OTHER_ARCHIVE,
        b"PAR1": messages.PARQUET,
        b"SQLite format 3": messages.SQLITE,
        b"\xff\xfe\0\0": messages.UTF_32,
        b"\0\0\xfe\xff": messages.UTF_32,
    }
)
ZIP = b"PK\x03\x04"


def unreadable_kind(sample: bytes) -> str | None:
    """Say what a file is that cannot be read, and what to do; None if it may be text."""
    for start, sentence in _BY_FIRST_BYTES.items():
        if sample.startswith(start):
            return sentence
    head = sample[:2000].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return messages.HTML
    if head.startswith(b"<?xml"):
        return messages.XML
    if len(sample) > 8 and sample[8:10] == b'{"' and b'"dtype"' in sample[:4000]:
        return messages.MODEL_FILE
    return None


def workbook_format(path: AnyPath) -> str:
    """Return xlsx or ods; a ValueError says what another archive is."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            kind = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, KeyError, NotImplementedError, RuntimeError, ValueError):
        raise ValueError(messages.DAMAGED_WORKBOOK) from None
    if "xl/workbook.xml" in names:
        return "xlsx"
    if kind.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        return "ods"
    if "word/document.xml" in names or kind.startswith(b"application/vnd.oasis.opendocument.text"):
        raise ValueError(messages.TEXT_DOCUMENT)
    if "xl/workbook.bin" in names:
        raise ValueError(messages.OLD_EXCEL)
    raise ValueError(messages.OTHER_ARCHIVE)
