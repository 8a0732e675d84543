"""Words to sounds in many languages: each by itself, all at once, from there on, and taught."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from recipes.files import every, one_after_another, with_invented, with_tags
from recipes.parts import Command, Job, Lessons, Part

WHOLES = {"all": "g2p-together", "all-vaswani2017": "g2p-together-vaswani2017"}
"""Models of all languages but English, and their settings."""

OFTEN = 4
"""How often a language of some hundreds of words is read where one of thousands is read once."""

MORE: dict[str, Command] = {"fre": ("--set", "train.rdrop_alpha=1")}
"""What is said besides the settings of a language that goes on: every line is read twice."""

ALONE = 3
"""Seeds that teach together where all of them learned one language."""

LESSONS = 4000
"""Words that are invented."""

REAL = 3
"""How often real words are read beside them."""


def english(data: Path, work: Path) -> Iterator[Part]:
    """Learn one language from a large dictionary."""
    folder = data / "cmudict-g2p" / "g014b2b"
    yield Part("english", "g2p-english", folder / "train.tsv.gz", folder / "dev.tsv.gz")


def alone(data: Path, work: Path) -> Iterator[Part]:
    """Learn each of 21 languages by itself."""
    for size in ("low", "medium", "high"):
        folder = data / "sigmorphon2021-g2p" / size
        for pairs in sorted(folder.glob("*_train.tsv*")):
            name = pairs.name.partition("_train")[0]
            dev, test = (folder / f"{name}_{split}.tsv" for split in ("dev", "test"))
            yield Part(name, f"g2p-{size}", pairs, dev, test if test.exists() else None)


def _but_english(data: Path, work: Path) -> list[Part]:
    """Return the languages that are short of words."""
    return [part for part in alone(data, work) if part.config != "g2p-high"]


def _scarce(part: Part) -> bool:
    return part.config == "g2p-low"


def together(data: Path, work: Path) -> Iterator[Part]:
    """Name every word's language, and learn all but English at once."""
    parts = _but_english(data, work)
    scarce = {part.name: OFTEN for part in parts if _scarce(part)}
    if not parts:
        return
    pairs = with_tags({x.name: x.pairs for x in parts}, work / "sounds.train.tsv", scarce)
    dev = with_tags({x.name: x.dev for x in parts}, work / "sounds.dev.tsv")
    tests = {x.name: x.test for x in parts if x.test}
    test = with_tags(tests, work / "sounds.test.tsv") if tests else None
    watched = every(10, dev, work)
    for name, config in WHOLES.items():
        yield Part(name, config, pairs, dev, test, watched)


def after(data: Path, work: Path) -> Iterator[Part]:
    """Go on with a model of all languages, in each of them; in those of few words with either."""
    wholes = list(together(data, work))
    for part in _but_english(data, work):
        for whole in wholes if _scarce(part) else wholes[:1]:
            name = part.name + whole.name.removeprefix("all")
            yield replace(
                part,
                name=name,
                config="g2p-after-low" if _scarce(part) else "g2p-after-medium",
                pairs=_tagged(part.name, part.pairs, work),
                dev=_tagged(part.name, part.dev, work),
                test=_tagged(part.name, part.test, work) if part.test else None,
                after=("g2p-together", whole),
                more=MORE.get(name, ()),
            )


def _tagged(name: str, path: Path, work: Path, times: int = 1) -> Path:
    return with_tags({name: path}, work / f"{path.stem}.tagged{times}.tsv", {name: times})


def taught(data: Path, work: Path) -> Iterator[Part]:
    """Let models that began apart say together how invented words sound, and learn that too."""
    trained = {part.name: part.pairs for part in _but_english(data, work) if _scarce(part)}
    afters = list(after(data, work))
    for name, words in trained.items():
        kinds = [part for part in afters if part.name.partition("-")[0] == name]
        teachers = tuple(Job("g2p-after", part, 1) for part in kinds)
        unknown = with_invented(words, LESSONS, work / f"{name}.invented.txt", name)
        lessons = Lessons(_tagged(name, words, work, REAL), unknown, teachers)
        for part in kinds:
            yield replace(part, config="g2p-taught", pairs=lessons.pairs, lessons=lessons)


def taught_alone(data: Path, work: Path) -> Iterator[Part]:
    """Let models of one language say together how invented words sound, and learn that too."""
    for part in filter(_scarce, _but_english(data, work)):
        pairs = one_after_another([part.pairs] * REAL, work / f"{part.pairs.stem}.{REAL}.tsv")
        unknown = with_invented(part.pairs, LESSONS, work / f"{part.name}.alone.txt")
        teachers = tuple(Job("g2p-languages", part, seed) for seed in range(1, ALONE + 1))
        yield replace(part, pairs=pairs, lessons=Lessons(pairs, unknown, teachers))
