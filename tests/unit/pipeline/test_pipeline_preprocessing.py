"""Preparing: a split without overlap, sides from the training pairs alone, and all of it once."""

import json
import random
import unicodedata
from dataclasses import replace

import pytest
from pipeline_cases import digits

from regard.errors import DataError
from regard.pipeline import preprocessing as stage
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.input_pairs import InputPairs, read_pairs
from regard.pipeline.pairs_source import PairsSource
from regard.pipeline.preprocessing import preprocess
from regard.pipeline.split import source_hashes
from regard.text.tokenizers import Subwords


def read(pairs, dev=None, form="NFC"):
    """Profile pairs in NFC; spool them as they are if they will be encoded in another form."""
    forms = "NFC", "NFC" if form == "NFC" else "none"
    return InputPairs(
        read_pairs(PairsSource(pairs), *forms),
        None if dev is None else read_pairs(PairsSource(dev, label="dev"), *forms),
    )


def prepared(folder, pairs, dev=None, **sections):
    given = read(pairs, dev, sections.get("data", {}).get("normalization", "NFC"))
    return preprocess(folder, given, auto_configure(given.profile, sections).settings)


def lines(made, corpus):
    """Read a corpus back as lines."""
    for source, target in (corpus[row] for row in range(len(corpus))):
        words = made.source.vocabulary.decode(source), made.target.vocabulary.decode(target)
        yield made.source.detokenize(words[0]), made.target.detokenize(words[1])


def several(count=200):
    """Return sources with one to three targets each, mixed."""
    rng = random.Random(4)
    pairs = [(f"{i:03}", f"{j}{i:03}") for i in range(count) for j in range(rng.randint(1, 3))]
    return rng.sample(pairs, len(pairs))


def test_every_pair_is_on_one_side_and_no_source_on_both(tmp_path):
    pairs = several()
    made = prepared(tmp_path, pairs, data={"dev_fraction": 0.1})
    trained, held = list(lines(made, made.corpus)), list(lines(made, made.dev_corpus))
    assert sorted(trained + held) == sorted(pairs)
    assert trained == [pair for pair in pairs if pair in set(trained)]
    sources = {source for source, _ in held}
    assert len(sources) == 20
    assert not sources & {source for source, _ in trained}
    assert {source for source, _ in made.dev} == sources
    for source, targets in made.dev:
        assert sorted(targets) == sorted(target for s, target in pairs if s == source)
    assert made.left_out == 0


def test_the_split_is_the_same_in_any_order(tmp_path):
    pairs = several()
    one = prepared(tmp_path / "one", pairs)
    other = prepared(tmp_path / "other", pairs[::-1])
    assert {s for s, _ in one.dev} == {s for s, _ in other.dev}


def test_held_out_pairs_add_no_tokens(tmp_path):
    made = prepared(tmp_path, several(), data={"dev_fraction": 0.1})
    trained = "".join(source for source, _ in lines(made, made.corpus))
    assert set(made.source.vocabulary.tokens[4:]) == set(trained)
    given = prepared(tmp_path / "dev", [("ab", "cd")], dev=[("xy", "zw")])
    assert given.source.vocabulary.tokens[4:] == ("a", "b")
    assert given.target.vocabulary.tokens[4:] == ("c", "d")


def test_a_dev_set_can_be_supplied(tmp_path):
    dev = [("abx", "1"), ("ab", "2"), ("ab", "3")]
    made = prepared(tmp_path, digits(), dev=dev)
    assert len(made.corpus) == 40
    assert made.dev == [("abx", ["1"]), ("ab", ["2", "3"])]
    assert len(made.dev_corpus) == 3


def test_pairs_that_are_too_long_are_left_out_and_counted(tmp_path):
    pairs = [*digits(30), ("1" * 9, "2"), ("1", "2" * 9), ("5" * 8, "6" * 8)]
    dev = [("1", "2"), ("1" * 9, "2")]
    given = {"max_source_length": 8, "max_target_length": 8}
    made = prepared(tmp_path, pairs, dev=dev, data=given)
    assert (len(made.corpus), made.left_out) == (31, 2)
    # what is decoded is not left out, only what is fed
    assert (len(made.dev_corpus), len(made.dev)) == (1, 2)


