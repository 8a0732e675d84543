"""A symbol that was never seen comes out again: copied by attention, or as a mark."""

import random

import pytest

import regard
from regard.text.unknown_replacement import MARK

THINGS = {
    **{"tea": "the", "coffee": "cafe", "bread": "pain", "rain": "pluie", "snow": "neige"},
    **{"music": "musique", "books": "livres", "cats": "chats", "dogs": "chiens", "salt": "sel"},
}
TIMES = {"today": "aujourdhui", "now": "maintenant", "often": "souvent"}
VERBS = {"likes": "aime", "wants": "veut", "hates": "deteste"}
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def names(count, seed):
    """Return different names of three syllables."""
    rng = random.Random(seed)
    found = dict.fromkeys("".join(rng.choices(SYLLABLES, k=3)).title() for _ in range(2 * count))
    return list(found)[:count]


def sentence(name, rng):
    """Return a sentence about somebody, in both languages."""
    time, verb, thing = (rng.choice(list(words)) for words in (TIMES, VERBS, THINGS))
    return (
        f"{time} {name} {verb} {thing} again",
        f"{TIMES[time]} {name} {VERBS[verb]} {THINGS[thing]} encore",
    )


def corpus(count=2000):
    """Return pairs whose names come ever more seldom, as names do, and most of them once."""
    rng = random.Random(3)
    some = names(1500, seed=4)
    drawn = rng.choices(some, [1 / rank for rank in range(1, len(some) + 1)], k=count)
    return [sentence(name, rng) for name in drawn]


@pytest.mark.slow
def test_unseen_names_are_copied(record_property):
    pairs = corpus()
    model = regard.train(
        pairs,
        preset="bahdanau2015",
        text={"source": "words", "target": "words"},
        max_steps=400,
        quiet=True,
    )
    assert model.settings.text.min_count == 2
    rng = random.Random(5)
    seen = {word for source, _ in pairs for word in source.split()}
    strangers = [name for name in names(400, seed=6) if name not in seen][:200]
    assert len(strangers) == 200
    lines = [sentence(name, rng) for name in strangers]
    sources = [source for source, _ in lines]
    copied = [str(x) for x in model.translate(sources, unknown="copy")]
    marked = [str(x) for x in model.translate(sources, unknown="mark")]
    right = sum(said == target for said, (_, target) in zip(copied, lines, strict=True))
    with_mark = [
        target.replace(name, MARK) for name, (_, target) in zip(strangers, lines, strict=True)
    ]
    shown = sum(said == target for said, target in zip(marked, with_mark, strict=True))
    record_property("unseen names copied, of 200", right)
    record_property("unseen names marked, of 200", shown)
    assert right >= 160
    assert shown >= 160
