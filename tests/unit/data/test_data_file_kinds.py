"""What cannot be read is named for what it is, and the advice works where it is followed."""

import bz2
import json
import lzma
import re
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from regard.config.files import FileConfig
from regard.data.pairs import read_pairs
from regard.errors import DataError

PAIRS = [("a", "b"), ("c", "d")]
TSV = b"a\tb\nc\td\n"


def refusal(path, **file):
    with pytest.raises(DataError) as caught:
        list(read_pairs(path, file=FileConfig(**file)))
    return caught.value.problem


def sides(path, **file):
    return [(pair.source, pair.target) for pair in read_pairs(path, file=FileConfig(**file))]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "it is an Excel workbook of another"),
        (b"%PDF-1.7\n", "it is a PDF."),
        (b"{\\rtf1\\ansi a\tb}", "it is a formatted document"),
        (b"7z\xbc\xaf\x27\x1c", "it is an archive."),
        (b"PAR1\x15\x04", "it is a Parquet file."),
        (b"SQLite format 3\0", "it is a database"),
        (b"\n <!DOCTYPE html><table>", "it is a web page"),
        (b'<?xml version="1.0"?><a/>', "it is XML."),
        (save({"a": np.zeros(1)}), "it is a model file"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "it is compressed by zstd."),
    ],
)
def test_a_file_that_holds_no_pairs_is_named(tmp_path, data, kind):
    (tmp_path / "x.tsv").write_bytes(data)
    assert refusal(tmp_path / "x.tsv").startswith(kind)


def test_a_text_document_is_named(tmp_path):
    for name, member in (("x.docx", "word/document.xml"), ("x.zip", "x.tsv")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(member, TSV)
    assert refusal(tmp_path / "x.docx").startswith("it is a text document")
    assert refusal(tmp_path / "x.zip").startswith("it is an archive. Unpack it")
    zipfile.ZipFile(tmp_path / "x.zip").extractall(tmp_path)
    assert sides(tmp_path / "x.tsv") == PAIRS


@pytest.mark.parametrize(("module", "tool"), [(bz2, "bunzip2"), (lzma, "unxz")])
def test_a_compressed_file_is_named_and_can_be_decompressed(tmp_path, module, tool):
    path = tmp_path / "x.tsv"
    path.write_bytes(module.compress(TSV))
    assert f"Decompress it first: {tool} FILE." in refusal(path)
    path.write_bytes(module.decompress(path.read_bytes()))
    assert sides(path) == PAIRS


def test_utf_32_is_read_as_advised(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\nc\td\n", encoding="utf-32")
    assert refusal(tmp_path / "x.tsv") == "it is UTF-32. Pass --encoding utf-32."
    assert sides(tmp_path / "x.tsv", encoding="utf-32") == PAIRS


def test_a_legacy_encoding_is_read_as_advised(tmp_path):
    (tmp_path / "x.tsv").write_bytes("a\tb\nšč\td\n".encode("cp1250"))
    names = re.findall(r"(cp\d+) \(", refusal(tmp_path / "x.tsv"))
    assert "cp1250" in names
    for name in names:
        assert len(sides(tmp_path / "x.tsv", encoding=name)) == 2
    assert sides(tmp_path / "x.tsv", encoding="cp1250")[1] == ("šč", "d")


def test_a_json_array_is_named_and_its_lines_are_read(tmp_path):
    rows = [{"source": source, "target": target} for source, target in PAIRS]
    for indent in (None, 2):
        (tmp_path / "x.json").write_text(json.dumps(rows, indent=indent))
        assert refusal(tmp_path / "x.json").startswith("it is a JSON array; it must be JSON lines.")
    (tmp_path / "x.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert sides(tmp_path / "x.json") == PAIRS


def test_another_delimiter_is_advised_where_it_works(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a;b\nc;d\ne\nf\ng;h\n")
    problem = refusal(path)
    assert problem.endswith("If columns are separated by semicolons, pass --delimiter ';'.")
    path.write_text("a;b\nc;d\n")
    assert sides(path, delimiter=";") == PAIRS


def test_a_format_that_does_not_fit_is_refused(tmp_path):
    (tmp_path / "x.tsv").write_bytes(TSV)
    assert refusal(tmp_path / "x.tsv", format="xlsx").endswith("Leave --input-format out.")
