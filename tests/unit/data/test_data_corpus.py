"""A corpus on disk: what was written is read back, whole or not at all."""

import hashlib
import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.corpus import Corpus, write_corpus
from regard.errors import DataError

ROWS = [([5, 6, 7], [8]), ([9], [10, 11]), ([], [4]), ([12, 2**31 - 1], [])]
line = st.lists(st.integers(0, 2**31 - 1), max_size=7)


def plain(corpus):
    return [(source.tolist(), target.tolist()) for source, target in corpus]


def refusal(function, *args):
    with pytest.raises(DataError) as caught:
        function(*args)
    return str(caught.value)


def test_a_written_corpus_is_read_back(tmp_path):
    corpus = write_corpus(tmp_path / "c", iter(ROWS))
    assert len(corpus) == 4
    assert plain(corpus) == plain(Corpus.open(tmp_path / "c")) == ROWS
    assert corpus.source_lengths.tolist() == [3, 1, 0, 2]
    assert corpus.target_lengths.tolist() == [1, 2, 1, 0]
    assert corpus.source_lengths.dtype == corpus.target_lengths.dtype == np.int32
    assert corpus[np.int64(1)][0].dtype == np.int32


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(line, line), max_size=9), chunk=st.integers(1, 9))
def test_chunks_are_joined_seamlessly(tmp_path_factory, rows, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.data.corpus._CHUNK", chunk)
        corpus = write_corpus(tmp_path_factory.mktemp("chunks") / "c", rows)
        assert plain(corpus) == rows


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_out_of_range_is_an_index_error(tmp_path, row):
    with pytest.raises(IndexError, match=f"row {row} of 4"):
        write_corpus(tmp_path / "c", ROWS)[row]


def test_an_empty_corpus_has_no_rows(tmp_path):
    corpus = write_corpus(tmp_path / "c", [])
    assert len(corpus) == 0
    assert plain(corpus) == []


def test_the_files_can_be_read_by_numpy(tmp_path):
    write_corpus(tmp_path / "c", ROWS)
    ids = np.load(tmp_path / "c" / "ids.npy", mmap_mode="r")
    offsets = np.load(tmp_path / "c" / "offsets.npy", mmap_mode="r")
    assert (ids.dtype, offsets.dtype) == (np.int32, np.int64)
    assert ids.tolist() == [5, 6, 7, 8, 9, 10, 11, 4, 12, 2**31 - 1]
    assert offsets.tolist() == [0, 3, 4, 5, 7, 7, 8, 10, 10]


def test_the_fingerprint_is_that_of_the_content(tmp_path):
    corpus = write_corpus(tmp_path / "c", ROWS)
    ids = hashlib.sha256(np.load(tmp_path / "c" / "ids.npy").tobytes()).digest()
    offsets = hashlib.sha256(np.load(tmp_path / "c" / "offsets.npy").tobytes()).digest()
    assert corpus.fingerprint == hashlib.sha256(ids + offsets).hexdigest()
    assert corpus.fingerprint == write_corpus(tmp_path / "again", ROWS).fingerprint


def test_the_fingerprint_depends_on_ids_and_line_ends(tmp_path):
    same_ids = [([5, 6, 7, 8], []), *ROWS[1:]]
    other_ids = [([5, 6, 7], [4]), *ROWS[1:]]
    prints = {
        write_corpus(tmp_path / "c", rows).fingerprint for rows in (ROWS, same_ids, other_ids)
    }
    assert len(prints) == 3


def test_an_older_corpus_is_replaced_and_nothing_else_is_left(tmp_path):
    write_corpus(tmp_path / "c", ROWS)
    (tmp_path / "c.unfinished").mkdir()
    (tmp_path / "c.unfinished" / "left by a run that was killed").touch()
    assert plain(write_corpus(tmp_path / "c", ROWS[:1])) == ROWS[:1]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_parent_folders_are_created(tmp_path):
    assert len(write_corpus(tmp_path / "a" / "b" / "c", ROWS)) == 4


def test_an_open_corpus_stays_readable_after_its_replacement(tmp_path):
    first = write_corpus(tmp_path / "c", ROWS)
    write_corpus(tmp_path / "c", ROWS[:1])
    assert plain(first) == ROWS


def test_a_reader_that_fails_halfway_leaves_the_older_corpus(tmp_path):
    def rows():
        yield ROWS[0]
        raise DataError("pairs.tsv", 2, "the line has no tab")

    write_corpus(tmp_path / "c", ROWS)
    assert refusal(write_corpus, tmp_path / "c", rows()) == "pairs.tsv, line 2: the line has no tab"
    assert plain(Corpus.open(tmp_path / "c")) == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_folder_with_other_files_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    problem = "it exists and is not a corpus; it is not overwritten. Choose another name."
    assert refusal(write_corpus, tmp_path, ROWS) == f"{tmp_path}: {problem}"
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    file = tmp_path / "thesis.txt"
    assert refusal(write_corpus, file, ROWS) == f"{file}: {problem}"


def test_a_corpus_beside_other_files_is_not_touched(tmp_path):
    write_corpus(tmp_path / "c", ROWS)
    (tmp_path / "c" / "thesis.txt").touch()
    assert "it exists and is not a corpus" in refusal(write_corpus, tmp_path / "c", ROWS[:1])
    assert plain(Corpus.open(tmp_path / "c")) == ROWS


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "c").mkdir()
    assert plain(write_corpus(tmp_path / "c", ROWS)) == ROWS


