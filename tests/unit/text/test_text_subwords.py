"""Subwords: learned twice the same, in silence, of any size, and no line is lost."""

import base64
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import CASES, FEWER_CASES, HARD, lines, tokens

from regard.errors import ConfigError, InputError
from regard.text import subwords
from regard.text.subwords import sample, train_subwords
from regard.text.tokenizers import Subwords, tokenizer_from_json

KINDS = ["unigram", "bpe"]
CORPUS = [
    "the low lower lowest of the new newer newest lands",
    "she sells newer shells by the lower shore, the lowest of all",
    "我爱吃苹果 ▁ ￭ ␛1 <unk> السلام عليكم e\u0301",
    "wide wider widest, new newer newest; low lower lowest!",
]


@pytest.fixture(scope="module", params=KINDS)
def learned(request):
    return train_subwords(CORPUS, 80, request.param, seed=0)


@CASES
@given(line=lines)
def test_subwords_restore_a_line_except_for_white_space(learned, line):
    split = learned.tokenize(line)
    assert learned.detokenize(split) == " ".join(line.split())
    assert all(token.split() == [token] for token in split)


@FEWER_CASES
@given(corpus=st.lists(lines, min_size=1, max_size=4), kind=st.sampled_from(KINDS))
def test_subwords_restore_the_lines_they_were_learned_from(corpus, kind):
    made = train_subwords(["seed", *corpus], 40, kind, seed=0)
    for line in corpus:
        assert made.detokenize(made.tokenize(line)) == " ".join(line.split())


@CASES
@given(said=tokens)
def test_any_sequence_of_subwords_can_be_detokenized(learned, said):
    joined = learned.detokenize(said)
    assert joined == " ".join(joined.split())


def test_a_frequent_word_is_one_piece_and_a_rare_one_several():
    made = train_subwords(["hello world"] * 9 + ["held"], 40, "bpe", seed=0)
    assert made.tokenize("hello world") == ["▁hello", "▁world"]
    assert "".join(made.tokenize("hewo")) == "▁hewo"
    assert len(made.tokenize("hewo")) > 1


def test_an_unknown_character_keeps_its_spelling(learned):
    assert learned.tokenize("low 龘") == [*learned.tokenize("low"), "▁", "龘"]


def test_the_signs_of_sentencepiece_are_ordinary_in_a_text(learned):
    for text in ("a ▁ b", "▁a", "a▁b", "▁▁", "▅", "<unk> <s>", "⁇", " ⁇ ", "␛1␛", "\x00a"):
        assert learned.detokenize(learned.tokenize(text)) == text.strip()
    assert not any("▁" in token[1:] for token in learned.tokenize("a▁b ▁ c"))


def test_a_text_that_contains_the_unknown_token_is_learned_as_any_other():
    made = train_subwords(["<unk> <unk> <unk>"], 40, "bpe", seed=0)
    # unknown letters would come in one run
    assert made.tokenize("kun") == ["▁", "k", "un"]


