"""The baseline: steps agree with training, sizes with regard, costs with the roofline."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu, roofline
from benchmarks.baseline import BOS, PAD, TrainingPlan, batches, build_baseline, pad, train
from benchmarks.baseline_search import search
from benchmarks.regard import model_config
from regard.models.build import build

KINDS = ("additive", "bilinear", "transformer")
SIZES = (17, 23)


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_steps_have_the_logits_of_training(kind):
    torch.manual_seed(1)
    model = build_baseline(kind, SIZES).eval()
    source = pad([[5, 6, 7, 2], [8, 2]])
    fed = torch.tensor([[BOS, 4, 9], [BOS, 11, 12]])
    with torch.inference_mode():
        expected = model(source, fed)
        memory, state = model.start(source)
        for place in range(3):
            state, logits = model.step(memory, state, fed[:, place])
            torch.testing.assert_close(logits, expected[:, place], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_of_regard_has_the_matrices_of_the_baseline(kind):
    counts = [
        sum(weight.numel() for weight in model.parameters() if weight.ndim > 1)
        for model in (build_baseline(kind, SIZES), build(model_config(kind), *SIZES))
    ]
    # the initial state has as large a matrix; the score has a row in the place of a vector
    assert counts[0] - (512 if kind == "additive" else 0) == counts[1]


class Trap:
    """The likeliest first token is a trap: 3 continues in many ways, 4 surely ends."""

    def start(self, source):
        return (source,), (source[:, 0],)

    def step(self, memory, state, tokens):
        probabilities = {
            BOS: [0, 0, 0, 0.6, 0.4, 0, 0],
            3: [0, 0, 0.2, 0, 0, 0.4, 0.4],
            4: [0, 0, 1, 0, 0, 0, 0],
        }
        rows = [probabilities.get(int(token), [0, 0, 1, 0, 0, 0, 0]) for token in tokens]
        return state, torch.tensor(rows).clamp(min=1e-9).log()


def test_beam_search_avoids_the_trap_of_greedy_search():
    source = torch.tensor([[7], [8]])
    assert search(Trap(), source, 1, 9) == [[3, 5], [3, 5]]
    # log 0.4 over two tokens against log 0.24 over three
    assert search(Trap(), source, 5, 9) == [[4], [4]]


def test_an_output_has_at_most_max_length_tokens():
    assert search(Trap(), torch.tensor([[7]]), 1, 1) == [[3]]


def test_bucketed_batches_hold_lines_of_similar_length():
    pairs = [([4] * (n % 7 + 1), [4] * (n % 5 + 1)) for n in range(70)]
    lengths = {
        bucketed: sum(
            int((target == PAD).sum())
            for _, (_, target) in zip(range(7), batches([*pairs], 10, bucketed), strict=False)
        )
        for bucketed in (False, True)
    }
    assert lengths[True] < lengths[False]


def test_training_prints_the_number_of_tokens(capsys):
    model = build_baseline("bilinear", SIZES)
    train(model, [([4, 5, 2], [6, 2])] * 8, TrainingPlan(updates=2, rows=4, report_every=1))
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith(f'{{"step": {n}, "tokens": {8 * n}') for n, line in enumerate(lines, 1)]
    assert len(lines) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_roofline_counts_the_products_that_are_computed(kind):
    S, T = 7, 5
    source, fed = torch.full((roofline.B, S), 4), torch.full((roofline.B, T), 4)
    model = build_baseline(kind, SIZES)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(source, fed)
    count = roofline.count_transformer(S, T, SIZES[1])
    if kind != "transformer":
        count = roofline.count_recurrent(S, T, SIZES[1], kind)
    # the initial state and the vector of the score are left out
    assert 2 * (count.large + count.steps) == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("contender", ["baseline", "regard"])
def test_the_workloads_of_a_gpu_run_on_a_cpu_too(contender):
    for part, sizes in (
        ("attention", {"B": 2, "T": 3, "S": 5, "A": 7, "N": 11}),
        ("decoder", {"B": 2, "T": 3, "S": 5, "D": 8}),
    ):
        workload = getattr(gpu, f"{part}_workload")(contender, "cpu", sizes)
        assert gpu.time_workload(workload, "cpu", 1)["milliseconds"] > 0
    if contender == "baseline":
        sizes = {"B": 2, "T": 3, "S": 5, "D": 8, "E": 6, "V": 13}
        gpu.rnnsearch_workload(contender, "cpu", sizes)()


def test_a_wider_beam_repeats_the_steps_but_not_the_source():
    for kind in ("recurrent", "transformer"):
        one, five, six = (
            roofline.count_decoding_operations(kind, 7.5, 7.4, 45, beam) for beam in (1, 5, 6)
        )
        step = six - five
        assert five == pytest.approx(one + 4 * step)
        assert 0 < one - step < one
    # two matrices of 512 × 512 are multiplied by each letter, eight by each token
    assert roofline.count_decoding_operations("recurrent", 0, 1, 0, 1) == 8 * 512**2
    assert roofline.count_decoding_operations("recurrent", 1, 0, 0, 1) == 6 * 256**2 + 2 * 512**2
