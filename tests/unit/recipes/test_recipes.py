"""Recipes: their files are found, their settings are taken, and words for them are made."""

import os
import tomllib
from pathlib import Path

import pytest
from recipes_data import PAIRS, written

import regard
from recipes.couplets import copied, looked_at, pattern
from recipes.files import as_aligned
from recipes.files import written as write
from recipes.parts import Job, Lessons
from recipes.run import graph
from recipes.tags import by_tag
from recipes.tasks import AUTOMATIC, TASKS
from recipes.teach import invented
from regard.config.toml import override
from regard.models.build import build
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.corpus_profile import CorpusProfile

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", TASKS)
def test_every_recipe_has_its_files_and_settings_that_are_taken(name, data, tmp_path):
    parts = list(TASKS[name].parts(data, tmp_path))
    assert parts
    jobs = [node for node in graph([Job(name, part, 1) for part in parts]) if type(node) is Job]
    for part in dict.fromkeys(job.part for job in jobs):
        assert part.pairs.exists()
        assert part.dev.exists()
        assert_taken(part)


def assert_taken(part):
    """A part's settings are taken, and say themselves how long it learns."""
    if part.settings is None:
        assert part.more == ()
        return
    tree = tomllib.loads(part.settings.read_text())
    pairs = [line.split("\t") for line in PAIRS.splitlines()]
    said = [part.more[n + 1] for n, word in enumerate(part.more) if word == "--set"]
    tree = override(tree, said)
    preset = part.more[1] if part.more[:1] == ("--preset",) else None
    settings = auto_configure(CorpusProfile.of(pairs, "NFC"), tree, preset).settings
    assert build(settings.model, 30, 30).readout is not None
    assert settings.train.max_steps == tree["train"]["max_steps"]


def test_sides_are_laid_side_by_side_and_words_stand_between_their_neighbours(data, tmp_path):
    captions = next(TASKS["multi30k-vaswani2017"].parts(data, tmp_path))
    assert captions.pairs.read_text() == "a house\tein haus\na dog\tein hund\n"
    words = next(TASKS["histnorm"].parts(data, tmp_path))
    assert words.dev.read_text() == "<vnd> seyn\tund\nvnd <seyn>\tsein\n"


def test_languages_are_named_and_the_scarce_are_read_more_often(data, tmp_path):
    together, _ = TASKS["g2p-together"].parts(data, tmp_path)
    assert together.pairs.read_text() == 4 * PAIRS.replace("\t", " xyz\t")
    assert together.dev.read_text() == PAIRS.replace("\t", " xyz\t")
    after, other = TASKS["g2p-after"].parts(data, tmp_path)
    assert after.pairs.read_text() == together.dev.read_text()
    assert (after.name, other.name) == ("xyz", "xyz-vaswani2017")
    assert Job("g2p-after", after, 2).needs() == (Job("g2p-together", together, 2),)


def test_what_has_no_settings_learns_from_the_same_pairs_as_the_recipe_beside_it(data, tmp_path):
    for name, recipe in AUTOMATIC.items():
        ours, theirs = (list(TASKS[x].parts(data, tmp_path)) for x in (name, recipe))
        assert [x.name for x in ours] == [x.name for x in theirs]
        assert [x.dev for x in ours] == [x.dev for x in theirs]
        assert TASKS[name].metrics == TASKS[recipe].metrics
        if recipe != "inflection":
            assert [x.pairs for x in ours] == [x.pairs for x in theirs]
    # lemmas as their own forms are something that a recipe adds
    (forms,) = TASKS["automatic-forms"].parts(data, tmp_path)
    assert forms.pairs == data / "sigmorphon2022-inflection" / "xyz_large.train.gz"
    assert forms.columns == ("--columns", "source=1,3", "target=2")


def test_sentences_are_cut_as_those_who_aligned_words_cut_them(tmp_path):
    english = "Tom's well-known dog isn't 3 years old, \"he\" said."
    written(tmp_path / "a.tsv.gz", f"{english}\t汤姆 的狗。\n")
    cut = "tom 's well-known dog isn 't 3 years old , \" he \" said ."
    assert as_aligned(tmp_path / "a.tsv.gz", tmp_path).read_text() == f"汤姆的狗。\t{cut}\n"


def test_a_language_of_thousands_goes_on_from_one_model_and_is_not_taught(data, tmp_path):
    for size, name in (("medium", "fre"), ("high", "eng")):
        for split in ("train", "dev"):
            path = data / "sigmorphon2021-g2p" / size / f"{name}_{split}.tsv"
            written(path, PAIRS, packed=False)
    parts = [*TASKS["g2p-languages"].parts(data, tmp_path)]
    assert [part.name for part in parts] == ["xyz", "fre", "eng"]
    after = [*TASKS["g2p-after"].parts(data, tmp_path)]
    assert [part.name for part in after] == ["xyz", "xyz-vaswani2017", "fre"]
    assert [part.more for part in after] == [(), (), ("--set", "train.agreement=1")]
    for part in parts + after:
        assert_taken(part)
    for task in ("g2p-taught", "g2p-taught-alone"):
        assert {part.name[:3] for part in TASKS[task].parts(data, tmp_path)} == {"xyz"}
    together, _ = TASKS["g2p-together"].parts(data, tmp_path)
    tagged = (PAIRS.replace("\t", f" {name}\t") for name in ("xyz", "fre"))
    assert together.pairs.read_text() == 4 * next(tagged) + next(tagged)


