"""The demo of one pair: it learns the words with every seed, and an alignment with none."""

import pytest
import torch
from demo_job import side, trained

from regard.demos import beer
from regard.models import build
from regard.special_tokens import BOS

PAIR = ("ich mochte ein bier", "i want a beer")


def test_one_pair_is_trained_on_and_queried():
    assert beer.pairs() == [PAIR]


def test_the_new_state_queries_with_a_bilinear_score():
    made = beer.settings(5)
    sides = [side("words", [line]) for line in PAIR]
    torch.manual_seed(0)
    model = build(made.model, *(len(each.vocabulary) for each in sides)).double().eval()
    source = torch.tensor([sides[0].encode(PAIR[0])])
    memory, state = model.start(source, torch.ones_like(source, dtype=torch.bool))
    _, scored = model.step(state, torch.tensor([BOS]), memory)
    # by hand: h_t first, then what it looks at, then both side by side
    h = model.encode(source, torch.ones_like(source, dtype=torch.bool)).keys[0]
    y = model.target_embedding.weight[BOS]
    cell = model.decoder.stack.layers[0]
    new = torch.tanh(cell.W.weight @ y + cell.W.bias + cell.U.weight @ h[-1])
    weights = torch.softmax(h @ (model.decoder.attention.score.W.weight.T @ new), dim=0)
    logits = model.readout.weight @ torch.cat([new, weights @ h]) + model.readout.bias
    assert torch.allclose(scored.weights[0, 0, 0], weights)
    assert torch.allclose(scored.logits[0], logits)
    assert made.train.seed == 5


def test_the_pair_is_learned_with_the_default_seed():
    answer = trained(beer.pairs(), beer.settings()).translate(PAIR[0])
    assert beer.settings() == beer.settings(1)
    assert answer.text == PAIR[1]
    # four words and EOS, each over four words
    assert answer.attention.shape == (5, 4)


@pytest.mark.slow
def test_beer_is_ordered_with_ten_seeds_and_varied_attention(record_property):
    right, looks = 0, set()
    for seed in range(1, 11):
        answer = trained(beer.pairs(), beer.settings(seed)).translate(PAIR[0])
        right += answer.text == PAIR[1]
        looks.add(tuple(answer.attention[:4].argmax(axis=1).tolist()))
    record_property("right", f"{right} of 10")
    record_property("different alignments", len(looks))
    assert right == 10
    # the reason that the demo gives
    assert len(looks) >= 5
