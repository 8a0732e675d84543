"""Automatic settings of text: tags at the end of a source, marks, what is seen too seldom."""

import pytest
from pipeline_cases import digits, profile

from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.settings_checks import check_settings

LEMMAS = ["walk", "give up", "été", "go", "see"]
TAGS = ["V;PST;3;SG", "V.PTCP;PRS", "N;PL;PSS1S", "V;PST+RMT", "N"]


def chosen(pairs, given=None, name=None):
    return auto_configure(profile(pairs), given or {}, name)


def inflected(tags=TAGS, form="walked"):
    """Return lemmas with tags, each tag five times."""
    return [(f"{lemma} {tag}", form) for lemma in LEMMAS for tag in tags]


def test_tags_at_the_end_of_every_source_are_tokens():
    found = chosen(inflected())
    assert (found.settings.text.source, found.settings.text.target) == ("tagged", "characters")
    assert "text.source = tagged: every line ends in some of 10 tags" in map(str, found.reasons)
    assert chosen(inflected(), {"text": {"source": "characters"}}).settings.text.source == (
        "characters"
    )
    assert chosen(inflected(["PST", "PRS", "INF"])).settings.text.source == "tagged"


@pytest.mark.parametrize(
    "pairs",
    [
        [*inflected(), ("walk", "walked")],
        [*inflected(), ("walk ", "walked")],
        [*inflected(), *((f"go {tag}", "went") for tag in ("RARE1", "RARE2", "RARE3", "RARE4"))],
        inflected(["past", "present", "Past;third"]),
        inflected(["1999", "2001", "2024"]),
        inflected(["3"]),
        inflected(["过去", "现在"]),
        inflected(form="he had been walking"),
    ],
    ids=["no tags", "a space", "seldom", "words", "years", "number", "Chinese", "sentences"],
)
def test_common_endings_are_not_tags(pairs):
    assert chosen(pairs).settings.text.source != "tagged"


def test_more_than_a_thousand_different_tags_are_not_tags():
    lines = [(f"walk T{i % 1001}", "walked") for i in range(6000)]
    assert chosen(lines[:6000]).settings.text.source == "characters"
    fewer = [(f"walk T{i % 1000}", "walked") for i in range(6000)]
    assert chosen(fewer).settings.text.source == "tagged"


def test_a_shared_vocabulary_has_no_tags():
    found = chosen(inflected(), {"text": {"shared_vocabulary": True}}).settings.text
    assert (found.source, found.target) == ("characters", "characters")
    tied = chosen(inflected(), {"model": {"tied_embeddings": "all"}}, "vaswani2017").settings
    check_settings(tied)


SOUNDS = [("fara", "f aː r a"), ("þó", "θ oː"), ("ef", "ɛ f"), ("ár", "aː r"), ("él", "ɛː l")]


def test_phonemes_are_split_if_that_leaves_fewer_tokens():
    found = chosen(SOUNDS)
    assert (found.settings.text.source, found.settings.text.target) == ("characters", "phonemes")
    reason = "spaces separate 9 short tokens, 8 without their marks"
    assert f"text.target = phonemes: {reason}" in map(str, found.reasons)
    # an accent that is written into its letter is a mark too
    accents = [("a", "à ǎ á"), ("e", "è ě é")]
    assert chosen(accents).settings.text.target == "phonemes"
    assert chosen(SOUNDS, {"text": {"target": "whitespace"}}).settings.text.target == "whitespace"
    few = [*SOUNDS, ("x", "k s"), ("z", "t s")]
    assert chosen(few).settings.text.target == "whitespace"
    # a source may be sounds as well
    turned = chosen([(target, source) for source, target in SOUNDS]).settings.text
    assert (turned.source, turned.target) == ("phonemes", "characters")
    # where lines stay as they are, such accents do too
    assert auto_configure(profile(accents, "none"), {}).settings.text.target == "whitespace"
    assert auto_configure(profile(SOUNDS, "none"), {}).settings.text.target == "phonemes"


def test_diacritics_of_phonemes_are_counted():
    # 12 symbols and 4 marks in five lines, and an end in each
    found = chosen(SOUNDS * 1000, {"text": {"source": "words"}})
    assert found.settings.text.target == "phonemes"
    reasons = {one.name: one.reason for one in found.reasons}
    assert reasons["train.batch_tokens"].startswith("about 21,000 tokens")
    # twice the 59 characters of the longest line: a mark has no space before it
    assert chosen([*SOUNDS, ("a", " ".join(["aː"] * 20))]).settings.data.max_target_length == 118


def test_a_shared_vocabulary_has_no_diacritics_of_one_side_alone():
    plain = ["f r", "k s", "a l", "t s", "i t"]
    both = [(source, target) for source, (_, target) in zip(plain, SOUNDS, strict=True)]
    assert chosen(both).settings.text.target == "phonemes"
    assert chosen(both, {"text": {"shared_vocabulary": True}}).settings.text.target == "whitespace"


def test_tokens_that_occur_once_in_many_pairs_are_unknown():
    assert chosen(digits(999)).settings.text.min_count == 1
    found = chosen(digits(1000))
    assert found.settings.text.min_count == 2
    reason = "tokens that occur once train the unknown token"
    assert f"text.min_count = 2: {reason}" in map(str, found.reasons)
    pieces = [(f"w{i} x{i} y{i} z{i}", f"a{i} b{i} c{i} d{i}") for i in range(1000)]
    assert chosen(pieces).settings.text.min_count == 1
    one = chosen(pieces, {"text": {"target": "words"}}).settings.text
    assert (one.source, one.min_count) == ("unigram", 2)
    assert chosen(digits(1000), {"text": {"min_count": 1}}).settings.text.min_count == 1


def test_tied_embeddings_need_and_get_a_shared_vocabulary():
    found = chosen(digits(), {"model": {"tied_embeddings": "all"}}, "vaswani2017")
    assert found.settings.text.shared_vocabulary
    assert "text.shared_vocabulary = true: model.tied_embeddings = all needs one vocabulary" in map(
        str, found.reasons
    )
    shared = chosen(digits(), {"text": {"shared_vocabulary": True}}, "vaswani2017")
    assert shared.settings.model.tied_embeddings == "all"
    assert chosen(digits(), {}, "vaswani2017").settings.model.tied_embeddings == "output"
