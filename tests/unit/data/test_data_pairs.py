"""Pairs from one TSV, two files or JSON lines; every complaint a sentence with file and line."""

import gzip
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from regard.config.columns import Columns
from regard.config.files import FileConfig
from regard.data.pairs import Pair, problems, read_pairs, scan
from regard.data.reading_notes import ReadingNotes
from regard.errors import ConfigError, DataError


@pytest.fixture
def written(tmp_path):
    def write(text, name="pairs.tsv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def sides(pairs):
    return [(pair.source, pair.target) for pair in pairs]


def refusal(*args, **kwargs):
    with pytest.raises(DataError) as caught:
        list(read_pairs(*args, **kwargs))
    return str(caught.value)


def test_a_pair_knows_its_file_and_line(written):
    path = written("a\tb\nc d\té\n")
    assert list(read_pairs(path)) == [
        Pair("a", "b", str(path), 1),
        Pair("c d", "é", str(path), 2),
    ]


def test_the_same_source_may_have_several_targets(written):
    assert sides(read_pairs(written("a\tb\na\tc\n"))) == [("a", "b"), ("a", "c")]


def test_strange_line_separators_stay_inside_a_side(written):
    text = "a\u2028b\tc\u0085d\r\ne\tf\n"
    assert sides(read_pairs(written(text))) == [("a\u2028b", "c\u0085d"), ("e", "f")]


BLANK_SOURCE = "the source is blank. Fill it in or remove the line."
BLANK_TARGET = "the target is blank. Fill it in or remove the line."
BLANK = "both sides are blank. Remove the line."


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ab", "the line has no tab. Separate source and target by a tab."),
        (
            "a\tb\tc",
            "the line has 3 columns; it must have 2. Name columns: --columns source=1 target=2.",
        ),
        (
            "a\t\tc\t",
            "the line has 4 columns; it must have 2. Name columns: --columns source=1 target=2.",
        ),
        ("\tb", BLANK_SOURCE),
        (" \u3000\tb", BLANK_SOURCE),
        ("a\t", BLANK_TARGET),
        ("a\t\r", BLANK_TARGET),
    ],
)
def test_a_bad_line_of_a_tsv_is_refused_in_one_sentence(written, line, problem):
    path = written(f"x\ty\n{line}\nx\ty\n")
    assert refusal(path) == f"{path}, line 2: {problem}"
    assert [str(error) for error in problems(path)] == [f"{path}, line 2: {problem}"]


@pytest.mark.parametrize("line", ["", "\t", " \t\t ", "\u00a0", "\r"])
def test_blank_lines_are_skipped_and_counted(written, line):
    notes = ReadingNotes()
    pairs = list(scan(written(f"\n{line}\nx\ty\n{line}\nz\tw\n"), notes=notes))
    assert [(pair.source, pair.line) for pair in pairs] == [("x", 3), ("z", 5)]
    assert notes.blank_lines == 3


def test_pairs_before_a_bad_line_are_read(written):
    pairs = read_pairs(written("a\tb\nbad\nc\td\n"))
    assert sides([next(pairs)]) == [("a", "b")]
    with pytest.raises(DataError):
        next(pairs)


def test_a_scan_continues_after_a_bad_line_in_order(written):
    items = list(scan(written(b"a\tb\nbad\n\xff\tx\nc\td\n")))
    assert [type(item) for item in items] == [Pair, DataError, DataError, Pair]
    assert [item.line for item in items] == [1, 2, 3, 4]


def test_an_error_that_ends_a_scan_is_its_last_item(written, tmp_path):
    (only,) = scan(tmp_path / "none.tsv")
    assert isinstance(only, DataError)
    *_, last = scan(written(gzip.compress(b"a\tb\n" * 100)[:-4]))
    assert last.problem.startswith("the gzip data ends too early")
    assert last.ends_reading
    (bad,) = scan(written("a\n"))
    assert not bad.ends_reading


def test_columns_are_counted_from_one_and_joined_by_a_space(written):
    path = written("lemma1\tform1\tV;PST\n")
    both = Columns.parse("source=1,3 target=2")
    assert both == Columns(source=(1, 3), target=(2,))
    columns = FileConfig(columns="source=1,3 target=2")
    assert sides(read_pairs(path, file=columns)) == [("lemma1 V;PST", "form1")]
    swapped = FileConfig(columns="  target=1   source=3,3,1 ", joiner="+")
    assert sides(read_pairs(path, file=swapped)) == [("V;PST+V;PST+lemma1", "lemma1")]


def test_unselected_columns_are_left_out(written):
    columns = FileConfig(columns="source=1 target=2")
    assert sides(read_pairs(written("a\tb\tc\nd\te\n"), file=columns)) == [
        ("a", "b"),
        ("d", "e"),
    ]


