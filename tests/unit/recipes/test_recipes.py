"""Recipes: their files exist, their settings are valid, and their data is prepared."""

import os
import tomllib
from pathlib import Path

import pytest
from recipes_data import PAIRS, write

import regard
from recipes.couplets import copies_characters, repetition_pattern, score_couplets
from recipes.experiments import RecipeRun, SyntheticData
from recipes.knowledge_distillation import generate_pseudo_words
from recipes.preprocessing import match_alignment_tokens, write_if_changed
from recipes.scheduler import dependency_graph
from recipes.tag_scores import exact_by_tag
from recipes.tasks import AUTO_CONFIGURED, TASKS
from regard.config.toml import override
from regard.models.build import build
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.corpus_profile import CorpusProfile

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", TASKS)
def test_every_recipe_has_its_files_and_valid_settings(name, data, tmp_path):
    variants = list(TASKS[name].variants(data, tmp_path))
    assert variants
    steps = dependency_graph([RecipeRun(name, variant, 1) for variant in variants])
    runs = [step for step in steps if type(step) is RecipeRun]
    for variant in dict.fromkeys(run.variant for run in runs):
        assert variant.pairs.exists()
        assert variant.dev.exists()
        assert_valid_settings(variant)


def assert_valid_settings(variant):
    """A variant's settings are valid, and its TOML file decides the number of updates."""
    options = variant.train_options
    if variant.settings is None:
        assert options == ()
        return
    tree = tomllib.loads(variant.settings.read_text())
    pairs = [line.split("\t") for line in PAIRS.splitlines()]
    overrides = [options[n + 1] for n, word in enumerate(options) if word == "--set"]
    tree = override(tree, overrides)
    preset = options[1] if options[:1] == ("--preset",) else None
    settings = auto_configure(CorpusProfile.of(pairs, "NFC"), tree, preset).settings
    assert build(settings.model, 30, 30).readout is not None
    assert settings.train.max_steps == tree["train"]["max_steps"]


def test_parallel_files_are_joined_and_words_stand_between_their_neighbors(data, tmp_path):
    captions = next(TASKS["multi30k-vaswani2017"].variants(data, tmp_path))
    assert captions.pairs.read_text() == "a house\tein haus\na dog\tein hund\n"
    words = next(TASKS["histnorm"].variants(data, tmp_path))
    assert words.dev.read_text() == "<vnd> seyn\tund\nvnd <seyn>\tsein\n"


def test_languages_are_tagged_and_low_resource_ones_oversampled(data, tmp_path):
    multilingual, _ = TASKS["g2p-multilingual"].variants(data, tmp_path)
    assert multilingual.pairs.read_text() == 4 * PAIRS.replace("\t", " xyz\t")
    assert multilingual.dev.read_text() == PAIRS.replace("\t", " xyz\t")
    fine_tuned, other = TASKS["g2p-fine-tuned"].variants(data, tmp_path)
    assert fine_tuned.pairs.read_text() == multilingual.dev.read_text()
    assert (fine_tuned.name, other.name) == ("xyz", "xyz-vaswani2017")
    initial = RecipeRun("g2p-multilingual", multilingual, 2)
    assert RecipeRun("g2p-fine-tuned", fine_tuned, 2).prerequisites() == (initial,)


def test_auto_configured_tasks_have_the_pairs_of_their_recipe(data, tmp_path):
    for name, recipe in AUTO_CONFIGURED.items():
        automatic, tuned = (list(TASKS[x].variants(data, tmp_path)) for x in (name, recipe))
        assert [x.name for x in automatic] == [x.name for x in tuned]
        assert [x.dev for x in automatic] == [x.dev for x in tuned]
        assert TASKS[name].metrics == TASKS[recipe].metrics
        if recipe != "inflection":
            assert [x.pairs for x in automatic] == [x.pairs for x in tuned]
    # the recipe adds lemmas as their own forms
    (forms,) = TASKS["auto-configured-inflection"].variants(data, tmp_path)
    assert forms.pairs == data / "sigmorphon2022-inflection" / "xyz_large.train.gz"
    assert forms.columns == ("--columns", "source=1,3", "target=2")


def test_sentences_are_tokenized_as_the_hand_aligned_ones(tmp_path):
    english = "Tom's well-known dog isn't 3 years old, \"he\" said."
    write(tmp_path / "a.tsv.gz", f"{english}\t汤姆 的狗。\n")
    tokenized = "tom 's well-known dog isn 't 3 years old , \" he \" said ."
    path = match_alignment_tokens(tmp_path / "a.tsv.gz", tmp_path)
    assert path.read_text() == f"汤姆的狗。\t{tokenized}\n"


def test_a_medium_resource_language_is_fine_tuned_from_one_model_and_not_distilled(data, tmp_path):
    for size, name in (("medium", "fre"), ("high", "eng")):
        for split in ("train", "dev"):
            path = data / "sigmorphon2021-g2p" / size / f"{name}_{split}.tsv"
            write(path, PAIRS, packed=False)
    monolingual = [*TASKS["g2p-monolingual"].variants(data, tmp_path)]
    assert [variant.name for variant in monolingual] == ["xyz", "fre", "eng"]
    fine_tuned = [*TASKS["g2p-fine-tuned"].variants(data, tmp_path)]
    assert [variant.name for variant in fine_tuned] == ["xyz", "xyz-vaswani2017", "fre"]
    options = [variant.train_options for variant in fine_tuned]
    assert options == [(), (), ("--set", "train.rdrop_alpha=1")]
    for variant in monolingual + fine_tuned:
        assert_valid_settings(variant)
    for task in ("g2p-distilled", "g2p-distilled-monolingual"):
        assert {variant.name[:3] for variant in TASKS[task].variants(data, tmp_path)} == {"xyz"}
    multilingual, _ = TASKS["g2p-multilingual"].variants(data, tmp_path)
    tagged = (PAIRS.replace("\t", f" {name}\t") for name in ("xyz", "fre"))
    assert multilingual.pairs.read_text() == 4 * next(tagged) + next(tagged)


