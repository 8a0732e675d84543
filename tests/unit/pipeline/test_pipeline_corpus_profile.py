"""One look at the pairs, by hand, and which of them are held out."""

import random
import tracemalloc
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_cases import profile

from regard.pipeline import corpus_profile, split
from regard.pipeline.corpus_profile import SideProfile
from regard.pipeline.split import source_hashes
from regard.text.tokenizers import Phonemes


def test_statistics_of_a_side_are_counted():
    found = profile([("ab cd", "x"), ("ab", "yyy z"), ("e fg hi", "x")])
    assert (found.pairs, found.sources) == (3, 3)
    assert found.source.share_with_spaces == pytest.approx(2 / 3)
    assert found.source.mean_length == pytest.approx((5 + 2 + 7) / 3)
    assert found.source.mean_words == pytest.approx((2 + 1 + 3) / 3)
    assert found.source.mean_word_length == pytest.approx((2 + 2 + 2 + 1 + 2 + 2) / 6)
    assert found.source.mean_word_count == pytest.approx(6 / 5)
    assert found.source.lengths == {5: 1, 2: 1, 7: 1}
    assert found.source.word_lengths == {2: 1, 1: 1, 3: 1}
    assert found.target.characters["y"] == 3
    assert found.target.words == {"x", "yyy", "z"}


@given(st.lists(st.text(st.sampled_from("ab cé ;V1\u2003\t"), max_size=9), min_size=1, max_size=12))
def test_counts_of_many_lines_equal_those_of_single_lines(lines):
    together, one_by_one = SideProfile(Phonemes("NFC")), SideProfile(Phonemes("NFC"))
    together.add(lines)
    for line in lines:
        one_by_one.add([line])
    assert (together.tags is None) == (one_by_one.tags is None)
    assert together.lengths == one_by_one.lengths
    words = [line.split() for line in lines]
    assert together.word_lengths == Counter(map(len, words))
    assert together.num_words == sum(map(len, words))
    assert together.num_letters == sum(len(word) for line in words for word in line)
    assert together.words == {word for line in words for word in line}
    assert together.spaced_lines == sum(len(line) > 1 for line in words)
    assert together.characters == Counter("".join(lines))


def held_out(pairs, share, most=10**6):
    """Return the sources below the threshold, as `preprocess` takes them."""
    threshold = profile(pairs).dev_threshold(share, most)
    return {source for source, _ in pairs if source_hashes([source])[0] < threshold}


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.5, 0.999])
@pytest.mark.parametrize("count", [2, 3, 10, 500])
def test_at_least_one_source_is_held_out_and_never_all(share, count):
    pairs = [(f"s{i}", "t") for i in range(count)]
    expected = min(max(1, round(share * count)), count - 1)
    assert len(held_out(pairs, share)) == expected


def test_no_more_than_max_dev_are_held_out():
    pairs = [(f"s{i}", "t") for i in range(500)]
    assert len(held_out(pairs, 0.5, most=7)) == 7


def test_a_large_corpus_holds_out_about_the_right_fraction(monkeypatch):
    monkeypatch.setattr(split, "MAX_HASHES", 500)
    pairs = [(f"s{i % 5000}", "t") for i in range(8000)]
    found = profile(pairs)
    # the lowest five hundred of five thousand tell how many there are to within a few percent
    assert found.sources == pytest.approx(5000, rel=0.15)
    lowest = sorted({int(source_hashes([source])[0]) for source, _ in pairs})
    assert found._hashes.smallest.tolist() == lowest[:500]
    assert len(held_out(pairs, 0.9, most=499)) == 499
    assert len(held_out(pairs, 0.5)) == pytest.approx(2500, rel=0.15)
    mixed = random.Random(1).sample(pairs, len(pairs))
    assert held_out(pairs, 0.5) == held_out(mixed, 0.5)


def test_memory_of_the_split_does_not_grow_with_the_pairs(monkeypatch):
    monkeypatch.setattr(split, "MAX_HASHES", 300)
    monkeypatch.setattr(corpus_profile, "MAX_WORDS", 100)
    sizes = []
    for count in (3000, 12_000):
        tracemalloc.start()
        found = profile((f"s{i}", f"t{i}") for i in range(count))
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(found.source.words) == 100
    assert sizes[1] < 1.2 * sizes[0]


def test_a_single_source_cannot_be_held_out():
    assert held_out([("a", "b"), ("a", "c")], 0.5) == set()


def test_a_dev_fraction_counts_sources_with_all_their_targets():
    rng = random.Random(3)
    pairs = [(f"s{i}", f"t{j}") for i in range(100) for j in range(rng.randint(1, 5))]
    assert len(held_out(pairs, 0.2)) == 20


def test_the_split_does_not_depend_on_the_order_of_the_file():
    pairs = [(f"s{i}", f"t{i}") for i in range(200)]
    mixed = random.Random(1).sample(pairs, len(pairs))
    assert held_out(pairs, 0.1) == held_out(mixed, 0.1)
    assert held_out(pairs, 0.1) != {f"s{i}" for i in range(20)}
    # but what is trained on in which order is another matter
    assert profile(pairs).fingerprint != profile(mixed).fingerprint


def test_pairs_are_compared_in_one_unicode_form():
    composed, decomposed = [("é", "a"), ("b", "ü")], [("e\u0301", "a"), ("b", "u\u0308")]
    assert profile(composed).fingerprint == profile(decomposed).fingerprint
    assert profile(composed, "none").fingerprint != profile(decomposed, "none").fingerprint
    assert profile(composed).fingerprint != profile([("é", "a"), ("b", "u")]).fingerprint
    composed = unicodedata.normalize("NFC", "e\u0301")
    assert source_hashes([composed]) == source_hashes(["é"])
    both = profile([("é", "a"), ("e\u0301", "b")])
    assert (both.pairs, both.sources) == (2, 1)