def test_a_missing_column_is_named(written):
    path = written("a\tb\tc\nd\te\n")
    assert refusal(path, file=FileConfig(columns="source=1,3 target=2")) == (
        f"{path}, line 2: the line has 2 columns, but column 3 is needed. Fill it in, or name "
        "other --columns."
    )


def test_a_side_of_blank_columns_is_blank(written):
    path = written("a\t\tb\t\n")
    assert refusal(path, file=FileConfig(columns="source=2,4 target=1")).endswith(BLANK_SOURCE)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1 2", "source=1", "source=1 source=2", "source=0 target=1", "source=-1 target=2"),
        *(
            "source=1, target=2",
            "source= target=2",
            "source=1 target=2 other=3",
            "source=a,,b target=c",
            'source="a target=b',
        ),
        *("source=1.0 target=2", "SOURCE=1 TARGET=2", "source=12345678 target=1"),
    ],
)
def test_invalid_columns_are_refused(text):
    with pytest.raises(ConfigError) as caught:
        Columns.parse(text)
    assert str(caught.value) == (
        f"data: columns is {text or repr(text)}; it must be columns of both sides, by number or "
        f"name. Write source=1,3 target=2."
    )


def test_columns_built_in_python_are_checked_too():
    with pytest.raises(ConfigError, match="columns is source=0 target=2; it must"):
        Columns((0,), (2,))
    with pytest.raises(ConfigError, match="columns is source= target=2; it must"):
        Columns((), (2,))


def test_columns_print_in_the_form_that_is_parsed():
    assert str(Columns.parse("target=2 source=1,3")) == "source=1,3 target=2"
    names = 'source=lemma,"form, past",12 a target=a b'
    assert Columns.parse(names).source == ("lemma", "form, past", "12 a")
    assert str(Columns.parse(names)) == names


@pytest.mark.parametrize(
    "name",
    ["a.jsonl", "a.JSONL", "a.jsonl.gz", "a.json", "a.json.gz", "a.ndjson", "a.Ndjson.gz"],
)
def test_json_lines_are_recognized_by_file_name(written, name):
    line = json.dumps({"source": "a\tb", "target": "ü", "note": [1]})
    path = written(gzip.compress((line + "\n").encode()), name)
    assert list(read_pairs(path)) == [Pair("a\tb", "ü", str(path), 1)]


EXAMPLE = 'Write it as {"source": "a", "target": "b"}.'
EXAMPLE_OF_LINE = 'Write the line as {"source": "a", "target": "b"}.'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a\tb", f"the line is not JSON. {EXAMPLE}"),
        ("{'source': 1}", f"the line is not JSON. {EXAMPLE}"),
        ("[" * 100_000, f"the line is not JSON. {EXAMPLE}"),
        ("1" * 5000, f"the line is not JSON. {EXAMPLE}"),
        ('["a", "b"]', f"the line is JSON, but not an object. {EXAMPLE}"),
        ("null", f"the line is JSON, but not an object. {EXAMPLE}"),
        ('{"target": "b"}', f'"source" is missing or not a string. {EXAMPLE_OF_LINE}'),
        (
            '{"source": "a", "target": 7}',
            f'"target" is missing or not a string. {EXAMPLE_OF_LINE}',
        ),
        ('{"source": "a", "target": " "}', BLANK_TARGET),
        ('{"source": "", "target": "b"}', BLANK_SOURCE),
        (
            '{"source": "a\\u0000", "target": "b"}',
            '"source" contains NUL; it must be one line of text. Remove it.',
        ),
        (
            '{"source": "a", "target": "b\\nc"}',
            '"target" contains a line end; it must be one line of text. Remove it.',
        ),
        (
            '{"source": "a", "target": "\\ud83d"}',
            '"target" contains a lone surrogate; it must be one line of text. Remove it.',
        ),
    ],
)
def test_a_bad_line_of_json_is_refused_in_one_sentence(written, line, problem):
    path = written(f'{{"source": "x", "target": "\\ud83d\\ude00"}}\n{line}\n', "pairs.jsonl")
    assert refusal(path) == f"{path}, line 2: {problem}"


def test_parallel_files_pair_line_by_line(written):
    source, target = written("a\tx\nb\n", "s.txt"), written("c\nd", "t.txt")
    assert list(read_pairs(source=source, target=target)) == [
        Pair("a\tx", "c", str(source), 1),
        Pair("b", "d", str(source), 2),
    ]


