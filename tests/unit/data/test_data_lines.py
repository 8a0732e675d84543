"""From bytes to lines: where a line ends, and a sentence for whatever is none."""

import gzip
import io
import os
import select
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from regard.data.lines import MAX_CHARACTERS
from regard.data.pairs import problems, read_lines, read_pairs
from regard.errors import DataError


@pytest.fixture
def written(tmp_path):
    def write(data, name="lines.txt"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def refusal(path, read=read_lines):
    """Return the sentence that reading ends with."""
    with pytest.raises(DataError) as caught:
        list(read(path))
    return str(caught.value)


def typed(monkeypatch, buffer):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\n\na\n", ["", "", "a"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u2028b\u0085c\x0b\x0c\x1cd\n".encode(), ["a\u2028b\u0085c\x0b\x0c\x1cd"]),
        (b" a \n", [" a "]),
    ],
)
def test_a_line_ends_at_a_newline_and_nowhere_else(written, data, expected):
    assert list(read_lines(written(data))) == list(enumerate(expected, start=1))


def test_gzip_is_detected_by_bytes_and_not_by_name(written):
    packed = gzip.compress(b"a\nb\n", mtime=0)
    assert list(read_lines(written(packed, "plain.txt"))) == [(1, "a"), (2, "b")]
    assert list(read_lines(written(b"a\nb\n", "odd.gz"))) == [(1, "a"), (2, "b")]
    assert list(read_lines(written(packed + gzip.compress(b"c\n", mtime=0), "two.gz")))[-1] == (
        3,
        "c",
    )


def test_a_name_may_be_a_string_or_a_path(written):
    path = written(b"a\n")
    assert list(read_lines(str(path))) == list(read_lines(path)) == [(1, "a")]


def test_a_missing_file_is_named(tmp_path):
    problem = "there is no such file. Check the path."
    assert refusal(tmp_path / "none.tsv") == f"{tmp_path}/none.tsv: {problem}"
    (tmp_path / "file").write_text("a")
    assert refusal(tmp_path / "file" / "x") == f"{tmp_path}/file/x: {problem}"
    assert refusal("nu\0l") == f"'nu\\x00l': {problem}"


def test_a_folder_is_not_a_file(tmp_path):
    problem = "it is a folder, not a file. Name a file inside it."
    assert refusal(tmp_path) == f"{tmp_path}: {problem}"


UNREADABLE = """
import os, sys
from regard.data.pairs import read_pairs
from regard.errors import DataError
if os.getuid() == 0:
    try:
        os.setuid(65534)
    except OSError:
        sys.exit(77)
try:
    list(read_pairs(sys.argv[1]))
except DataError as error:
    print(error)
"""


def test_a_file_without_read_permission_is_named():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "secret.tsv"
        path.write_text("a\tb\n")
        path.chmod(0)
        run = subprocess.run(
            [sys.executable, "-c", UNREADABLE, str(path)], capture_output=True, text=True
        )
    if run.returncode == 77:
        pytest.skip("root may not become another user here")
    sentence = f"{path}: this user may not read it. Run chmod +r {path}.\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, sentence, "")


def test_a_read_error_within_a_file_is_named(monkeypatch):
    class Broken(io.RawIOBase):
        calls = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.calls += 1
            if self.calls > 1:
                raise OSError(5, "Input/output error")
            buffer[:2] = b"a\n"
            return 2

    typed(monkeypatch, io.BufferedReader(Broken()))
    problem = "it cannot be read (Input/output error). Copy it to another disk."
    assert refusal("-") == f"standard input, line 2: {problem}"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_has_no_pairs_but_is_valid_as_lines(written, data):
    path = written(data)
    problem = "it is empty; it must hold at least one line of text."
    assert refusal(path, read_pairs) == f"{path}: {problem}"
    assert list(read_lines(path)) == []


