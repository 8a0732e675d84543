"""The plain models: one definition of stepping and training, sizes as ours, costs as counted."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import floors, gpu, ours
from benchmarks.plain import BOS, PAD, Plan, batches, make, padded, train
from benchmarks.plain_search import search
from regard.models.build import build

KINDS = ("additive", "bilinear", "transformer")
SIZES = (17, 23)


@pytest.mark.parametrize("kind", KINDS)
def test_stepping_is_what_was_trained(kind):
    torch.manual_seed(1)
    model = make(kind, SIZES).eval()
    source = padded([[5, 6, 7, 2], [8, 2]])
    fed = torch.tensor([[BOS, 4, 9], [BOS, 11, 12]])
    with torch.inference_mode():
        expected = model(source, fed)
        memory, state = model.start(source)
        for place in range(3):
            state, logits = model.step(memory, state, fed[:, place])
            torch.testing.assert_close(logits, expected[:, place], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_our_model_has_the_matrices_of_the_plain_one(kind):
    counts = [
        sum(weight.numel() for weight in model.parameters() if weight.ndim > 1)
        for model in (make(kind, SIZES), build(ours.model(kind), *SIZES))
    ]
    # the plain first state has as large a matrix, the plain score a row where ours has a vector
    assert counts[0] - (512 if kind == "additive" else 0) == counts[1]


class Trap:
    """The likeliest first word leads nowhere: 3 then anything, where 4 is sure of its end."""

    def start(self, source):
        return (source,), (source[:, 0],)

    def step(self, memory, state, words):
        after = {
            BOS: [0, 0, 0, 0.6, 0.4, 0, 0],
            3: [0, 0, 0.2, 0, 0, 0.4, 0.4],
            4: [0, 0, 1, 0, 0, 0, 0],
        }
        rows = [after.get(int(word), [0, 0, 1, 0, 0, 0, 0]) for word in words]
        return state, torch.tensor(rows).clamp(min=1e-9).log()


def test_a_beam_finds_what_greed_does_not():
    source = torch.tensor([[7], [8]])
    assert search(Trap(), source, 1, 9) == [[3, 5], [3, 5]]
    # log 0.4 over two words against log 0.24 over three
    assert search(Trap(), source, 5, 9) == [[4], [4]]


def test_an_output_has_at_most_so_many_words():
    assert search(Trap(), torch.tensor([[7]]), 1, 1) == [[3]]


def test_sorted_batches_hold_lines_of_like_length():
    pairs = [([4] * (n % 7 + 1), [4] * (n % 5 + 1)) for n in range(70)]
    lengths = {
        bucketed: sum(
            int((target == PAD).sum())
            for _, (_, target) in zip(range(7), batches([*pairs], 10, bucketed), strict=False)
        )
        for bucketed in (False, True)
    }
    assert lengths[True] < lengths[False]


def test_training_says_how_many_tokens_there_were(capsys):
    model = make("bilinear", SIZES)
    train(model, [([4, 5, 2], [6, 2])] * 8, Plan(updates=2, rows=4, every=1))
    said = capsys.readouterr().out.splitlines()
    assert [line.startswith(f'{{"step": {n}, "tokens": {8 * n}') for n, line in enumerate(said, 1)]
    assert len(said) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_floor_counts_the_products_that_are_computed(kind):
    S, T = 7, 5
    source, fed = torch.full((floors.B, S), 4), torch.full((floors.B, T), 4)
    model = make(kind, SIZES)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(source, fed)
    count = floors.transformer(S, T, SIZES[1])
    if kind != "transformer":
        count = floors.recurrent(S, T, SIZES[1], kind)
    # the first state and the vector of the score are left out
    assert 2 * (count.large + count.steps) == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("who", ["plain", "ours"])
def test_what_a_gpu_is_to_time_runs_here_too(who):
    for what, sizes in (
        ("attention", {"B": 2, "T": 3, "S": 5, "A": 7, "N": 11}),
        ("decoder", {"B": 2, "T": 3, "S": 5, "D": 8}),
    ):
        took = gpu.timed(getattr(gpu, what)(who, "cpu", sizes), "cpu", 1)
        assert took["milliseconds"] > 0
    if who == "plain":
        sizes = {"B": 2, "T": 3, "S": 5, "D": 8, "E": 6, "V": 13}
        gpu.rnnsearch(who, "cpu", sizes)()


def test_a_wider_beam_repeats_the_steps_but_not_the_source():
    for kind in ("recurrent", "transformer"):
        one, five, six = (floors.decoded(kind, 7.5, 7.4, 45, beam) for beam in (1, 5, 6))
        step = six - five
        assert five == pytest.approx(one + 4 * step)
        assert 0 < one - step < one
    # two matrices of 512 × 512 are multiplied by each letter, eight by each symbol
    assert floors.decoded("recurrent", 0, 1, 0, 1) == 8 * 512**2
    assert floors.decoded("recurrent", 1, 0, 0, 1) == 6 * 256**2 + 2 * 512**2