def test_an_unwritable_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "c"
    problem = "it cannot be written (Not a directory). Choose a folder with free space."
    assert refusal(write_corpus, folder, ROWS) == f"{folder}: {problem}"


FULL = """
import resource, sys
from pathlib import Path
from regard.data.corpus import Corpus, write_corpus
from regard.errors import DataError
folder = Path(sys.argv[1])
write_corpus(folder, [([5], [6])])
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    write_corpus(folder, [([5] * 10, [6])] * 10_000)
except DataError as error:
    print(error.problem)
print(len(Corpus.open(folder)), sorted(path.name for path in folder.parent.iterdir()))
"""


def test_a_full_disk_leaves_the_older_corpus(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "c")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    problem = "it cannot be written (File too large). Choose a folder with free space."
    assert run.stdout == f"{problem}\n1 ['c']\n"


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def grow(path):
    path.write_bytes(path.read_bytes() + b"\0")


def flip_last(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def flip_header(path):
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)


def note(**changes):
    def change(path):
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("ids.npy", cut, "ids.npy has the wrong size"),
        ("ids.npy", grow, "ids.npy has the wrong size"),
        ("ids.npy", flip_last, "its content is not what was written"),
        ("ids.npy", flip_header, "ids.npy has another header"),
        ("offsets.npy", cut, "offsets.npy has the wrong size"),
        ("offsets.npy", flip_last, "its content is not what was written"),
        ("offsets.npy", lambda path: path.unlink(), "offsets.npy: No such file or directory"),
        ("corpus.json", lambda path: path.unlink(), "corpus.json: No such file or directory"),
        ("corpus.json", lambda path: path.write_text(""), "corpus.json cannot be read"),
        ("corpus.json", lambda path: path.write_text("[]"), "corpus.json cannot be read"),
        ("corpus.json", lambda path: path.write_text("{}"), "corpus.json cannot be read"),
        ("corpus.json", lambda path: path.write_bytes(b"\xff"), "corpus.json cannot be read"),
        ("corpus.json", note(pairs="4"), "corpus.json cannot be read"),
        ("corpus.json", note(pairs=3), "offsets.npy has the wrong size"),
        ("corpus.json", note(ids=10.0), "ids.npy has another header"),
        ("corpus.json", note(fingerprint=7), "its content is not what was written"),
        ("corpus.json", note(version=2), "its version is 2, not 1"),
    ],
)
def test_a_damaged_corpus_is_refused_with_its_reason(tmp_path, name, damage, reason):
    folder = tmp_path / "c"
    write_corpus(folder, ROWS)
    damage(folder / name)
    problem = f"the corpus is damaged ({reason}). Encode the pairs again."
    assert refusal(Corpus.open, folder) == f"{folder}: {problem}"


def test_a_corpus_that_is_truncated_while_open_is_refused(tmp_path):
    corpus = write_corpus(tmp_path / "c", ROWS)
    cut(tmp_path / "c" / "ids.npy")
    assert corpus[0][0].tolist() == [5, 6, 7]
    problem = "the corpus was truncated while it was read. Encode the pairs again."
    assert refusal(corpus.__getitem__, 3) == f"{tmp_path / 'c'}: {problem}"


def test_memory_does_not_grow_with_the_rows(tmp_path):
    tracemalloc.start()
    corpus = write_corpus(tmp_path / "c", (([5] * 50, [6] * 50) for _ in range(20_000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # two million ids are 8 MB on disk, and twice that as a list
    assert len(corpus) == 20_000
    assert peak < 3_000_000
