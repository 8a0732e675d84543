"""Tables as people have them: any delimiter, quotation, encoding or workbook."""

import csv
import io
import os
import zipfile

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config.files import FileConfig
from regard.data import workbooks
from regard.data.headers import is_header
from regard.data.pairs import Pair, read_pairs, scan, scan_sources
from regard.data.reading_notes import ReadingNotes
from regard.errors import DataError

many = settings(max_examples=int(os.environ.get("REGARD_CASES", "100")), deadline=None)


def read(path, *, trim=False, **file):
    """Return the pairs and what the reader reports."""
    notes = ReadingNotes()
    entries = list(scan(path, file=FileConfig(**file), trim=trim, notes=notes))
    if errors := [entry for entry in entries if isinstance(entry, DataError)]:
        raise errors[0]
    pairs = [(pair.source, pair.target) for pair in entries]
    return pairs, [sentence.removeprefix(f"{path}: ") for sentence in notes.sentences()]


def write(path, rows, encoding="utf-8", **dialect):
    with open(path, "w", encoding=encoding, newline="") as file:
        csv.writer(file, **dialect).writerows(rows)
    return path


def refusal(path, **file):
    with pytest.raises(DataError) as caught:
        read(path, **file)
    return caught.value.problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


text = st.text(
    st.characters(exclude_characters="\0\ufeff\r\n", exclude_categories=["Cs"]),
    min_size=1,
    max_size=6,
)
cells = text.filter(lambda cell: cell.strip())
tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=5)
)


@many
@given(
    rows=tables,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_table_that_csv_writes_is_read_back(folder, rows, delimiter, quoting, encoding, end):
    dialect = {"delimiter": delimiter, "quoting": quoting, "lineterminator": end}
    path = write(folder / "table", rows, encoding, **dialect)
    width = len(rows[0])
    pairs, _ = read(
        path,
        format="csv",
        delimiter="tab" if delimiter == "\t" else delimiter,
        encoding=encoding.removesuffix("-sig"),
        header="no",
        columns=f"source={width} target=1",
    )
    assert pairs == [(row[-1], row[0]) for row in rows]


workbook_cells = st.text(
    st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=6
).filter(lambda cell: cell.strip() and "_x" not in cell and not cell.startswith("="))


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(workbook_cells, workbook_cells), min_size=1, max_size=5))
def test_any_workbook_that_openpyxl_writes_is_read_back(folder, rows):
    book = openpyxl.Workbook()
    for number, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            book.active.cell(number, column, cell).data_type = "s"
    book.save(folder / "book.xlsx")
    assert read(folder / "book.xlsx", header="no", columns="source=1 target=2")[0] == rows


ROWS = [["Lemma", "Tags", "Form"], ["go", "V;PST", "went"], ["see", 'V;"x"', "sa,w"]]
READ = [("go V;PST", "went"), ('see V;"x"', "sa,w")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(("delimiter", "name"), [(",", "commas"), (";", "semicolons")])
def test_a_csv_is_detected_and_reported(folder, delimiter, name, encoding):
    path = write(folder / "x.txt", [*ROWS, *[["ä b", "N", "c"]] * 9], encoding, delimiter=delimiter)
    pairs, (sentence,) = read(path, columns="source=Lemma,Tags target=Form")
    assert pairs[:2] == READ
    word = "" if encoding.startswith("utf-8") else f", {encoding.upper()}"
    assert sentence == (
        f"read as CSV separated by {name}{word}, with a header line: source = columns 1 + 2 (Lemma "
        "+ Tags), target = column 3 (Form)"
    )


def test_a_plain_tsv_is_read_in_silence(folder):
    (folder / "plain.tsv").write_text('a, b\t"c\n; d\te;\n')
    assert read(folder / "plain.tsv") == ([("a, b", '"c'), ("; d", "e;")], [])


def test_a_tsv_with_some_bad_lines_stays_a_tsv(folder):
    (folder / "x.tsv").write_text("a\tb\nc,d\ne\tf\ng,h\n")
    assert refusal(folder / "x.tsv").startswith("the line has no tab. Separate")


def test_prose_is_no_csv(folder):
    (folder / "x.tsv").write_text("Yes, we can\nWell, no\n")
    assert refusal(folder / "x.tsv") == "the line has no tab. Separate source and target by a tab."


def test_line_breaks_in_cells_become_spaces_and_are_counted(folder):
    path = write(folder / "x.csv", [["a\nb", "c"], ["d", "e\r\nf"], ["g", "h"]])
    assert read(path)[0] == [("a b", "c"), ("d", "e f"), ("g", "h")]
    assert "replaced line breaks by spaces in 2 cells" in read(path)[1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('x,"y', "a quotation mark is never closed. Close it"),
        ('"x" y,z', "text follows a closing quotation mark. Write a quotation mark"),
    ],
)
def test_wrong_quotation_marks_spoil_only_their_line(folder, line, problem):
    (folder / "x.csv").write_text(f"a,b\nc,d\n{line}\ne,f\ng,h\n")
    *_, error, last, final = list(scan(folder / "x.csv"))
    assert (error.line, error.problem.startswith(problem)) == (3, True)
    assert [(last.source, last.line), (final.source, final.line)] == [("e", 4), ("g", 5)]