def test_prerequisites_are_followed_to_their_own_prerequisites(data, tmp_path):
    multilingual = list(TASKS["g2p-multilingual"].variants(data, tmp_path))
    fine_tuned = list(TASKS["g2p-fine-tuned"].variants(data, tmp_path))
    variants = list(TASKS["g2p-distilled"].variants(data, tmp_path))
    students = [RecipeRun("g2p-distilled", variant, 1) for variant in variants]
    graph = dependency_graph(students)
    teachers = tuple(RecipeRun("g2p-fine-tuned", variant, 1) for variant in fine_tuned)
    # both students have the same synthetic data
    (synthetic,) = {step for step in graph if isinstance(step, SyntheticData)}
    assert graph[synthetic] == synthetic.teachers == teachers
    pretrained = [RecipeRun("g2p-multilingual", variant, 1) for variant in multilingual]
    assert [graph[student] for student in students] == [(run, synthetic) for run in pretrained]
    assert [graph[teacher] for teacher in teachers] == [(run,) for run in pretrained]
    assert len(graph) == 2 + 1 + 2 + 2


def test_monolingual_models_are_distilled_into_one_of_the_same_language(data, tmp_path):
    (student,) = TASKS["g2p-distilled-monolingual"].variants(data, tmp_path)
    (teacher,) = TASKS["g2p-monolingual"].variants(data, tmp_path)
    assert (student.name, student.config) == ("xyz", "g2p-low") == (teacher.name, teacher.config)
    teachers = tuple(RecipeRun("g2p-monolingual", teacher, n) for n in (1, 2, 3))
    assert student.synthetic.teachers == teachers
    assert student.pairs.read_text() == 3 * PAIRS
    words = [line.split("\t")[0] for line in PAIRS.splitlines()]
    unlabeled = student.synthetic.unlabeled.read_text().splitlines()
    assert unlabeled == generate_pseudo_words(words, 4000)


def test_pseudo_words_are_new_but_consist_of_known_letter_pairs():
    words = ["banana", "bandana", "canal"]
    pseudo_words = generate_pseudo_words(words, 20)
    assert pseudo_words == generate_pseudo_words(words, 20)
    assert len(pseudo_words) == len(set(pseudo_words)) > 3
    assert not set(pseudo_words) & set(words)
    pairs = {word[n : n + 2] for word in words for n in range(len(word) - 1)}
    assert {word[n : n + 2] for word in pseudo_words for n in range(len(word) - 1)} <= pairs
    assert max(map(len, pseudo_words)) <= 7
    assert {word[0] for word in pseudo_words} <= {"b", "c"}
    assert {word[-1] for word in pseudo_words} <= {"a", "l"}


def test_a_file_that_holds_the_same_text_is_not_written(tmp_path):
    path = write_if_changed(tmp_path / "a.tsv", "a\n")
    os.utime(path, ns=(10, 10))
    write_if_changed(path, "a\n")
    assert path.stat().st_mtime_ns == 10
    write_if_changed(path, "b\n")
    assert path.stat().st_mtime_ns != 10
    assert path.read_text() == "b\n"
    assert [*tmp_path.iterdir()] == [path]


def test_a_lemma_is_added_as_its_own_form_with_an_unknown_tag(data, tmp_path):
    (variant,) = TASKS["inflection"].variants(data, tmp_path)
    assert variant.pairs.read_text() == "walk\twalked\tV;PST\nwalk\twalk\t?0\n"


def test_couplets_are_scored(tmp_path):
    assert repetition_pattern("天天向上") == (0, 0, 2, 3)
    assert copies_characters("天,地", "人,天")
    assert not copies_characters("天,地", "人,山")
    write(tmp_path / "dev.tsv", "2016\t6102\n11\t22\n2016\t2016\n", packed=False)
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    scores = score_couplets(model, tmp_path / "dev.tsv", "cpu")
    translations = regard.load(model).translate(["2016", "11"])
    texts = [translation.text for translation in translations]
    assert scores["samples"] == [["2016", texts[0]], ["11", texts[1]]]
    same_length = [len(text) == size for text, size in zip(texts, (4, 2), strict=True)]
    assert scores["couplets"]["right length"] == 50 * sum(same_length)
    both = zip(("6102", "22"), texts, strict=True)
    right = [a == b for x, text in both for a, b in zip(x, text, strict=False)]
    assert scores["couplets"]["character as in the reference"] == 100 * sum(right) / len(right)
    diagonal = [
        row.argmax() == place
        for translation in translations
        for place, row in enumerate(translation.attention[: len(translation.tokens)])
    ]
    share = scores["couplets"]["largest weight on its own position"]
    assert share == pytest.approx(100 * sum(diagonal) / len(diagonal))
    assert 0 < share < 100


def test_each_tag_is_scored_by_itself(tmp_path):
    model = ROOT / "tests" / "compat" / "bahdanau2015.regard"
    sources = ["12 1", "13 1", "14 2"]
    texts = [translation.text for translation in regard.load(model).translate(sources)]
    lines = [f"{source}\t{text}" for source, text in zip(sources, texts, strict=True)]
    lines[0] += "0"
    write(tmp_path / "dev.tsv", "\n".join(lines) + "\n", packed=False)
    scores = exact_by_tag(model, tmp_path / "dev.tsv", "cpu")
    assert scores == {"exact by tag": {"1": 50.0, "2": 100.0}}
