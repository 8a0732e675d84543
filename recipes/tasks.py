"""The tasks of the recipes: which files of the data, which settings, and how each is scored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from recipes import g2p
from recipes.couplets import score_couplets
from recipes.experiments import Command, PreparationCommand, Task, Variant
from recipes.preprocessing import (
    add_context,
    add_lemmas,
    concatenate,
    first_lines,
    join_columns,
    match_alignment_tokens,
    subsample,
)
from recipes.tag_scores import exact_by_tag

Variants = Callable[[Path, Path], Iterator[Variant]]

R_DROP: Command = ("--set", "train.rdrop_alpha=2")
"""For English to German captions, which fall short of the published score without it."""


def _inflection(data: Path, work: Path, lemmas: bool = True) -> Iterator[Variant]:
    folder = data / "sigmorphon2022-inflection"
    for forms_path in sorted(folder.glob("*_large.train.gz")):
        name = forms_path.name.partition("_")[0]
        pairs = add_lemmas(forms_path, work / f"{name}.lemmas.tsv") if lemmas else forms_path
        gold = folder / f"{name}.gold"
        test = gold if gold.exists() else None
        columns = ("--columns", "source=1,3", "target=2")
        yield Variant(name, "inflection", pairs, folder / f"{name}.dev", test, columns=columns)


def _captions(config: str, directions: Mapping[str, Command]) -> Variants:
    """Return a variant for each direction, with options beside the settings."""

    def variants(data: Path, work: Path) -> Iterator[Variant]:
        for direction, options in directions.items():
            pairs, dev, test = _caption_files(data, direction, work)
            yield Variant(direction, config, pairs, dev, test, train_options=options)

    return variants


def _caption_files(data: Path, direction: str, work: Path) -> list[Path]:
    return [
        join_columns(
            [
                data / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz"
                for language in direction.split("-")
            ],
            work / f"multi30k.{split}.{direction}.tsv",
        )
        for split in ("train", "val", "test_2016_flickr")
    ]


def _histnorm(data: Path, work: Path) -> Iterator[Variant]:
    name = "german-ridges"
    paths = [
        add_context(data / "histnorm" / f"{name}.{split}.tsv.gz", work)
        for split in ("train", "dev", "test")
    ]
    validation_path = subsample(5, paths[1], work)
    yield Variant(name, "histnorm", paths[0], paths[1], paths[2], validation_path)


def _chinese(config: str) -> Variants:
    def variants(data: Path, work: Path) -> Iterator[Variant]:
        folder = data / "tatoeba" / "eng-cmn"
        pairs, dev, test = (folder / name for name in ("train.tsv.gz", "dev.tsv", "test.tsv"))
        columns = ("--columns", "source=2", "target=1")
        yield Variant("zh-en", config, pairs, dev, test, columns=columns)

    return variants


def _chinese_aligned(data: Path, work: Path) -> Iterator[Variant]:
    """Tokenize the lines as the hand-aligned ones are."""
    folder = data / "tatoeba" / "eng-cmn"
    names = ("train.tsv.gz", "dev.tsv", "test.tsv")
    pairs, dev, test = (match_alignment_tokens(folder / name, work) for name in names)
    yield Variant("zh-en", "chinese-aligned", pairs, dev, test)


def _couplets(config: str) -> Variants:
    def variants(data: Path, work: Path) -> Iterator[Variant]:
        names = ("couplets", "poem-couplets")
        files = [data / name / "train.tsv.gz" for name in names]
        pairs = concatenate(files, work / "couplets-and-poems.tsv")
        yield Variant("lines", config, pairs, data / "couplets" / "dev.tsv")

    return variants


def _preset(name: str, **sizes: float) -> Command:
    options: list[str] = ["--preset", name]
    for size, number in sizes.items():
        options += ["--set", f"model.{size}={number}"]
    return tuple(options)


_RECURRENT = partial(_preset, embedding_size=256, hidden_size=512, dropout=0.3)
PAPERS = {
    "cho2014": _RECURRENT("cho2014", readout_size=256),
    "sutskever2014": _RECURRENT("sutskever2014", num_layers=2),
    "bahdanau2015": _RECURRENT("bahdanau2015", align_size=256, readout_size=256),
    "luong2015": _RECURRENT("luong2015", num_layers=2),
    "vaswani2017": _preset(
        "vaswani2017",
        model_size=256,
        feed_forward_size=1024,
        num_heads=4,
        num_layers=4,
        dropout=0.2,
    ),
}
"""The presets that are compared, at similar sizes."""


def _papers(task: Variants, config: str) -> Variants:
    def variants(data: Path, work: Path) -> Iterator[Variant]:
        (one,) = task(data, work)
        for name, options in PAPERS.items():
            yield Variant(name, config, one.pairs, one.dev, train_options=options)

    return variants


def _low_resource(data: Path, work: Path) -> Iterator[Variant]:
    """Train on few captions: from scratch, with pretrained embeddings, and with a warm start."""
    pairs, dev, _ = _caption_files(data, "de-en", work)
    vectors = work / "low-resource.vectors"
    sides = [data / "multi30k" / "tok" / f"train.lc.norm.tok.{x}.gz" for x in ("de", "en")]
    text = concatenate(sides, work / "low-resource.text")
    embed = PreparationCommand(("embed", text, "--out", vectors))
    folder = data / "tatoeba" / "eng-deu"
    columns = ("--columns", "source=2", "target=1")
    tatoeba = folder / "train.tsv.gz", folder / "dev.tsv"
    pretrained = Variant("pretrained", "low-resource", *tatoeba, columns=columns)
    for count in (1000, 10_000):
        few = first_lines(pairs, count, work)
        yield Variant(f"{count}-scratch", "low-resource", few, dev)
        yield Variant(
            f"{count}-embeddings",
            "low-resource",
            few,
            dev,
            train_options=("--embeddings", vectors),
            preparation=embed,
        )
        initial = ("low-resource", pretrained)
        config = "low-resource-warm-start"
        yield Variant(f"{count}-warm-start", config, few, dev, warm_start=initial)


TASKS: dict[str, Task] = {
    "g2p-english": Task(g2p.english, "exact,per", seeds=5),
    "g2p-monolingual": Task(g2p.monolingual, "exact,per", seeds=3),
    "g2p-multilingual": Task(g2p.multilingual, "exact,per", analyze=exact_by_tag),
    "g2p-fine-tuned": Task(g2p.fine_tuned, "exact,per"),
    "g2p-distilled": Task(g2p.distilled, "exact,per"),
    "g2p-distilled-monolingual": Task(g2p.distilled_monolingual, "exact,per"),
    "inflection": Task(_inflection, "exact,cer"),
    "multi30k-vaswani2017": Task(
        _captions("multi30k-vaswani2017", {"en-de": R_DROP, "de-en": ()}),
        "bleu:none,chrf",
        seeds=3,
    ),
    "multi30k-bahdanau2015": Task(
        _captions("multi30k-bahdanau2015", {"de-en": ()}), "bleu:none,chrf", seeds=3
    ),
    "histnorm": Task(_histnorm, "exact,cer", scoring=("--each-line",)),
    "chinese-bahdanau2015": Task(_chinese("chinese-bahdanau2015"), "bleu,chrf", gold="zhen"),
    "chinese-vaswani2017": Task(_chinese("chinese-vaswani2017"), "bleu,chrf", gold="zhen"),
    "chinese-aligned": Task(_chinese_aligned, "bleu:none,chrf", gold="zhen"),
    "couplets": Task(_couplets("couplets"), "bleu:char,cer", seeds=3, analyze=score_couplets),
    "couplets-without-attention": Task(
        _couplets("couplets-without-attention"), "bleu:char,cer", seeds=3, analyze=score_couplets
    ),
    "papers-captions": Task(
        _papers(_captions("papers-captions", {"de-en": ()}), "papers-captions"), "bleu:none,chrf"
    ),
    "papers-sounds": Task(_papers(g2p.english, "papers-sounds"), "exact,per"),
    "low-resource": Task(_low_resource, "bleu:none,chrf"),
}


def _auto_configure(task: Task, variants: Variants) -> Task:
    """Leave every setting to auto-configuration, and change nothing else."""

    def auto_configured_variants(data: Path, work: Path) -> Iterator[Variant]:
        for variant in variants(data, work):
            yield replace(variant, config=None, train_options=())

    return replace(task, variants=auto_configured_variants, seeds=1, gold=None, analyze=None)


AUTO_CONFIGURED = {
    "auto-configured-g2p": "g2p-monolingual",
    "auto-configured-inflection": "inflection",
    "auto-configured-captions": "multi30k-vaswani2017",
    "auto-configured-histnorm": "histnorm",
    "auto-configured-chinese": "chinese-bahdanau2015",
}
"""Tasks with the files of a recipe but not its settings, and the name of that recipe."""

for _name, _recipe in AUTO_CONFIGURED.items():
    _lemmas = partial(_inflection, lemmas=False)
    _variants = _lemmas if _recipe == "inflection" else TASKS[_recipe].variants
    TASKS[_name] = _auto_configure(TASKS[_recipe], _variants)

RENAMED_TASKS = {
    "g2p-languages": "g2p-monolingual",
    "g2p-together": "g2p-multilingual",
    "g2p-after": "g2p-fine-tuned",
    "g2p-taught": "g2p-distilled",
    "g2p-taught-alone": "g2p-distilled-monolingual",
    "little": "low-resource",
    "automatic-sounds": "auto-configured-g2p",
    "automatic-forms": "auto-configured-inflection",
    "automatic-captions": "auto-configured-captions",
    "automatic-spellings": "auto-configured-histnorm",
    "automatic-chinese": "auto-configured-chinese",
}
"""Former names, which the command line still accepts, and the present ones."""

RENAMED_VARIANTS = {
    f"{count}-{former}": f"{count}-{present}"
    for count in (1000, 10_000)
    for former, present in (
        ("alone", "scratch"),
        ("vectors", "embeddings"),
        ("started", "warm-start"),
    )
}
"""Former names of variants of `low-resource`."""