@pytest.mark.parametrize(("more", "less"), [(7, 5), (5, 7), (1, 2)])
def test_parallel_files_of_unequal_length_are_refused_with_both_counts(written, more, less):
    source, target = written("a\n" * more, "s.txt"), written("b\n" * less, "t.txt")
    assert refusal(source=source, target=target) == (
        f"{source}: it has {more} lines, but {target} has {less}. Parallel files must have "
        f"equally many lines."
    )
    assert len(list(scan(source=source, target=target))) == min(more, less) + 1


def test_a_bad_line_of_parallel_files_is_named_in_its_own_file(written):
    source, target = written(b"a\nb\0\n\nd\n", "s.txt"), written(b"\n\xff\n\n\xff\n", "t.txt")
    found = list(problems(source=source, target=target))
    assert [(error.file, error.line) for error in found] == [
        (str(target), 1),
        (str(source), 2),
        (str(target), 2),
        # line 3 is blank on both sides, and skipped
        (str(target), 4),
    ]
    assert found[0].problem == BLANK_TARGET


def test_an_empty_parallel_file_is_called_empty(written):
    source, target = written("a\n", "s.txt"), written("", "t.txt")
    problem = "it is empty; it must hold at least one line of text."
    assert refusal(source=source, target=target) == f"{target}: {problem}"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"path": "p.tsv", "source": "s"},
            "pairs is p.tsv, but source or target is given too. Give one or the other.",
        ),
        (
            {},
            "source is None and target is None; both must be files. Give one file of pairs, or "
            "two parallel files.",
        ),
        (
            {"source": "s"},
            "source is s and target is None; both must be files. Give one file of pairs, or two "
            "parallel files.",
        ),
        (
            {"source": "-", "target": "-"},
            "source and target are both -; one of them must be a file. Or give pairs = -.",
        ),
        (
            {"source": "s", "target": "t", "file": FileConfig(columns="source=1 target=2")},
            "columns is source=1 target=2, but parallel files have no columns. Leave columns out.",
        ),
    ],
)
def test_incompatible_arguments_are_refused_before_anything_is_read(given, problem):
    for read in (read_pairs, problems, scan):
        with pytest.raises(ConfigError) as caught:
            read(**given)
        assert str(caught.value) == f"data: {problem}"


def from_standard_input(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    return list(scan("-"))


@pytest.mark.parametrize("before", ["", "\n", " \n\n", "\ufeff"])
def test_json_lines_on_standard_input_are_recognized_by_the_first_line(monkeypatch, before):
    text = before + '{"source": "a", "target": "b\\tc"}\n {"target": "d", "source": "{"}\nx\ty\n'
    first, second, last = from_standard_input(monkeypatch, text.encode())
    assert sides([first, second]) == [("a", "b\tc"), ("{", "d")]
    assert last.problem.startswith("the line is not JSON. ")


@pytest.mark.parametrize(
    "line",
    [
        "{\tbrace",
        "{}\tempty",
        '{"source": "a"}\tcode',
        '{"source"\t1}',
        "{" * 100_000 + "\tdeep",
        "[1]\tlist",
    ],
)
def test_a_tsv_on_standard_input_may_begin_with_a_brace(monkeypatch, line):
    later = '{"source": "a", "target": "b"}\tc'
    found = from_standard_input(monkeypatch, f"{line}\n{later}\n".encode())
    assert sides(found) == [tuple(line.split("\t")), tuple(later.split("\t"))]


def test_columns_imply_that_standard_input_is_a_tsv(monkeypatch):
    text = b'{"source": "a", "target": "b"}\tx\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    found = read_pairs("-", file=FileConfig(columns="source=2 target=1"))
    assert sides(found) == [("x", '{"source": "a", "target": "b"}')]


def test_a_pipe_with_a_name_is_like_standard_input(tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")
    with ThreadPoolExecutor() as pool:
        line = '{"source": "a", "target": "b"}\n'
        pool.submit((tmp_path / "pipe.tsv").write_text, line)
        assert sides(read_pairs(tmp_path / "pipe.tsv")) == [("a", "b")]


def test_the_name_of_json_lines_decides(written):
    assert refusal(written("a\tb\n", "pairs.jsonl")).endswith(EXAMPLE)
    path = written('{"source": "a", "target": "b"}\n', "pairs.txt")
    assert sides(read_pairs(path)) == [("a", "b")]


def test_keys_of_json_lines_are_columns(written):
    line = '{"lemma": "go", "tags": "V;PST", "form": "went"}\n'
    path, config = written(line, "x.jsonl"), FileConfig(columns="source=lemma,tags target=form")
    assert sides(read_pairs(path, file=config)) == [("go V;PST", "went")]
    config = FileConfig(columns="source=lemma target=shape")
    sentence = "it has no column shape; its columns are lemma, tags, form. Name one of those"
    assert sentence in refusal(path, file=config)
    assert "Name keys" in refusal(path, file=FileConfig(columns="source=1 target=2"))
