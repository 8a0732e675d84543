"""Sentences about files of lines, pairs and encoded corpora, each in one place."""

from regard.choices import either

BLANK = "both sides are blank. Remove the line."
BLANK_SOURCE = "the source is blank. Fill it in or remove the line."
BLANK_TARGET = "the target is blank. Fill it in or remove the line."

EMPTY_FILE = "it is empty; it must hold at least one line of text."
GZIP_CUT = "the gzip data ends too early. Download or compress the file again."
GZIP_DAMAGED = "the gzip data is damaged. Download or compress the file again."
CLOSED = "it is closed; it must be a file or a pipe."
NO_SUCH_FILE = "there is no such file. Check the path."

JSON_EXAMPLE = '{"source": "a", "target": "b"}'
NOT_JSON = f"the line is not JSON. Write it as {JSON_EXAMPLE}."
NOT_A_JSON_OBJECT = f"the line is JSON, but not an object. Write it as {JSON_EXAMPLE}."

NOT_A_CORPUS = "it exists and is not a corpus; it is not overwritten. Choose another name."
CORPUS_CUT = "the corpus was truncated while it was read. Encode the pairs again."
CONTENT_CHANGED = "its content is not what was written"
UNREADABLE_METADATA = "corpus.json cannot be read"


def not_utf8(position: int, byte: int, encodings: list[str]) -> str:
    """Say which byte of a line is not UTF-8."""
    advice = f", or pass its --encoding, such as {either(encodings)}" if encodings else ""
    return (
        f"byte {position} of the line is 0x{byte:02x}, not UTF-8. Save the file as UTF-8{advice}."
    )


def not_in_encoding(position: int, byte: int, encoding: str) -> str:
    """Say which byte of a line does not fit the encoding."""
    return (
        f"character {position} of the line is the byte 0x{byte:02x}, which is not {encoding}. Pass "
        "another --encoding."
    )


def nul(position: int) -> str:
    """Say where a line holds a NUL."""
    return f"character {position} of the line is NUL. Remove it."


def line_too_long(limit: int) -> str:
    """Say how long a line may be."""
    return f"the line is longer than {limit:,} characters. Split it into several lines."


DELIMITERS = {
    "\t": ("tab", "tab"),
    ",": ("comma", "','"),
    ";": ("semicolon", "';'"),
    "|": ("vertical bar", "'|'"),
}
"""The name of each usual delimiter, and how it is typed."""


def one_column(delimiter: str, other: str | None) -> str:
    """Say that a line has only one column."""
    what = DELIMITERS.get(delimiter, (repr(delimiter), ""))[0]
    if other is not None:
        there, typed = DELIMITERS[other]
        return (
            f"the line has no {what}. If columns are separated by {there}s, pass --delimiter "
            f"{typed}."
        )
    return f"the line has no {what}. Separate source and target by a {what}."


def too_many_columns(count: int) -> str:
    """Say that a line has more columns than two."""
    return (
        f"the line has {count} columns; it must have 2. Name columns: --columns source=1 target=2."
    )


def too_few_columns(count: int, last: int) -> str:
    """Say that a line lacks a column."""
    return (
        f"the line has {count} column{'s' * (count != 1)}, but column {last} is needed. Fill it "
        "in, or name other --columns."
    )


def many_columns(count: int, names: str, advice: str) -> str:
    """Say that a whole file has more columns than two."""
    named = f" ({names})" if names else ""
    return f"it has {count} columns{named}. Say which to learn from, such as --columns {advice}."


def no_such_column(name: str, present: str) -> str:
    """Say that no column has a name."""
    return f"it has no column {name}; its columns are {present}. Name one of those in --columns."


def no_header(name: str, first: str) -> str:
    """Say that columns are named, but that there is no line with names."""
    return (
        f"it has no column {name}; its first line is {first}. Name columns by number, such as "
        "--columns source=1 target=2."
    )


def names_needed(columns: str) -> str:
    """Say that columns of JSON have no numbers."""
    return (
        f"it holds JSON lines, whose columns have no numbers, but columns is {columns}. Name keys, "
        "such as --columns source=source target=target."
    )


def wrong_json_side(name: str) -> str:
    """Say that a JSON line lacks a side."""
    return f'"{name}" is missing or not a string. Write the line as {JSON_EXAMPLE}.'


def not_a_line(name: str, what: str) -> str:
    """Say that a string of JSON is not one line of text."""
    return f'"{name}" contains {what}; it must be one line of text. Remove it.'


def two_sources_of_pairs(path: str) -> str:
    """Say that pairs are given in two ways."""
    return f"pairs is {path}, but source or target is given too. Give one or the other."


