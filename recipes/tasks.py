"""What the recipes are for: which files of the data, which settings, and how it is scored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from recipes import sounds
from recipes.couplets import looked_at
from recipes.files import (
    as_aligned,
    every,
    first_lines,
    in_context,
    joined,
    one_after_another,
    with_lemmas,
)
from recipes.parts import Before, Command, Part, Task
from recipes.tags import by_tag

Parts = Callable[[Path, Path], Iterator[Part]]

READ_TWICE: Command = ("--set", "train.rdrop_alpha=2")
"""What is said of captions that fell short of what was published."""


def _forms(data: Path, work: Path, lemmas: bool = True) -> Iterator[Part]:
    folder = data / "sigmorphon2022-inflection"
    for pairs in sorted(folder.glob("*_large.train.gz")):
        name = pairs.name.partition("_")[0]
        learned = with_lemmas(pairs, work / f"{name}.lemmas.tsv") if lemmas else pairs
        test = folder / f"{name}.gold"
        found = test if test.exists() else None
        columns = ("--columns", "source=1,3", "target=2")
        yield Part(name, "inflection", learned, folder / f"{name}.dev", found, columns=columns)


def _captions(config: str, directions: Mapping[str, Command]) -> Parts:
    """Return a part for each direction, with what is said of it besides its settings."""

    def parts(data: Path, work: Path) -> Iterator[Part]:
        for direction, more in directions.items():
            pairs, dev, test = _caption_files(data, direction, work)
            yield Part(direction, config, pairs, dev, test, more=more)

    return parts


def _caption_files(data: Path, direction: str, work: Path) -> list[Path]:
    return [
        joined(
            [
                data / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz"
                for language in direction.split("-")
            ],
            work / f"multi30k.{split}.{direction}.tsv",
        )
        for split in ("train", "val", "test_2016_flickr")
    ]


def _old_spellings(data: Path, work: Path) -> Iterator[Part]:
    name = "german-ridges"
    paths = [
        in_context(data / "histnorm" / f"{name}.{split}.tsv.gz", work)
        for split in ("train", "dev", "test")
    ]
    watched = every(5, paths[1], work)
    yield Part(name, "histnorm", paths[0], paths[1], paths[2], watched)


def _chinese(config: str) -> Parts:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        folder = data / "tatoeba" / "eng-cmn"
        pairs, dev, test = (folder / name for name in ("train.tsv.gz", "dev.tsv", "test.tsv"))
        columns = ("--columns", "source=2", "target=1")
        yield Part("zh-en", config, pairs, dev, test, columns=columns)

    return parts


def _chinese_aligned(data: Path, work: Path) -> Iterator[Part]:
    """Cut words as those who aligned them did."""
    folder = data / "tatoeba" / "eng-cmn"
    names = ("train.tsv.gz", "dev.tsv", "test.tsv")
    pairs, dev, test = (as_aligned(folder / name, work) for name in names)
    yield Part("zh-en", "chinese-aligned", pairs, dev, test)


def _couplets(config: str) -> Parts:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        names = ("couplets", "poem-couplets")
        files = [data / name / "train.tsv.gz" for name in names]
        pairs = one_after_another(files, work / "couplets-and-poems.tsv")
        yield Part("lines", config, pairs, data / "couplets" / "dev.tsv")

    return parts


def _preset(name: str, **sizes: float) -> Command:
    more: list[str] = ["--preset", name]
    for size, value in sizes.items():
        more += ["--set", f"model.{size}={value}"]
    return tuple(more)


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
"""The models that stand side by side, of about the same size."""


def _papers(task: Parts, config: str) -> Parts:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        (whole,) = task(data, work)
        for name, more in PAPERS.items():
            yield Part(name, config, whole.pairs, whole.dev, more=more)

    return parts


def _little(data: Path, work: Path) -> Iterator[Part]:
    """Few captions: alone, with word vectors of the whole text, and from a model of other text."""
    pairs, dev, _ = _caption_files(data, "de-en", work)
    vectors = work / "little.vectors"
    sides = [data / "multi30k" / "tok" / f"train.lc.norm.tok.{x}.gz" for x in ("de", "en")]
    text = one_after_another(sides, work / "little.text")
    embed = Before(("embed", text, "--out", vectors))
    other = data / "tatoeba" / "eng-deu"
    columns = ("--columns", "source=2", "target=1")
    start = Part("start", "little", other / "train.tsv.gz", other / "dev.tsv", columns=columns)
    for count in (1000, 10_000):
        few = first_lines(pairs, count, work)
        yield Part(f"{count}-alone", "little", few, dev)
        more: Command = ("--embeddings", vectors)
        yield Part(f"{count}-vectors", "little", few, dev, more=more, before=embed)
        yield Part(f"{count}-started", "little-started", few, dev, after=("little", start))


TASKS: dict[str, Task] = {
    "g2p-english": Task(sounds.english, "exact,per", seeds=5),
    "g2p-languages": Task(sounds.alone, "exact,per", seeds=3),
    "g2p-together": Task(sounds.together, "exact,per", looks=by_tag),
    "g2p-after": Task(sounds.after, "exact,per"),
    "g2p-taught": Task(sounds.taught, "exact,per"),
    "g2p-taught-alone": Task(sounds.taught_alone, "exact,per"),
    "inflection": Task(_forms, "exact,cer"),
    "multi30k-vaswani2017": Task(
        _captions("multi30k-vaswani2017", {"en-de": READ_TWICE, "de-en": ()}),
        "bleu:none,chrf",
        seeds=3,
    ),
    "multi30k-bahdanau2015": Task(
        _captions("multi30k-bahdanau2015", {"de-en": ()}), "bleu:none,chrf", seeds=3
    ),
    "histnorm": Task(_old_spellings, "exact,cer", scoring=("--each-line",)),
    "chinese-bahdanau2015": Task(_chinese("chinese-bahdanau2015"), "bleu,chrf", gold="zhen"),
    "chinese-vaswani2017": Task(_chinese("chinese-vaswani2017"), "bleu,chrf", gold="zhen"),
    "chinese-aligned": Task(_chinese_aligned, "bleu:none,chrf", gold="zhen"),
    "couplets": Task(_couplets("couplets"), "bleu:char,cer", seeds=3, looks=looked_at),
    "couplets-without-attention": Task(
        _couplets("couplets-without-attention"), "bleu:char,cer", seeds=3, looks=looked_at
    ),
    "papers-captions": Task(
        _papers(_captions("papers-captions", {"de-en": ()}), "papers-captions"), "bleu:none,chrf"
    ),
    "papers-sounds": Task(_papers(sounds.english, "papers-sounds"), "exact,per"),
    "little": Task(_little, "bleu:none,chrf"),
}


def _automatic(task: Task, parts: Parts) -> Task:
    """Leave all settings to be chosen, and nothing else."""

    def chosen(data: Path, work: Path) -> Iterator[Part]:
        for part in parts(data, work):
            yield replace(part, config=None, more=())

    return replace(task, parts=chosen, seeds=1, gold=None, looks=None)


AUTOMATIC = {
    "automatic-sounds": "g2p-languages",
    "automatic-forms": "inflection",
    "automatic-captions": "multi30k-vaswani2017",
    "automatic-spellings": "histnorm",
    "automatic-chinese": "chinese-bahdanau2015",
}
"""What somebody has who gives the files and no settings, and the recipe that this stands beside."""

for _name, _recipe in AUTOMATIC.items():
    _parts = partial(_forms, lemmas=False) if _recipe == "inflection" else TASKS[_recipe].parts
    TASKS[_name] = _automatic(TASKS[_recipe], _parts)
