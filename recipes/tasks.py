"""What the recipes are for: which files of the data, which settings, and how it is scored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from recipes.couplets import looked_at
from recipes.files import (
    every,
    first_lines,
    in_context,
    joined,
    one_after_another,
    with_invented,
    with_lemmas,
    with_tags,
)
from recipes.tags import by_tag

HERE = Path(__file__).parent

Command = tuple[str | Path, ...]


@dataclass(frozen=True)
class Part:
    """One model: what it learns from, what it is tuned on, and a public test where there is one.

    Where dev is large, training validates on what is `watched`, some of it. `columns` says where
    the pairs stand in their files, `more` is said to `regard train`, and a file that it needs is
    made by another command `before`, which ends in its name. It may go on `after` another part's
    model of the same seed, and learn from `lessons`, which hold its pairs.
    """

    name: str
    config: str
    pairs: Path
    dev: Path
    test: Path | None = None
    watched: Path | None = None
    columns: Command = ()
    more: Command = ()
    before: "Before | None" = None
    after: "tuple[str, Part] | None" = None
    lessons: "Lessons | None" = None


class Job(NamedTuple):
    """A model that is to be made: the name of its task, its part, and a seed."""

    task: str
    part: Part
    seed: int

    def __str__(self) -> str:
        return f"{self.task}-{self.part.name}-{self.seed}"

    def model(self, work: Path) -> Path:
        """Return where its file lies."""
        return work / f"{self}.regard"

    def start(self) -> "Job | None":
        """Return whose model it goes on from."""
        return Job(*self.part.after, self.seed) if self.part.after else None

    def needs(self) -> "tuple[Job | Lessons | Before, ...]":
        """Return what must be there before it can be made."""
        part = self.part
        return tuple(need for need in (self.start(), part.lessons, part.before) if need)


class Before(NamedTuple):
    """A command that makes what is no model, and ends in the name of its file."""

    words: Command

    def __str__(self) -> str:
        return Path(self.words[-1]).name

    def needs(self) -> tuple[()]:
        """Return nothing, which is what it needs."""
        return ()


class Lessons(NamedTuple):
    """Pairs, and behind them what several models say together of lines that are unknown."""

    pairs: Path
    unknown: Path
    teachers: tuple[Job, ...]

    def __str__(self) -> str:
        return f"{self.unknown.stem}.taught.tsv"

    def file(self, work: Path) -> Path:
        """Return where they lie."""
        return work / str(self)

    def needs(self) -> tuple[Job, ...]:
        """Return what must be there before they can be made."""
        return self.teachers


class AsOne(NamedTuple):
    """Seeds of a part that write together."""

    jobs: tuple[Job, ...]

    def __str__(self) -> str:
        name, part, _ = self.jobs[0]
        return f"{name}-{part.name}-ensemble-of-{len(self.jobs)}"

    def needs(self) -> tuple[Job, ...]:
        """Return what must be there before they can be scored."""
        return self.jobs


@dataclass(frozen=True)
class Task:
    """Models that belong together, and how all of them are scored.

    `seeds` are how many models a part has if nothing is said, `scoring` is said to
    `regard evaluate`, and `looks` finds more in a model's file and some pairs, on a device.
    """

    parts: Callable[[Path, Path], Iterator[Part]]
    metrics: str
    seeds: int = 1
    scoring: Command = ()
    gold: str | None = None
    looks: Callable[[Path, Path, str], dict[str, Any]] | None = None


MORE: dict[tuple[str, str], Command] = {
    ("multi30k-vaswani2017", "en-de"): ("--set", "train.agreement=2"),
    ("g2p-after", "fre"): ("--set", "train.agreement=1"),
}
"""What is said of a part besides its settings: of two that fell short of what was published, every
line is read twice."""


def _english_sounds(data: Path, work: Path) -> Iterator[Part]:
    folder = data / "cmudict-g2p" / "g014b2b"
    yield Part("english", "g2p-english", folder / "train.tsv.gz", folder / "dev.tsv.gz")


def _sounds(data: Path, work: Path) -> Iterator[Part]:
    for size in ("low", "medium", "high"):
        folder = data / "sigmorphon2021-g2p" / size
        for pairs in sorted(folder.glob("*_train.tsv*")):
            name = pairs.name.partition("_train")[0]
            dev, test = (folder / f"{name}_{split}.tsv" for split in ("dev", "test"))
            yield Part(name, f"g2p-{size}", pairs, dev, test if test.exists() else None)


def _few_sounds(data: Path, work: Path) -> list[Part]:
    """Return the languages but English, which has words enough."""
    return [part for part in _sounds(data, work) if part.config != "g2p-high"]


def _scarce(part: Part) -> bool:
    return part.config == "g2p-low"


SCARCE = 4
"""How often a language of some hundreds of words is read where one of thousands is read once."""


TOGETHER = {"all": "g2p-together", "all-vaswani2017": "g2p-together-vaswani2017"}
"""Models of all languages but English, and their settings."""


def _sounds_together(data: Path, work: Path) -> Iterator[Part]:
    """Name every word's language, and learn all but English at once."""
    parts = _few_sounds(data, work)
    scarce = {part.name: SCARCE for part in parts if _scarce(part)}
    if not parts:
        return
    pairs = with_tags({x.name: x.pairs for x in parts}, work / "sounds.train.tsv", scarce)
    dev = with_tags({x.name: x.dev for x in parts}, work / "sounds.dev.tsv")
    tests = {x.name: x.test for x in parts if x.test}
    test = with_tags(tests, work / "sounds.test.tsv") if tests else None
    watched = every(10, dev, work)
    for name, config in TOGETHER.items():
        yield Part(name, config, pairs, dev, test, watched)


