"""The demo of six words: what it is taught, what it answers, and whether its reason is true."""

import pytest
import torch
from demo_job import side, texts, trained

from regard.config.model import PlainDecoderConfig
from regard.demos import words
from regard.models import build

SIX = {
    "man": "women",
    "black": "white",
    "king": "queen",
    "girl": "boy",
    "up": "down",
    "high": "low",
}
ASKED = ["man", "mans", "king", "black", "up"]
RIGHT = ["women", "women", "queen", "white", "down"]


def test_exactly_the_six_pairs_are_trained_on_padded_to_five_tokens():
    assert words.pairs() == [
        ("manPP", "women"),
        ("black", "white"),
        ("kingP", "queen"),
        ("girlP", "boy"),
        ("upPPP", "down"),
        ("highP", "low"),
    ]
    assert words.pairs(padded=False) == list(SIX.items())


@pytest.mark.parametrize("padded", [True, False])
def test_mans_never_occurs_in_training(padded):
    taught = words.pairs(padded=padded)
    assert len(taught) == 6
    assert not any("mans" in line or "s" in line for pair in taught for line in pair)
    assert ("mansP" if padded else "mans") in dict(words.examples(padded=padded))


def test_the_demo_prints_its_questions():
    assert words.examples(padded=False) == list(zip(ASKED, RIGHT, strict=True))
    filled = ["manPP", "mansP", "kingP", "black", "upPPP"]
    assert words.examples() == list(zip(filled, RIGHT, strict=True))


@pytest.mark.parametrize("padded", [True, False])
def test_the_model_is_an_elman_network_without_attention_over_one_hot_tokens(padded):
    made = words.settings(3, padded=padded)
    sources, targets = zip(*words.pairs(padded=padded), strict=True)
    sizes = [len(side("characters", lines).vocabulary) for lines in (sources, targets)]
    model = build(made.model, *sizes)
    assert isinstance(made.model.decoder, PlainDecoderConfig)
    assert (made.model.encoder.cell, made.model.decoder.cell) == ("elman", "elman")
    # W and U of both cells, one bias each, and the readout: nothing is learned of the symbols
    V, W, D = *sizes, 128
    counted = D * V + D * D + D + D * W + D * D + D + W * D + W
    assert sum(parameter.numel() for parameter in model.parameters()) == counted
    assert made.model.readout.dropout == 0.5
    assert (made.train.optimizer, made.train.learning_rate, made.train.seed) == ("adam", 0.001, 3)
    assert made.data.dev_fraction == 0


def last_state(demo, line):
    ids = torch.tensor([demo.source.encode(line)])
    with torch.no_grad():
        return demo.models[0].encode(ids, torch.ones_like(ids, dtype=torch.bool)).keys[0, -1]


def distances(demo, padded):
    """Return how far from the end of `mans` each taught word ends."""
    end = last_state(demo, words.source_text("mans", padded=padded))
    return {
        word: float((last_state(demo, words.source_text(word, padded=padded)) - end).norm())
        for word in SIX
    }


def learn(seed, padded):
    return trained(words.pairs(padded=padded), words.settings(seed, padded=padded))


def asked(demo, padded):
    return texts(demo, [source for source, _ in words.examples(padded=padded)])


# the command is tried with this seed by the ordinary tests
@pytest.mark.slow
def test_mans_is_women_with_the_default_seed_and_not_without_p():
    filled = learn(1, padded=True)
    bare = learn(1, padded=False)
    assert words.settings() == words.settings(1)
    assert asked(filled, True) == RIGHT
    assert asked(bare, False)[1] != "women"
    assert asked(bare, False)[2:] == RIGHT[2:]
    # the reason that the demo gives
    near, far = distances(filled, True), distances(bare, False)
    assert min(near, key=near.get) == "man"
    assert near["man"] < min(far.values()) / 2
    assert min(far, key=far.get) != "man"


@pytest.mark.slow
def test_words_are_right_with_ten_seeds(record_property):
    right = dict.fromkeys(ASKED, 0)
    six, bare, near = 0, 0, 0
    for seed in range(1, 11):
        demo = learn(seed, padded=True)
        found = asked(demo, True)
        for word, output, target in zip(ASKED, found, RIGHT, strict=True):
            right[word] += output == target
        sources = [words.source_text(word) for word in SIX]
        six += texts(demo, sources) == list(SIX.values())
        near += min(distances(demo, True), key=distances(demo, True).get) == "man"
        demo = learn(seed, padded=False)
        bare += asked(demo, False)[1] == "women"
    for word, count in right.items():
        record_property(word, f"{count} of 10")
    record_property("all six", f"{six} of 10")
    record_property("mans without P", f"{bare} of 10")
    record_property("mans ends nearest to man", f"{near} of 10")
    assert right.pop("mans") >= 9
    assert set(right.values()) == {10}
    assert six == 10
    assert bare == 0
