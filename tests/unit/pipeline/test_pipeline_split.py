"""What is held out for validation: sources, lemmas, near-duplicates or groups, never in parts."""

import re

import pytest
from pipeline_cases import TINY, digits, quick, tsv

import regard
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import DataError
from regard.models import preset
from regard.pipeline.input_pairs import InputPairs, read_pairs
from regard.pipeline.near_duplicates import near_duplicate_keys
from regard.pipeline.pairs_source import PairsSource
from regard.pipeline.train_dev_split import TrainDevSplit

BUNDLES = ["N;NOM(SG)", "N;NOM(PL)", "N;ACC(SG;PSS(1,SG))", "N;DAT(PL)", "N;GEN(SG)"]
LEMMAS = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
TAGGED = [(f"{lemma} {tags}", f"{lemma}{n}") for lemma in LEMMAS for n, tags in enumerate(BUNDLES)]


def split(pairs, **sections):
    source = pairs if isinstance(pairs, PairsSource) else PairsSource(pairs)
    tree = to_tree(Settings(model=preset("bahdanau2015")(**TINY)))
    for section, settings in sections.items():
        tree[section] |= settings
    parts = TrainDevSplit(InputPairs(read_pairs(source, "NFC"), None), settings_from(tree))
    train = [pair for block in parts.train() for pair in block.pairs()]
    return train, list(parts.dev()), parts


def lemmas_of(pairs):
    return {source.split(" ")[0] for source, _ in pairs}


def test_no_lemma_is_in_both_parts():
    train, dev, parts = split(TAGGED, data={"split_by": "lemma", "dev_fraction": 0.1})
    assert sorted(train + dev) == sorted(TAGGED)
    assert len(lemmas_of(dev)) == parts.num_held_out == 10
    assert not lemmas_of(train) & lemmas_of(dev)
    # by sources, nearly every lemma of the one part is in the other
    train, dev, _ = split(TAGGED, data={"split_by": "source", "dev_fraction": 0.1})
    assert lemmas_of(dev) <= lemmas_of(train)


def test_tags_may_stand_before_the_lemma():
    turned = [(" ".join(reversed(source.split(" "))), target) for source, target in TAGGED]
    by_lemma = {"split_by": "lemma", "dev_fraction": 0.1}
    train, dev, _ = split(turned, data=by_lemma, text={"tag_position": "first"})
    lemmas = [{source.split(" ")[1] for source, _ in part} for part in (train, dev)]
    assert not lemmas[0] & lemmas[1]
    assert len(lemmas[1]) == 10


def test_the_limit_of_sources_counts_those_of_a_lemma():
    by_lemma = {"split_by": "lemma", "dev_fraction": 0.5, "max_dev_sources": 20}
    _, dev, parts = split(TAGGED, data=by_lemma)
    assert (len(dev), parts.num_held_out) == (20, 4)


def test_the_split_does_not_depend_on_the_order():
    by_lemma = {"split_by": "lemma"}
    assert set(split(TAGGED, data=by_lemma)[1]) == set(split(TAGGED[::-1], data=by_lemma)[1])


def test_near_duplicates_stay_together():
    lines = [f"{a}{b} {b}{a} met again" for a in "abcdefghij" for b in "klmnopqrst"]
    forms = ["{} 7.", "{} 12!", "« {} » 7", "{}, 1999"]
    pairs = [(form.format(line).capitalize(), "x") for line in lines for form in forms]
    train, dev, parts = split(pairs, data={"split_by": "near_duplicates", "dev_fraction": 0.1})
    letters = [{re.sub("[^a-z]", "", s.lower()) for s, _ in part} for part in (train, dev)]
    assert not letters[0] & letters[1]
    assert len(letters[1]) == parts.num_held_out == 10
    assert len(dev) == 40


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("It rained.", "it rained", True),
        ("It rained 3 days", "It rained 12 days!", True),
        ("Straße", "STRASSE", True),
        ("١٢ يوما من المطر", "٣ يوما من المطر", True),
        ("经世上\N{FULLWIDTH COMMA}几番风雨", "经世上几番风雨。", True),
        ("It rained", "It rains", False),
        ("résumé", "resume", False),
        ("12:30", "14:05", False),
        ("?!", "!?", False),
    ],
)
def test_near_duplicates_differ_in_case_punctuation_digits_and_spaces(one, other, alike):
    first, second = near_duplicate_keys([one, other])
    assert (first == second) is alike
    assert near_duplicate_keys([]) == []


def grouped(tmp_path, rows):
    path = tmp_path / "groups.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return PairsSource(path, group_by="3")


def test_pairs_of_a_group_are_held_out_together(tmp_path):
    rows = [(f"s{n}", f"t{n}", f"speaker {n % 40}") for n in range(400)]
    source = grouped(tmp_path, rows)
    train, dev, parts = split(source, data={"split_by": "group"})
    groups = [{int(s[1:]) % 40 for s, _ in part} for part in (train, dev)]
    assert not groups[0] & groups[1]
    assert (parts.num_held_out, len(dev)) == (2, 20)
    # who asks for the old rule gets it
    _, dev, _ = split(source, data={"split_by": "source"})
    assert len({int(s[1:]) % 40 for s, _ in dev}) > 2
    assert set(dev) == set(split([row[:2] for row in rows], data={"split_by": "source"})[1])


def test_what_cannot_be_split_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"have no groups.*--group-by COLUMN"):
        split(digits(), data={"split_by": "group"})
    with pytest.raises(DataError, match=r"same group.*at least two"):
        split(
            grouped(tmp_path, [(f"s{n}", "t", "a") for n in range(9)]), data={"split_by": "group"}
        )
    with pytest.raises(DataError, match=r"same lemma.*split_by = source"):
        split([(f"go {tags}", "went") for tags in BUNDLES], data={"split_by": "lemma"})


def test_training_says_what_is_held_out(tmp_path, capfd):
    quick(tsv(tmp_path / "p.tsv", TAGGED[:100]), out=str(tmp_path / "m.regard"), quiet=False)
    said = capfd.readouterr().err
    assert "data.split_by = lemma: " in said
    assert "held out 1 lemma, 5 sources; no lemma is in both parts" in said
    model = regard.load(str(tmp_path / "m.regard"))
    assert (model.settings.data.task, model.settings.train.metric) == ("inflection", "accuracy")
    assert [x["name"] for x in model.summary["scores"]] == ["accuracy", "levenshtein"]
    assert "Levenshtein distance" in said


def test_an_older_meaning_of_wer_is_named(capfd):
    words = [
        ("".join(sorted(word)), " ".join(word)) for word in ("cab", "dab", "bad", "fad", "ace")
    ]
    quick(words, quiet=False, train={"metric": "wer"})
    assert "train.metric = wer is the share of wrong words" in capfd.readouterr().err
    quick(words, quiet=False)
    said = capfd.readouterr().err
    assert "train.metric = wer: the share of wrong words" in said
    assert "earlier versions" not in said