def test_edges_are_trimmed_and_counted_on_request(folder):
    (folder / "x.tsv").write_text("\u00a0a b \tc\n\n d\te\u3000\nf\tg\n")
    assert read(folder / "x.tsv")[0] == [("\u00a0a b ", "c"), (" d", "e\u3000"), ("f", "g")]
    assert read(folder / "x.tsv", trim=True) == (
        [("a b", "c"), ("d", "e"), ("f", "g")],
        ["skipped 1 blank line", "trimmed white space at the edges in 2 lines"],
    )


def test_comments_are_skipped_before_the_header(folder):
    (folder / "x.tsv").write_text("# by hand\nword\tipa\na\tb\n#c\td\n")
    pairs, sentences = read(folder / "x.tsv", comment="#")
    assert pairs == [("a", "b")]
    assert "skipped 2 comments" in sentences


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["source", "target"], True),
        (["Word", "IPA"], True),
        (["lemma", "tags", "form"], True),
        (["ipa", "word"], True),
        (["English", "German"], True),
        (["source_text", "Target 1"], True),
        (["原文", "译文"], True),
        # pairs of dictionaries
        (["word", "Wort"], False),
        (["form", "forma"], False),
        (["go", "went"], False),
        (["word", "w ɜː d"], False),
        (["target", "target"], False),
        (["source", ""], False),
        (["note", "N;SG", "noted"], False),
    ],
)
def test_a_header_is_known_by_its_names(cells, expected):
    assert is_header(cells) is expected


def test_a_header_is_never_learned_and_never_lost_in_silence(folder):
    (folder / "x.tsv").write_text("word\tipa\na\tb\nc\td\n")
    pairs, sentences = read(folder / "x.tsv")
    assert pairs == [("a", "b"), ("c", "d")]
    (_, hint) = sentences
    assert hint == (
        "the first line is a header, not a pair: word, ipa (--header no reads it as a pair)"
    )
    assert read(folder / "x.tsv", header="no") == ([("word", "ipa"), ("a", "b"), ("c", "d")], [])


def test_a_header_in_other_letters_is_asked_about(folder):
    rows = "".join(f"{chr(0x5D0 + n)}\t{n}\n" for n in range(25))
    (folder / "x.tsv").write_text(f"hebr\t0\n{rows}")
    pairs, (hint,) = read(folder / "x.tsv")
    assert len(pairs) == 26
    assert (
        hint == "the first line is read as a pair: hebr → 0. If it is a header, pass --header yes."
    )
    assert len(read(folder / "x.tsv", header="yes")[0]) == 25


def test_lines_may_end_as_on_old_macs(folder):
    (folder / "x.txt").write_bytes("a\tä\rb\tc\r".encode("mac-roman"))
    assert read(folder / "x.txt", encoding="mac-roman")[0] == [("a", "ä"), ("b", "c")]


def test_a_byte_that_is_not_in_the_encoding_is_named(folder):
    (folder / "x.tsv").write_bytes(b"a\tb\nc\x81\td\n")
    sentence = "character 2 of the line is the byte 0x81, which is not cp1252."
    assert refusal(folder / "x.tsv", encoding="cp1252").startswith(sentence)
    assert read(folder / "x.tsv", encoding="cp437")[0][1] == ("cü", "d")