def one_parallel_file(source: str, target: str) -> str:
    """Say that one of two parallel files is missing."""
    return (
        f"source is {source} and target is {target}; both must be files. "
        "Give one file of pairs, or two parallel files."
    )


BOTH_STANDARD_INPUT = "source and target are both -; one of them must be a file. Or give pairs = -."


def columns_of_parallel(name: str, columns: str) -> str:
    """Say that parallel files have no columns."""
    return f"{name} is {columns}, but parallel files have no columns. Leave {name} out."


def different_line_counts(count: int, other_name: str, other_count: int) -> str:
    """Say that parallel files differ in length."""
    return (
        f"it has {count} lines, but {other_name} has {other_count}. "
        "Parallel files must have equally many lines."
    )


def damaged_corpus(reason: str) -> str:
    """Say that a corpus on disk is not as it was written."""
    return f"the corpus is damaged ({reason}). Encode the pairs again."


def wrong_version(version: object, expected: int) -> str:
    """Say that a corpus has another format."""
    return f"its version is {version}, not {expected}"


# what is skipped and changed


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def more_bad_lines(count: int) -> str:
    """Say how to see all bad lines."""
    return f"and {count:,} more: --all lists them, --out FILE.tsv writes them to a table"


def blank_lines(count: int) -> str:
    """Count blank lines."""
    return f"skipped {_count(count, 'blank line')}"


def comment_lines(count: int) -> str:
    """Count comments."""
    return f"skipped {_count(count, 'comment')}"


def trimmed_lines(count: int) -> str:
    """Count lines with white space at an edge."""
    return f"trimmed white space at the edges in {_count(count, 'line')}"


def line_breaks(count: int) -> str:
    """Count cells with line breaks."""
    return f"replaced line breaks by spaces in {_count(count, 'cell')}"


def header_skipped(names: str) -> str:
    """Say which line is taken for the header."""
    return f"the first line is a header, not a pair: {names} (--header no reads it as a pair)"


def perhaps_header(names: str) -> str:
    """Say that the first line may be a header."""
    return f"the first line is read as a pair: {names}. If it is a header, pass --header yes."


# files that are not text


OLD_EXCEL = "it is an Excel workbook of another kind (.xls or .xlsb). Save it as .xlsx or CSV."
PDF = "it is a PDF. Save its table as CSV."
RTF = "it is a formatted document (RTF). Save it as plain text."
BZIP2 = "it is compressed by bzip2. Decompress it first: bunzip2 FILE."
XZ = "it is compressed by xz. Decompress it first: unxz FILE."
ZSTD = "it is compressed by zstd. Decompress it first: unzstd FILE."
OTHER_ARCHIVE = "it is an archive. Unpack it, and pass a file that is in it."
TEXT_DOCUMENT = "it is a text document (.docx or .odt). Save its table as CSV."
PARQUET = "it is a Parquet file. Save it as CSV."
SQLITE = "it is a database (SQLite). Save its table as CSV."
UTF_32 = "it is UTF-32. Pass --encoding utf-32."
HTML = "it is a web page (HTML), not a table. Save its table as CSV."
XML = "it is XML. Save its table as CSV."
MODEL_FILE = "it is a model file, not pairs. Pass a file of pairs."
JSON_ARRAY = "it is a JSON array; it must be JSON lines. Convert it: jq -c '.[]' FILE > FILE.jsonl"
DAMAGED_WORKBOOK = "the workbook is damaged. Save it again, or save the sheet as CSV."
NO_OPENPYXL = (
    'it is an Excel workbook, which needs openpyxl. Run pip install "regard[xlsx]", or save the '
    "sheet as CSV."
)


def not_a_workbook(format_: str) -> str:
    """Say that a file is no workbook."""
    return f"it is not a workbook, but the format is {format_}. Leave --input-format out."


def is_a_workbook(actual: str, format_: str) -> str:
    """Say that a file is a workbook."""
    return f"it is a workbook ({actual}), but the format is {format_}. Leave --input-format out."


def workbook_too_large(size: int, limit: int) -> str:
    """Say that a workbook unpacks to too much."""
    return (
        f"the workbook unpacks to {size:,} bytes; it must be at most {limit:,}. Save the sheet as "
        "CSV."
    )


def no_such_sheet(sheet: str, present: list[str]) -> str:
    """Say that there is no such sheet."""
    return f"it has no sheet {sheet}. Pass --sheet with one of: {', '.join(present)}."


def wrong_quotation(reason: str) -> str:
    """Say that quotation marks of a CSV do not fit."""
    if "unexpected end" in reason:
        return 'a quotation mark is never closed. Close it, or write a mark inside a cell as "".'
    return (
        'text follows a closing quotation mark. Write a quotation mark inside a cell as "", with '
        "the cell in quotation marks."
    )
