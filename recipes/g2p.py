"""Grapheme-to-phoneme tasks: monolingual, multilingual, fine-tuned and distilled models."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from recipes.experiments import Command, RecipeRun, SyntheticData, Variant
from recipes.preprocessing import concatenate, subsample, tag_languages, write_pseudo_words

MULTILINGUAL = {"all": "g2p-multilingual", "all-vaswani2017": "g2p-multilingual-vaswani2017"}
"""The multilingual models (all languages but English), each with the name of its settings."""

OVERSAMPLING = 4
"""How many times a low-resource language occurs in the multilingual training pairs."""

LANGUAGE_OPTIONS: dict[str, Command] = {"fre": ("--set", "train.rdrop_alpha=1")}
"""Options of some fine-tuned languages: French is trained with R-Drop."""

NUM_TEACHERS = 3
"""Seeds in a monolingual ensemble of teachers."""

NUM_PSEUDO_WORDS = 4000

REAL_REPEATS = 3
"""How many times the real pairs are repeated among the pseudo-labeled ones."""


def english(data: Path, work: Path) -> Iterator[Variant]:
    """Train on a large English dictionary."""
    folder = data / "cmudict-g2p" / "g014b2b"
    yield Variant("english", "g2p-english", folder / "train.tsv.gz", folder / "dev.tsv.gz")


def monolingual(data: Path, work: Path) -> Iterator[Variant]:
    """Train a model of each of 21 languages."""
    for size in ("low", "medium", "high"):
        folder = data / "sigmorphon2021-g2p" / size
        for pairs in sorted(folder.glob("*_train.tsv*")):
            name = pairs.name.partition("_train")[0]
            dev, test = (folder / f"{name}_{split}.tsv" for split in ("dev", "test"))
            yield Variant(name, f"g2p-{size}", pairs, dev, test if test.exists() else None)


def _all_but_english(data: Path, work: Path) -> list[Variant]:
    """Return the languages of low and medium resource."""
    return [variant for variant in monolingual(data, work) if variant.config != "g2p-high"]


def _is_low_resource(variant: Variant) -> bool:
    return variant.config == "g2p-low"


def multilingual(data: Path, work: Path) -> Iterator[Variant]:
    """Train one model of all languages but English; a language tag follows each word."""
    variants = _all_but_english(data, work)
    repeats = {one.name: OVERSAMPLING for one in variants if _is_low_resource(one)}
    if not variants:
        return
    pairs = tag_languages({x.name: x.pairs for x in variants}, work / "g2p.train.tsv", repeats)
    dev = tag_languages({x.name: x.dev for x in variants}, work / "g2p.dev.tsv")
    tests = {x.name: x.test for x in variants if x.test}
    test = tag_languages(tests, work / "g2p.test.tsv") if tests else None
    validation = subsample(10, dev, work)
    for name, config in MULTILINGUAL.items():
        yield Variant(name, config, pairs, dev, test, validation)


def fine_tuned(data: Path, work: Path) -> Iterator[Variant]:
    """Fine-tune a multilingual model on each language; on low-resource ones, both models."""
    pretrained = list(multilingual(data, work))
    for variant in _all_but_english(data, work):
        low_resource = _is_low_resource(variant)
        for initial in pretrained if low_resource else pretrained[:1]:
            name = variant.name + initial.name.removeprefix("all")
            yield replace(
                variant,
                name=name,
                config="g2p-fine-tuned-low" if low_resource else "g2p-fine-tuned-medium",
                pairs=_tag(variant.name, variant.pairs, work),
                dev=_tag(variant.name, variant.dev, work),
                test=_tag(variant.name, variant.test, work) if variant.test else None,
                warm_start=("g2p-multilingual", initial),
                train_options=LANGUAGE_OPTIONS.get(name, ()),
            )


def _tag(name: str, path: Path, work: Path, repeats: int = 1) -> Path:
    return tag_languages({name: path}, work / f"{path.stem}.tagged{repeats}.tsv", {name: repeats})


def distilled(data: Path, work: Path) -> Iterator[Variant]:
    """Distill the ensemble of both fine-tuned models into a student, with pseudo-words."""
    low_resource = {x.name: x.pairs for x in _all_but_english(data, work) if _is_low_resource(x)}
    variants = list(fine_tuned(data, work))
    for name, pairs in low_resource.items():
        students = [one for one in variants if one.name.partition("-")[0] == name]
        teachers = tuple(RecipeRun("g2p-fine-tuned", one, 1) for one in students)
        out = work / f"{name}.pseudo-words.txt"
        unlabeled = write_pseudo_words(pairs, NUM_PSEUDO_WORDS, out, name)
        synthetic = SyntheticData(_tag(name, pairs, work, REAL_REPEATS), unlabeled, teachers)
        for one in students:
            yield replace(one, config="g2p-distilled", pairs=synthetic.pairs, synthetic=synthetic)


def distilled_monolingual(data: Path, work: Path) -> Iterator[Variant]:
    """Distill an ensemble of monolingual models into a student, with pseudo-words."""
    for variant in filter(_is_low_resource, _all_but_english(data, work)):
        repeated = work / f"{variant.pairs.stem}.{REAL_REPEATS}.tsv"
        pairs = concatenate([variant.pairs] * REAL_REPEATS, repeated)
        out = work / f"{variant.name}.monolingual.pseudo-words.txt"
        unlabeled = write_pseudo_words(variant.pairs, NUM_PSEUDO_WORDS, out)
        seeds = range(1, NUM_TEACHERS + 1)
        teachers = tuple(RecipeRun("g2p-monolingual", variant, seed) for seed in seeds)
        yield replace(variant, pairs=pairs, synthetic=SyntheticData(pairs, unlabeled, teachers))