def test_a_line_with_a_reserved_character_is_learned_as_any_other():
    made = train_subwords(["low ▅ low", "▅"], 40, "bpe", seed=0)
    assert made.tokenize("low") == ["▁low"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_lines_give_the_same_bytes_in_another_process_too(kind):
    here = train_subwords(CORPUS, 60, kind, seed=0).model
    assert train_subwords(CORPUS, 60, kind, seed=0).model == here
    script = (
        "import hashlib, json, sys\n"
        "from regard.text.subwords import train_subwords\n"
        "lines, kind = json.loads(sys.stdin.read())\n"
        "model = train_subwords(lines, 60, kind, seed=0).model\n"
        "print(hashlib.sha256(model).hexdigest(), sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    there = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([CORPUS, kind]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout == f"{hashlib.sha256(here).hexdigest()} []\n"
    assert there.stderr == ""


def test_learning_and_splitting_print_nothing(capfd):
    for kind in KINDS:
        train_subwords(CORPUS, 10**6, kind, seed=0).tokenize("龘 new")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_that_the_lines_can_hold_is_the_size(kind):
    rng = random.Random(0)
    words = ["".join(rng.choices("abcde", k=6)) for _ in range(40)]
    corpus = [" ".join(rng.choices(words, k=7)) for _ in range(60)]
    assert train_subwords(corpus, 31, kind, seed=0).vocabulary_size == 31


def test_a_small_text_gets_as_many_pieces_as_possible():
    # ▁ a b, ab ▁ab, ▁a, and the unknown
    made = train_subwords(["ab"], 1000, "bpe", seed=0)
    assert made.vocabulary_size == 7


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_has_a_piece_however_small_the_size(kind):
    # 26 letters, ▁ and the unknown
    made = train_subwords(["abcdefghijklm nopqrstuvwxyz"], 1, kind, seed=0)
    assert made.vocabulary_size == 28
    assert made.tokenize("zoo") == ["▁", "z", "o", "o"]


def test_a_text_of_one_letter_is_enough():
    for kind in KINDS:
        assert train_subwords(["a"], 8000, kind, seed=0).detokenize(["▁", "a"]) == "a"


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_a_hundred_thousand_letters_does_not_end_the_process(kind):
    line = "abcdefghij" * 10**4
    made = train_subwords([line, "k"], 30, kind, seed=0)
    assert made.detokenize(made.tokenize(line)) == line


def test_a_long_line_is_cut_and_no_part_of_it_is_dropped():
    line = "a" * 999 + " " + "b" * 999 + "é" * 3000
    made = train_subwords([line], 1, "bpe", seed=0)
    # a b é, ▁ and the unknown
    assert made.vocabulary_size == 5


def test_few_lines_are_all_sampled():
    assert sample(iter("abc"), 3, seed=0) == ["a", "b", "c"]
    assert sample(iter("abc"), 7, seed=0) == ["a", "b", "c"]


def test_many_lines_are_sampled_uniformly_by_seed():
    draws = [tuple(sample("abcdefg", 3, seed)) for seed in range(3000)]
    assert draws == [tuple(sample("abcdefg", 3, seed)) for seed in range(3000)]
    counts = Counter(line for draw in draws for line in draw)
    assert all(len(set(draw)) == 3 for draw in draws)
    # 3000 · 3/7 ≈ 1286 each, with a standard deviation of 27
    assert all(1150 < counts[line] < 1420 for line in "abcdefg")


def test_the_sample_depends_on_the_seed(monkeypatch):
    monkeypatch.setattr(subwords, "MAX_LINES", 2)
    corpus = [f"{letter * 5} {letter * 3}" for letter in "abcdefghij"]
    models = {train_subwords(corpus, 1, "bpe", seed).model for seed in range(9)}
    assert len(models) > 1
    # two letters, ▁ and the unknown
    assert train_subwords(corpus, 1, "bpe", seed=0).vocabulary_size == 4


def test_subwords_survive_a_json_round_trip_with_their_size(learned):
    value = learned.to_json()
    assert list(value) == ["kind", "model"]
    assert base64.b64decode(value["model"]) == learned.model
    back = tokenizer_from_json(json.loads(json.dumps(value)))
    assert back == learned
    assert back.vocabulary_size == learned.vocabulary_size
    assert back.tokenize(CORPUS[1]) == learned.tokenize(CORPUS[1])


@CASES
@given(data=st.data())
def test_a_damaged_model_is_refused_or_loads_but_never_crashes(learned, data):
    damaged = bytearray(learned.model)
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    damaged = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    value = {"kind": "subwords", "model": base64.b64encode(damaged).decode()}
    try:
        back = tokenizer_from_json(value)
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = "subword model loads"
        back.tokenize("the lower 龘")
    assert sentence.startswith("subword model ")


@pytest.mark.parametrize("model", [b"x", b"\x80\x04.", b"\x00" * 64])
def test_bytes_that_are_not_a_model_are_refused(model):
    with pytest.raises(ValueError, match=r"^subword model cannot be loaded \(") as caught:
        Subwords(model)
    assert str(caught.value).endswith("); it must be a sentencepiece model.")


def field(number, content):
    """Return a field of a protocol buffer with fewer than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize(
    "change",
    [
        # a table of character replacements, which sentencepiece reads without checks
        lambda model: model + field(3, field(2, b"\xff" * 9)),
        # texts that it tokenizes while it loads
        lambda model: model + field(4, b""),
        # a score that is not finite, a piece twice, an empty one, one that is not UTF-8
        lambda model: model + field(1, field(1, b"q") + b"\x15\x00\x00\xc0\x7f"),
        lambda model: model + 2 * field(1, field(1, b"q") + b"\x15" + bytes(4)),
        lambda model: model + field(1, field(1, b"") + b"\x15" + bytes(4)),
        lambda model: model + field(1, field(1, b"\xaf") + b"\x15" + bytes(4)),
        # a second unknown piece, and a byte piece
        lambda model: model + field(1, field(1, b"q") + b"\x15" + bytes(4) + b"\x18\x02"),
        lambda model: model + field(1, field(1, b"q") + b"\x15" + bytes(4) + b"\x18\x06"),
        lambda model: model[:-1],
        lambda model: model + b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ],
)
def test_a_model_that_regard_did_not_train_never_reaches_sentencepiece(
    learned, change, monkeypatch
):
    model = change(learned.model)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ValueError, match=r"^subword model cannot be loaded \(") as caught:
        Subwords(model)
    assert "import" not in str(caught.value)


@pytest.mark.parametrize("corpus", [[], [""], [" ", "\u2028\x85"]])
def test_lines_without_text_are_refused(corpus):
    with pytest.raises(InputError) as caught:
        train_subwords(corpus, 40, "bpe", seed=0)
    assert str(caught.value) == (
        "all lines are blank; subwords are learned from at least one with text. Add lines."
    )


def test_wrong_settings_are_all_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        train_subwords(CORPUS, 0, "wordpiece", seed=0)
    assert str(caught.value) == (
        "text: subword kind is 'wordpiece'; it must be unigram or bpe.\n"
        "text: vocabulary_size is 0; it must be at least 1."
    )


def test_half_a_surrogate_pair_is_refused(learned):
    sentence = (
        r"^character 3 of the line is U\+D83D; UTF-8 cannot encode it\. "
        r"Replace it by U\+FFFD\.$"
    )
    with pytest.raises(InputError, match=sentence):
        learned.tokenize("ab\ud83d")
    with pytest.raises(InputError, match=sentence):
        train_subwords(["ab\ud83d"], 40, "bpe", seed=0)


def test_every_difficult_string_is_restored(learned):
    for hard in HARD:
        assert learned.detokenize(learned.tokenize(hard)) == " ".join(hard.split())