def test_a_corpus_of_overlong_pairs_alone_is_refused(tmp_path):
    problem = "longer than data.max_source_length = 3 or data.max_target_length = 32"
    with pytest.raises(DataError) as caught:
        prepared(tmp_path, digits(), data={"max_source_length": 3})
    assert str(caught.value) == f"pairs: every pair is {problem}. Set larger limits."
    with pytest.raises(DataError) as caught:
        prepared(tmp_path, [("ab", "c")], dev=digits(3), data={"max_source_length": 3})
    assert str(caught.value) == f"dev: every validation pair is {problem}. Set larger limits."


def test_lines_are_normalized_first(tmp_path):
    pairs = [(unicodedata.normalize("NFD", "é" + a), "ü" + b) for a, b in digits()]
    made = prepared(tmp_path, pairs)
    assert "é" in made.source.vocabulary
    assert "e" not in made.source.vocabulary
    assert all(unicodedata.is_normalized("NFC", source) for source, _ in made.dev)
    apart = prepared(tmp_path / "none", pairs, data={"normalization": "none"})
    assert "e" in apart.source.vocabulary


def test_a_vocabulary_has_at_most_its_size(tmp_path):
    made = prepared(
        tmp_path, digits(), text={"source_vocabulary_size": 8, "target_vocabulary_size": 9}
    )
    assert (len(made.source.vocabulary), len(made.target.vocabulary)) == (8, 9)


def test_tokens_below_the_minimum_count_are_unknown(tmp_path):
    pairs, dev = [("aab", "xy"), ("ac", "xx")], [("abc", "xy")]
    made = prepared(tmp_path, pairs, dev=dev, text={"min_count": 2})
    assert made.source.vocabulary.tokens[4:] == ("a",)
    assert made.target.vocabulary.tokens[4:] == ("x",)
    shared = prepared(
        tmp_path / "shared",
        [("ab", "bc"), ("d", "d")],
        dev=dev,
        text={"min_count": 2} | {"shared_vocabulary": True},
    )
    # once on each side is twice
    assert shared.source.vocabulary.tokens[4:] == ("b", "d")


def test_rare_subwords_are_known(tmp_path):
    pairs = [("a b c d", "e f g"), ("a b", "e f")]
    text = {"source": "bpe", "source_vocabulary_size": 20, "target": "whitespace", "min_count": 2}
    made = prepared(tmp_path, pairs, dev=[("a", "e")], text=text)
    assert 1 not in made.source.encode("a b c d")
    assert made.target.vocabulary.tokens[4:] == ("e", "f")


@pytest.mark.parametrize(("form", "line"), [("NFC", "ǎː n"), ("NFD", "a\u030cː n")])
def test_phonemes_and_diacritics_are_split_and_restored_in_the_datas_form(tmp_path, form, line):
    data, text = {"normalization": form}, {"target": "phonemes"}
    made = prepared(tmp_path, [("an", "ǎː n")], dev=[("na", "n ǎː")], data=data, text=text)
    assert set(made.target.vocabulary.tokens[4:]) == {"a", "◌\u030c", "◌ː", "n"}
    assert made.target.detokenize(made.target.tokenize("ǎː n")) == line
    assert made.dev[0][1] == [" ".join(reversed(line.split()))]
    # opened as it was made
    again = prepared(tmp_path, [("an", "ǎː n")], dev=[("na", "n ǎː")], data=data, text=text)
    assert again.target == made.target


def test_both_sides_can_share_a_vocabulary(tmp_path):
    made = prepared(
        tmp_path, [("ab", "bc"), ("ba", "cd")], dev=[("a", "b")], text={"shared_vocabulary": True}
    )
    assert (made.source.case, made.target.case) == ("lower", "keep")
    assert made.source == replace(made.target, case="lower")
    assert set(made.source.vocabulary.tokens[4:]) == set("abcd")


def test_sources_are_read_in_one_case_and_targets_are_unchanged(tmp_path):
    pairs, dev = [("aB", "Kl"), ("Ab", "kL")], [("AB", "Kl")]
    made = prepared(tmp_path, pairs, dev=dev, data={"source_case": "lower"})
    assert set(made.source.vocabulary.tokens[4:]) == set("ab")
    assert set(made.target.vocabulary.tokens[4:]) == set("kKlL")
    assert made.source.encode("AB") == made.source.encode("ab")
    rows = [made.corpus[i][0].tolist() for i in range(2)] + [made.dev_corpus[0][0].tolist()]
    assert rows == [made.source.encode("ab")] * 3
    assert made.dev == [("AB", ["Kl"])]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_subwords_are_learned_from_the_training_pairs(tmp_path, kind):
    words = ["regarding", "regarded", "guarding", "guarded"]
    rng = random.Random(1)
    pairs = [(" ".join(rng.choices(words, k=5)), " ".join(rng.choices(words, k=5)))] * 30
    said = {
        "source": kind,
        "target": kind,
        "source_vocabulary_size": 24,
        "target_vocabulary_size": 30,
        "shared_vocabulary": False,
    }
    made = prepared(tmp_path, pairs, dev=[("zzz", "regarded")], text=said)
    assert isinstance(made.source.tokenizer, Subwords)
    assert next(lines(made, made.corpus)) == pairs[0]
    assert len(made.source.encode(pairs[0][0])) < len(pairs[0][0])
    assert not any("z" in symbol for symbol in made.source.vocabulary.tokens)