def test_a_workbook_has_sheets_a_header_and_numbers(folder):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Words"
    for row in (["word", "form", None], [None], [" one ", 1, "?"], ["half", 0.5, None]):
        sheet.append(row)
    other = book.create_sheet("Other")
    other.append(["a", "b"])
    other.append(["c", "d\ne"])
    path = folder / "book.xlsx"
    book.save(path)
    pairs, sentences = read(path, trim=True, columns="source=word target=form")
    assert pairs == [("one", "1"), ("half", "0.5")]
    assert sentences[0].startswith("read as Excel workbook, sheet Words, with a header line: ")
    assert read(path, sheet="Other")[0] == [("a", "b"), ("c", "d e")]
    assert (
        refusal(path, sheet="No") == "it has no sheet No. Pass --sheet with one of: Words, Other."
    )


ODS = """<?xml version="1.0"?><d:document-content xmlns:d="urn:o"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><table:table table:name="A">{}
 <table:table-row table:number-rows-repeated="1048000"><table:table-cell
 table:number-columns-repeated="16384"/></table:table-row></table:table></d:document-content>"""
ODS_ROW = (
    "<table:table-row><table:table-cell><text:p>{}</text:p></table:table-cell>"
    "<table:table-cell><text:p>{}</text:p></table:table-cell></table:table-row>"
)


def write_ods(path, rows):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", ODS.format("".join(ODS_ROW.format(*row) for row in rows)))
    return path


def test_an_opendocument_spreadsheet_is_read(folder):
    rows = [("word", "ipa"), ("a<text:s text:c='2'/>b", "c</text:p><text:p>d")]
    path = write_ods(folder / "book.ods", rows)
    pairs, sentences = read(path)
    assert pairs == [("a  b", "c d")]
    assert sentences[0].startswith("read as OpenDocument spreadsheet, with a header line: ")


def test_a_workbook_that_unpacks_to_too_much_is_refused(folder, monkeypatch):
    path = write_ods(folder / "bomb.ods", [("a", "b" * 100_000)])
    monkeypatch.setattr(workbooks, "MAX_BYTES", 90_000)
    assert "unpacks to" in refusal(path)


@pytest.mark.parametrize("size", [40, 200, 2000])
def test_a_damaged_workbook_is_named(folder, size):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.save(folder / "whole.xlsx")
    path = folder / "cut.xlsx"
    path.write_bytes((folder / "whole.xlsx").read_bytes()[:size])
    assert refusal(path).startswith("the workbook is damaged. ")


def test_named_columns_need_a_header_that_has_them(folder):
    path = write(folder / "x.csv", ROWS)
    assert refusal(path, columns="source=Lemma target=Shape").startswith("it has no column Shape; ")
    assert refusal(path) == (
        "it has 3 columns (Lemma, Tags, Form). Say which to learn from, such as --columns "
        "source=Lemma,Tags target=Form."
    )
    # following the advice works
    assert read(path, columns="source=Lemma,Tags target=Form")[0] == READ


def test_remembered_names_win_over_numbers_where_they_are(folder):
    remembered = {"columns": "source=1,2 target=3", "names": "source=Lemma,Tags target=Form"}
    path = write(folder / "x.csv", [[row[2], row[0], row[1]] for row in ROWS])
    assert read(path, **remembered)[0] == READ
    path = write(folder / "x.csv", ROWS[1:])
    assert read(path, **remembered)[0] == READ


def test_a_file_of_sources_has_the_columns_of_the_source_alone(folder):
    path = write(folder / "x.csv", [*ROWS[:2], [], ["be", "V", ""]])
    config = FileConfig(columns="source=1,2 target=3", names="source=Lemma,Tags target=Form")
    rows = list(scan_sources(path, config, trim=True, notes=ReadingNotes()))
    assert rows == [(2, "go V;PST"), (3, ""), (4, "be V")]
    (folder / "plain.txt").write_text("Yes, we; can\n\nno\n")
    rows = scan_sources(folder / "plain.txt", FileConfig(), trim=True, notes=ReadingNotes())
    assert [row for _, row in rows] == ["Yes, we; can", "", "no"]


def test_standard_input_may_hold_any_table(monkeypatch):
    data = "a;b\nc;d\n".encode("utf-16")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert [*read_pairs("-")] == [
        Pair("a", "b", "standard input", 1),
        Pair("c", "d", "standard input", 2),
    ]
