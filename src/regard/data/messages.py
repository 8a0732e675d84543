"""Sentences about files of lines, pairs and encoded corpora, each in one place."""

from regard.choices import wrong_value

BLANK = "both sides are blank. Remove the line."
BLANK_SOURCE = "the source is blank. Fill it in or remove the line."
BLANK_TARGET = "the target is blank. Fill it in or remove the line."

EMPTY_FILE = "it is empty; it must hold at least one line of text."
GZIP_CUT = "the gzip data ends too early. Download or compress the file again."
GZIP_DAMAGED = "the gzip data is damaged. Download or compress the file again."
CLOSED = "it is closed; it must be a file or a pipe."
NO_SUCH_FILE = "there is no such file. Check the path."

NO_TAB = "the line has no tab. Separate source and target by a tab."
JSON_EXAMPLE = '{"source": "a", "target": "b"}'
NOT_JSON = f"the line is not JSON. Write it as {JSON_EXAMPLE}."
NOT_A_JSON_OBJECT = f"the line is JSON, but not an object. Write it as {JSON_EXAMPLE}."

NOT_A_CORPUS = "it exists and is not a corpus; it is not overwritten. Choose another name."
CORPUS_CUT = "the corpus was truncated while it was read. Encode the pairs again."
CONTENT_CHANGED = "its content is not what was written"
UNREADABLE_METADATA = "corpus.json cannot be read"


def not_utf8(position: int, byte: int) -> str:
    """Say which byte of a line is not UTF-8."""
    return f"byte {position} of the line is 0x{byte:02x}, not UTF-8. Save the file as UTF-8."


def nul(position: int) -> str:
    """Say where a line holds a NUL."""
    return f"character {position} of the line is NUL. Remove it."


def line_too_long(limit: int) -> str:
    """Say how long a line may be."""
    return f"the line is longer than {limit:,} characters. Split it into several lines."


def too_many_tabs(count: int) -> str:
    """Say that a line has more columns than two."""
    return f"the line has {count} tabs; it must have 1. Name columns: --columns source=1 target=2."


def too_few_columns(count: int, columns: str, last: int) -> str:
    """Say that a line lacks a column."""
    return (
        f"the line has {count} columns, but --columns {columns} needs {last}. "
        f"Use columns up to {count}."
    )


def wrong_columns(text: str) -> str:
    """Say how columns are named."""
    requirement = "columns of both sides, counted from 1"
    return wrong_value("columns", text, requirement, "Write source=1 target=2.")


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


def columns_without_tsv(columns: str) -> str:
    """Say that only one kind of file has columns."""
    return f"columns is {columns}, but only a TSV has columns. Leave columns out."


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