def _sounds_after(data: Path, work: Path) -> Iterator[Part]:
    """Go on with a model of all languages, in each of them; in those of few words with either."""
    wholes = list(_sounds_together(data, work))
    for part in _few_sounds(data, work):
        for whole in wholes if _scarce(part) else wholes[:1]:
            name = part.name + whole.name.removeprefix("all")
            yield replace(
                part,
                name=name,
                config=part.config.replace("g2p-", "g2p-after-"),
                pairs=_tagged(part.name, part.pairs, work),
                dev=_tagged(part.name, part.dev, work),
                test=_tagged(part.name, part.test, work) if part.test else None,
                after=("g2p-together", whole),
                more=MORE.get(("g2p-after", name), ()),
            )


def _tagged(name: str, path: Path, work: Path, times: int = 1) -> Path:
    return with_tags({name: path}, work / f"{path.stem}.tagged{times}.tsv", {name: times})


ALONE = 3
"""Seeds that teach together where all of them learned one language."""

LESSONS = 4000
"""Words that are invented."""

REAL = 3
"""How often real words are read beside them."""


def _sounds_taught(data: Path, work: Path) -> Iterator[Part]:
    """Let models that began apart say together how invented words sound, and learn that too."""
    trained = {part.name: part.pairs for part in _few_sounds(data, work) if _scarce(part)}
    afters = list(_sounds_after(data, work))
    for name, words in trained.items():
        kinds = [part for part in afters if part.name.partition("-")[0] == name]
        teachers = tuple(Job("g2p-after", part, 1) for part in kinds)
        unknown = with_invented(words, LESSONS, work / f"{name}.invented.txt", name)
        lessons = Lessons(_tagged(name, words, work, REAL), unknown, teachers)
        for part in kinds:
            yield replace(part, config="g2p-taught", pairs=lessons.pairs, lessons=lessons)


def _sounds_taught_alone(data: Path, work: Path) -> Iterator[Part]:
    """Let models of one language say together how invented words sound, and learn that too."""
    for part in filter(_scarce, _few_sounds(data, work)):
        pairs = one_after_another([part.pairs] * REAL, work / f"{part.pairs.stem}.{REAL}.tsv")
        unknown = with_invented(part.pairs, LESSONS, work / f"{part.name}.alone.txt")
        teachers = tuple(Job("g2p-languages", part, seed) for seed in range(1, ALONE + 1))
        yield replace(part, pairs=pairs, lessons=Lessons(pairs, unknown, teachers))


def _inflection(data: Path, work: Path) -> Iterator[Part]:
    folder = data / "sigmorphon2022-inflection"
    for pairs in sorted(folder.glob("*_large.train.gz")):
        name = pairs.name.partition("_")[0]
        learned = with_lemmas(pairs, work / f"{name}.lemmas.tsv")
        test = folder / f"{name}.gold"
        found = test if test.exists() else None
        columns = ("--columns", "source=1,3", "target=2")
        yield Part(name, "inflection", learned, folder / f"{name}.dev", found, columns=columns)


def _captions(config: str, *directions: str) -> Callable[[Path, Path], Iterator[Part]]:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        for direction in directions:
            pairs, dev, test = _caption_files(data, direction, work)
            yield Part(direction, config, pairs, dev, test, more=MORE.get((config, direction), ()))

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


def _chinese(config: str) -> Callable[[Path, Path], Iterator[Part]]:
    def parts(data: Path, work: Path) -> Iterator[Part]:
        folder = data / "tatoeba" / "eng-cmn"
        pairs, dev, test = (folder / name for name in ("train.tsv.gz", "dev.tsv", "test.tsv"))
        columns = ("--columns", "source=2", "target=1")
        yield Part("zh-en", config, pairs, dev, test, columns=columns)

    return parts


def _couplets(config: str) -> Callable[[Path, Path], Iterator[Part]]:
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


def _papers(task: Callable[[Path, Path], Iterator[Part]], config: str) -> Any:
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
    "g2p-english": Task(_english_sounds, "exact,per", seeds=5),
    "g2p-languages": Task(_sounds, "exact,per", seeds=3),
    "g2p-together": Task(_sounds_together, "exact,per", looks=by_tag),
    "g2p-after": Task(_sounds_after, "exact,per"),
    "g2p-taught": Task(_sounds_taught, "exact,per"),
    "g2p-taught-alone": Task(_sounds_taught_alone, "exact,per"),
    "inflection": Task(_inflection, "exact,cer"),
    "multi30k-vaswani2017": Task(
        _captions("multi30k-vaswani2017", "en-de", "de-en"), "bleu:none,chrf", seeds=3
    ),
    "multi30k-bahdanau2015": Task(
        _captions("multi30k-bahdanau2015", "de-en"), "bleu:none,chrf", seeds=3
    ),
    "histnorm": Task(_old_spellings, "exact,cer", scoring=("--each-line",)),
    "chinese-bahdanau2015": Task(_chinese("chinese-bahdanau2015"), "bleu,chrf", gold="zhen"),
    "chinese-vaswani2017": Task(_chinese("chinese-vaswani2017"), "bleu,chrf", gold="zhen"),
    "couplets": Task(_couplets("couplets"), "bleu:char,cer", seeds=3, looks=looked_at),
    "couplets-without-attention": Task(
        _couplets("couplets-without-attention"), "bleu:char,cer", seeds=3, looks=looked_at
    ),
    "papers-captions": Task(_papers(_captions("", "de-en"), "papers-captions"), "bleu:none,chrf"),
    "papers-sounds": Task(_papers(_english_sounds, "papers-sounds"), "exact,per"),
    "little": Task(_little, "bleu:none,chrf"),
}