@pytest.fixture
def writes(monkeypatch):
    """Tell of every corpus that is written."""
    names, write_blocks, write_corpus = [], stage.write_blocks, stage.write_corpus

    def spy_on_blocks(folder, blocks):
        names.append(folder.name)
        return write_blocks(folder, blocks)

    def spy_on_rows(folder, rows):
        names.append(folder.name)
        return write_corpus(folder, rows)

    monkeypatch.setattr(stage, "write_blocks", spy_on_blocks)
    monkeypatch.setattr(stage, "write_corpus", spy_on_rows)
    return names


def test_a_prepared_corpus_is_reused(tmp_path, writes):
    first = prepared(tmp_path, digits())
    assert writes == ["corpus", "dev"]
    again = prepared(tmp_path, digits())
    assert writes == ["corpus", "dev"]
    assert (again.source, again.target, again.dev) == (first.source, first.target, first.dev)
    assert again.left_out == first.left_out
    assert again.corpus.fingerprint == first.corpus.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": digits(seed=2)},
        {"dev": digits(3, seed=5)},
        {"data": {"dev_fraction": 0.2}},
        {"data": {"max_source_length": 40}},
        {"text": {"source_vocabulary_size": 9}},
        {"train": {"seed": 2}},
    ],
    ids=str,
)
def test_a_corpus_with_other_settings_is_prepared_again(tmp_path, writes, change):
    prepared(tmp_path, digits())
    prepared(tmp_path, **{"pairs": digits(), **change})
    assert writes == ["corpus", "dev"] * 2


def test_a_corpus_of_another_version_is_prepared_again(tmp_path, writes, monkeypatch):
    prepared(tmp_path, digits())
    monkeypatch.setattr(stage, "__version__", "99")
    prepared(tmp_path, digits())
    assert writes == ["corpus", "dev"] * 2


@pytest.mark.parametrize("damage", ["note", "list", "corpus", "side"])
def test_a_damaged_corpus_is_prepared_again(tmp_path, writes, damage):
    first = prepared(tmp_path, digits())
    note = tmp_path / "prepared.json"
    if damage == "note":
        note.write_bytes(note.read_bytes()[:-5])
    elif damage == "list":
        note.write_text("[1, 2]")
    elif damage == "corpus":
        (tmp_path / "corpus" / "ids.npy").write_bytes(b"")
    else:
        found = json.loads(note.read_text())
        found["source"] = {}
        note.write_text(json.dumps(found))
    again = prepared(tmp_path, digits())
    assert writes == ["corpus", "dev"] * 2
    assert again.corpus.fingerprint == first.corpus.fingerprint


def test_an_unwritable_preparation_record_leaves_no_files(tmp_path, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(DataError) as caught:
        prepared(tmp_path, digits())
    assert str(caught.value) == (
        f"{tmp_path / 'prepared.json'}: it cannot be written (No space left on device). Choose "
        f"a folder with free space."
    )
    assert not list(tmp_path.glob("prepared*"))


def test_pairs_that_are_encoded_in_another_form_are_split_by_that_form(tmp_path):
    """A model that is started from may have another form than the profile."""
    pairs = [(unicodedata.normalize("NFC", f"é{i}"), f"t{i}") for i in range(100)]
    given = read(pairs, form="NFD")
    settings = auto_configure(given.profile, {"data": {"normalization": "NFD"}}).settings
    made = preprocess(tmp_path, given, settings)
    threshold = given.profile.dev_threshold(
        settings.data.dev_fraction, settings.data.max_dev_sources
    )
    apart = [unicodedata.normalize("NFD", source) for source, _ in pairs]
    assert [source for source, _ in made.dev] == [
        x for x in apart if source_hashes([x])[0] < threshold
    ]
    assert len(made.corpus) + len(made.dev_corpus) == 100
