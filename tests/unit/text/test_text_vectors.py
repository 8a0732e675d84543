"""Word vectors: learned, kept as text, asked for neighbours, and refused with a sentence."""

import random

import numpy as np
import pytest

from regard.errors import ConfigError, DataError
from regard.text.word_vectors import WordVectorConfig, WordVectors, train_word_vectors

ANIMALS = ("cat", "dog", "fox", "paw", "tail", "fur", "bark")
METALS = ("iron", "gold", "tin", "ore", "mine", "coin", "rust")
# what is said of the ones is never said of the others
LINES = [
    random.Random(number).choices(ANIMALS if number % 2 else METALS, k=6) for number in range(400)
]


def by_hand():
    return WordVectors(
        ("a", "b", "c", "d"), np.array([[1, 0], [2, 0.1], [0, 1], [-1, 0]], np.float32)
    )


def test_neighbours_are_those_of_the_smallest_angle():
    found = by_hand().nearest("a", 3)
    assert [word for word, _ in found] == ["b", "c", "d"]
    assert [cosine for _, cosine in found] == pytest.approx([2 / np.hypot(2, 0.1), 0, -1])
    assert len(by_hand().nearest("a", 99)) == 3


def test_a_projection_preserves_points_of_a_plane():
    placed = by_hand().project_to_plane(4)
    numbers = by_hand().numbers
    for one in range(4):
        for other in range(4):
            near = np.linalg.norm(placed[one] - placed[other])
            assert near == pytest.approx(np.linalg.norm(numbers[one] - numbers[other]), abs=1e-5)
    line = WordVectors(("a", "b"), np.array([[1.0], [3.0]], np.float32)).project_to_plane(2)
    assert line.shape == (2, 2)


def test_saved_vectors_are_read_back(tmp_path):
    path = tmp_path / "v.txt"
    by_hand().save(path)
    assert path.read_text().splitlines()[:2] == ["4 2", "a 1 0"]
    read = WordVectors.load(path)
    assert read.words == by_hand().words
    np.testing.assert_allclose(read.numbers, by_hand().numbers, rtol=1e-5)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a 1 2\n", "line 1: it must hold the number of words"),
        (b"1 0\n", "line 1: it must hold the number of words"),
        (b"2 2\na 1 2\nb 1\n", "line 3: its vector has 1 numbers; it must have 2."),
        (b"2 2\na 1 2 3\n", "line 2: its vector has 3 numbers; it must have 2."),
        (b"2 2\na b 1 2\n", "line 2: its vector has 3 numbers; it must have 2."),
        (b"1 2\n   1 2\n", "line 2: its vector has 3 numbers; it must have 2."),
        (b"1 2\na\n", "line 2: its vector has 1 numbers; it must have 2."),
        (b"1 2\na 1 x\n", "line 2: a number of its vector is not a finite number"),
        (b"1 2\na 1 nan\n", "line 2: a number of its vector is not a finite number"),
        (b"\xff\xfe", "it is not text in UTF-8"),
    ],
)
def test_a_file_without_vectors_is_named(tmp_path, content, problem):
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        WordVectors.load(path)
    assert problem in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        WordVectors.load(tmp_path / "none")


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_words_in_similar_contexts_are_neighbours_deterministically(method):
    how = WordVectorConfig(method=method, size=12, window=5, min_count=1, epochs=30)
    found, again = (train_word_vectors(LINES, how) for _ in range(2))
    for words in (ANIMALS, METALS):
        for word in words:
            assert {other for other, _ in found.nearest(word, 4)} <= set(words)
    assert found.words == again.words
    np.testing.assert_array_equal(found.numbers, again.numbers)


def test_words_that_are_too_rare_are_reported():
    with pytest.raises(
        ConfigError, match=r"min_count is 9, but no token occurs that often\. Set min_count = 1\."
    ):
        train_word_vectors([["a", "b"]], WordVectorConfig(min_count=9))