def test_truncated_gzip_is_named_after_its_intact_lines(written):
    text = b"".join(b"%d\n" % (number**7) for number in range(1, 9000))
    packed = gzip.compress(text, mtime=0)
    path = written(packed[: len(packed) // 2])
    seen = []
    with pytest.raises(DataError) as caught:
        seen.extend(read_lines(path))
    assert 10 < len(seen) < 8999
    assert [line for _, line in seen] == [str(n**7) for n in range(1, len(seen) + 1)]
    problem = "the gzip data ends too early. Download or compress the file again."
    assert str(caught.value) == f"{path}, line {len(seen) + 1}: {problem}"


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"a\n", mtime=0)[:-8] + b"\0" * 8,
        gzip.compress(b"a\n", mtime=0) + b"rubbish",
        b"\x1f\x8b\x08\0\0\0\0\0\0\0\xff\xff\xff\xff",
        b"\x1f\x8b" + b"rubbish" * 9,
    ],
)
def test_damaged_gzip_is_named(written, data):
    problem = "the gzip data is damaged. Download or compress the file again."
    assert refusal(written(data)).endswith(problem)


def test_invalid_utf_8_is_named_by_its_byte(written):
    path = written(b"fine\nna\xefve\n")
    assert refusal(path).startswith(
        f"{path}, line 2: byte 3 of the line is 0xef, not UTF-8. Save the file as UTF-8, or pass "
        "its --encoding, such as cp1252 (Western), "
    )


def test_a_truncated_character_is_invalid_utf_8(written):
    assert "byte 1 of the line is 0xed" in refusal(written(b"\xed\xa0\x80\n"))
    assert "byte 2 of the line is 0xc3" in refusal(written(b"a\xc3"))


def test_a_nul_character_is_named_by_its_position(written):
    path = written("äb\0c\n".encode())
    problem = "character 3 of the line is NUL. Remove it."
    assert refusal(path) == f"{path}, line 1: {problem}"


TOO_LONG = "the line is longer than 1,000,000 characters. Split it into several lines."


def test_a_line_of_a_million_characters_is_the_longest(written):
    assert MAX_CHARACTERS == 1_000_000
    longest = "𝄞" * MAX_CHARACTERS
    assert list(read_lines(written(b"\xef\xbb\xbf" + longest.encode() + b"\r\n"))) == [(1, longest)]
    path = written(b"x\n" + b"a" * (MAX_CHARACTERS + 1) + b"\ny\n")
    assert refusal(path) == f"{path}, line 2: {TOO_LONG}"


@pytest.mark.parametrize("length", [4_000_004, 4_000_005, 4_000_006, 9_000_000])
def test_the_line_after_an_overlong_one_is_read(written, length):
    path = written(b"a" * length + b"\nb\tc\nno tab")
    found = list(problems(path))
    assert [error.line for error in found] == [1, 3]
    assert found[0].problem == TOO_LONG


def test_standard_input_is_read_under_its_name(monkeypatch):
    typed(monkeypatch, io.BytesIO(b"a\tb\nbad"))
    pairs = read_pairs("-")
    pair = next(pairs)
    assert (pair.source, pair.target, pair.file, pair.line) == ("a", "b", "standard input", 1)
    with pytest.raises(DataError, match=r"^standard input, line 2: the line has no tab"):
        next(pairs)


def test_gzip_may_arrive_slowly_through_a_pipe(monkeypatch):
    class Drip(io.RawIOBase):
        data = gzip.compress(b"a\nb\n", mtime=0)

        def readable(self):
            return True

        def readinto(self, buffer):
            byte, self.data = self.data[:1], self.data[1:]
            buffer[: len(byte)] = byte
            return len(byte)

    typed(monkeypatch, io.BufferedReader(Drip()))
    assert list(read_lines("-")) == [(1, "a"), (2, "b")]


def test_standard_input_that_is_closed_is_named(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-") == "standard input: it is closed; it must be a file or a pipe."


@pytest.mark.parametrize("line", [b"a\n", b"\n"])
def test_a_typed_line_is_read_before_the_next(line):
    script = (
        "from regard.data.pairs import read_lines\n"
        "for number, line in read_lines('-'): print(number, line, flush=True)"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(line)
        process.stdin.flush()
        seen, _, _ = select.select([process.stdout], [], [], 20)
        answer = process.stdout.readline() if seen else None
        process.stdin.close()
    assert answer == b"1 " + line


def test_memory_does_not_grow_with_the_file(written):
    path = written(gzip.compress(b"some source\tsome target\n" * 30_000, mtime=0))
    tracemalloc.start()
    assert sum(1 for _ in read_pairs(path)) == 30_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_readers_need_neither_torch_nor_numpy_and_the_rest_no_torch():
    script = (
        "import sys, regard.data.pairs\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))\n"
        "import regard.data.corpus_check, regard.data.corpus, regard.data.length_buckets\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\nFalse\n"
