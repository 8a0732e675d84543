"""Which task, tokenizers, split and metric are chosen for pairs of all kinds."""

import random

import pytest
from pipeline_cases import digits, profile

from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.corpus_profile import CorpusProfile

WORDS = ["time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world"]
SIGNS = "春风秋月山水花鸟江湖天地人家日夜雨雪云烟"
LEMMAS = [f"{a}{b}" for a in ("walk", "go", "see", "give") for b in ("", "en", "ing", "over")]
BUNDLES = ["N;NOM(SG)", "N;NOM(PL)", "N;ACC(SG;PSS(1,SG))", "N;ACC(PL;PSS(2,PL))", "N;DAT(SG)"]


def english(rng, count=8):
    return " ".join(f"{rng.choice(WORDS)}{rng.choice(['', 's', 'ly', 'er'])}" for _ in range(count))


def chinese(rng, count):
    return "".join(rng.choices(SIGNS, k=count))


def drawn(make, count=400):
    rng = random.Random(3)
    return [make(rng) for _ in range(count)]


def inflected(bundles, form="{lemma} {tags}"):
    return [
        (form.format(lemma=lemma, tags=tags), f"{lemma}{number}")
        for lemma in LEMMAS
        for number, tags in enumerate(bundles)
    ]


def couplet(rng):
    length = rng.randint(5, 9)
    return chinese(rng, length), chinese(rng, length)


def spelled(rng):
    word = "".join(rng.choices("abdeiklmnorstu", k=rng.randint(4, 9)))
    return word.replace("k", "c").replace("u", "v"), word


def old_line(rng):
    line = english(rng)
    return line.replace("s", "\N{LATIN SMALL LETTER LONG S}"), line


def phones(rng):
    word = "".join(rng.choices("abdeiklmnorstu", k=rng.randint(4, 9)))
    return word, " ".join(word.upper())


def cyrillic(rng, between=""):
    word = rng.choices("abdeiklmno", k=rng.randint(4, 9))
    return "".join(word), between.join(word).translate(str.maketrans("abdeiklmno", "абдеиклмно"))


LOWER = [tags.lower() for tags in BUNDLES]
UNIVERSAL = ["Case=Nom|Number=Sing", "Case=Nom|Number=Plur", "Case=Acc|Number=Sing"]
TABLE = {
    # name: pairs, then source, target, task, what is held out together, metric, same length
    "UniMorph 2022": (inflected(["V;PST", "V;PRS;3;SG", "N;PL"]),
        "tagged", "characters", "inflection", "lemma", "accuracy", False),
    "UniMorph 2023": (inflected(BUNDLES),
        "tagged", "characters", "inflection", "lemma", "accuracy", False),
    "tags before the lemma": (inflected(BUNDLES, "{tags} {lemma}"),
        "tagged", "characters", "inflection", "lemma", "accuracy", False),
    "Universal Dependencies": (inflected(UNIVERSAL),
        "tagged", "characters", "inflection", "lemma", "accuracy", False),
    "tags in small letters": (inflected(LOWER),
        "tagged", "characters", "inflection", "lemma", "accuracy", False),
    "one lemma": ([(f"go {tags}", "went") for tags in BUNDLES] * 9,
        "tagged", "characters", "inflection", "source", "accuracy", False),
    "phones": (drawn(phones), "characters", "whitespace", "g2p", "source", "wer", False),
    "names": (drawn(cyrillic),
        "characters", "characters", "transliteration", "source", "accuracy", True),
    "names with spaces": (drawn(lambda rng: cyrillic(rng, " ")),
        "characters", "whitespace", "transliteration", "source", "accuracy", False),
    "old spellings": (drawn(spelled),
        "characters", "characters", "normalization", "source", "accuracy", True),
    "old lines": (drawn(old_line),
        "words", "words", "normalization", "near_duplicates", "cer", False),
    "couplets": (drawn(couplet),
        "characters", "characters", "translation", "near_duplicates", "chrf", True),
    "Chinese to English": (drawn(lambda rng: (chinese(rng, 9), english(rng, 5))),
        "characters", "words", "translation", "near_duplicates", "chrf", False),
    "English to Chinese": (drawn(lambda rng: (english(rng, 14), chinese(rng, 20))),
        "words", "characters", "translation", "near_duplicates", "chrf", False),
    "capital letters": ([(x, x.upper()) for x in LEMMAS],
        "characters", "characters", "other", "source", "accuracy", False),
    "dates": ([("2 January 2020", "2020-01-02"), ("31 May 1999", "1999-05-31")],
        "characters", "characters", "other", "source", "accuracy", False),
    "templates": ([(f"our meeting begins at {n}", f"wir beginnen um {n} Uhr") for n in range(99)],
        "words", "words", "translation", "source", "chrf", False),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_pairs_of_each_kind_get_settings_that_suit_them(name):
    pairs, *expected = TABLE[name]
    found = auto_configure(profile(pairs), {}).settings
    assert [
        *(found.text.source, found.text.target, found.data.task, found.data.split_by),
        *(found.train.metric, found.search.same_length),
    ] == expected


def test_long_lines_of_english_are_words_or_subwords_beside_chinese():
    rng = random.Random(5)
    many = [f"{a}{b}" for a in WORDS for b in map(str, range(40))]
    for length in (4, 8, 30):
        line = lambda: " ".join(rng.choices(many, k=length))  # noqa: B023, E731
        found = auto_configure(profile([(chinese(rng, 9), line()) for _ in range(300)]), {})
        assert found.settings.text.target in ("words", "unigram"), length


def test_the_form_of_the_tags_is_a_setting():
    def text(pairs, given=None):
        return auto_configure(profile(pairs), given or {}).settings.text

    assert text(inflected(["V;PST", "V;PRS"])).tag_separators == ";"
    assert text(inflected(BUNDLES)).tag_separators == ";,()"
    assert text(inflected(UNIVERSAL)).tag_separators == "|"
    assert text(inflected(BUNDLES, "{tags} {lemma}")).tag_position == "first"
    assert text(inflected(BUNDLES)).tag_position == "last"
    given = {"text": {"tag_separators": ";"}}
    assert text(inflected(BUNDLES), given).tag_separators == ";"


def test_equal_lengths_are_kept_only_if_they_mean_something():
    def same(pairs):
        return auto_configure(profile(pairs), {}).settings.search.same_length

    pairs = drawn(couplet)
    assert same(pairs)
    assert not same(pairs[:99])
    assert same([*pairs[:398], ("春", "春风"), ("夏", "春风")])
    assert not same([*pairs[:395], *[(sign, "春风") for sign in SIGNS[:5]]])
    # lines of one length say nothing about others
    assert not same(digits(400))


def test_explicit_task_and_metric_stay():
    given = {"data": {"task": "transcription", "split_by": "source"}, "train": {"metric": "loss"}}
    found = auto_configure(profile(drawn(couplet)), given).settings
    assert (found.data.task, found.data.split_by) == ("transcription", "source")
    assert found.train.metric == "loss"


def test_groups_decide_the_split_if_there_are_any():
    pairs = CorpusProfile.of(inflected(BUNDLES), "NFC")
    pairs.has_groups = True
    assert auto_configure(pairs, {}).settings.data.split_by == "group"