def test_what_a_model_needs_is_known_with_all_that_this_needs(data, tmp_path):
    together = list(TASKS["g2p-together"].parts(data, tmp_path))
    after = list(TASKS["g2p-after"].parts(data, tmp_path))
    parts = list(TASKS["g2p-taught"].parts(data, tmp_path))
    jobs = [Job("g2p-taught", part, 1) for part in parts]
    found = graph(jobs)
    teachers = tuple(Job("g2p-after", part, 1) for part in after)
    # either kind learns the same lessons
    (lessons,) = {node for node in found if isinstance(node, Lessons)}
    assert found[lessons] == lessons.teachers == teachers
    first = [Job("g2p-together", part, 1) for part in together]
    assert [found[job] for job in jobs] == [(start, lessons) for start in first]
    assert [found[teacher] for teacher in teachers] == [(start,) for start in first]
    assert len(found) == 2 + 1 + 2 + 2


def test_models_of_one_language_teach_another_of_it(data, tmp_path):
    (part,) = TASKS["g2p-taught-alone"].parts(data, tmp_path)
    (alone,) = TASKS["g2p-languages"].parts(data, tmp_path)
    assert (part.name, part.config) == ("xyz", "g2p-low") == (alone.name, alone.config)
    assert part.lessons.teachers == tuple(Job("g2p-languages", alone, n) for n in (1, 2, 3))
    assert part.pairs.read_text() == 3 * PAIRS
    words = [line.split("\t")[0] for line in PAIRS.splitlines()]
    assert part.lessons.unknown.read_text().splitlines() == invented(words, 4000)


def test_invented_words_are_new_and_of_known_pieces():
    words = ["banana", "bandana", "canal"]
    found = invented(words, 20)
    assert found == invented(words, 20)
    assert len(found) == len(set(found)) > 3
    assert not set(found) & set(words)
    pairs = {word[n : n + 2] for word in words for n in range(len(word) - 1)}
    assert {word[n : n + 2] for word in found for n in range(len(word) - 1)} <= pairs
    assert max(map(len, found)) <= 7
    assert {word[0] for word in found} <= {"b", "c"}
    assert {word[-1] for word in found} <= {"a", "l"}


def test_a_file_that_holds_the_same_is_left_alone(tmp_path):
    path = write(tmp_path / "a.tsv", "a\n")
    os.utime(path, ns=(10, 10))
    write(path, "a\n")
    assert path.stat().st_mtime_ns == 10
    write(path, "b\n")
    assert path.stat().st_mtime_ns != 10
    assert path.read_text() == "b\n"
    assert [*tmp_path.iterdir()] == [path]


def test_a_lemma_with_an_unknown_tag_stays_as_it_is(data, tmp_path):
    (part,) = TASKS["inflection"].parts(data, tmp_path)
    assert part.pairs.read_text() == "walk\twalked\tV;PST\nwalk\twalk\t?0\n"


def test_couplets_are_looked_at(tmp_path):
    assert pattern("天天向上") == (0, 0, 2, 3)
    assert copied("天,地", "人,天")
    assert not copied("天,地", "人,山")
    written(tmp_path / "dev.tsv", "2016\t6102\n11\t22\n2016\t2016\n", packed=False)
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    found = looked_at(model, tmp_path / "dev.tsv", "cpu")
    answers = regard.load(model).translate(["2016", "11"])
    texts = [answer.text for answer in answers]
    assert found["shown"] == [["2016", texts[0]], ["11", texts[1]]]
    alike = [len(text) == size for text, size in zip(texts, (4, 2), strict=True)]
    assert found["couplets"]["right length"] == 50 * sum(alike)
    both = zip(("6102", "22"), texts, strict=True)
    right = [a == b for x, text in both for a, b in zip(x, text, strict=False)]
    assert found["couplets"]["character as in the reference"] == 100 * sum(right) / len(right)
    own = [
        row.argmax() == place
        for answer in answers
        for place, row in enumerate(answer.attention[: len(answer.tokens)])
    ]
    share = found["couplets"]["largest weight on its own position"]
    assert share == pytest.approx(100 * sum(own) / len(own))
    assert 0 < share < 100


def test_each_tag_is_scored_by_itself(tmp_path):
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    sources = ["12 1", "13 1", "14 2"]
    texts = [answer.text for answer in regard.load(model).translate(sources)]
    lines = [f"{source}\t{text}" for source, text in zip(sources, texts, strict=True)]
    lines[0] += "0"
    written(tmp_path / "dev.tsv", "\n".join(lines) + "\n", packed=False)
    assert by_tag(model, tmp_path / "dev.tsv", "cpu") == {"exact by tag": {"1": 50.0, "2": 100.0}}
