"""Where a layer takes an op of its own, it computes what it computed without."""

import pytest
import torch

from regard import kernels
from regard.kernels import CellWeights
from regard.nn.attention import Attention
from regard.nn.cells import ElmanCell, GRUCell, HiddenState, LSTMCell
from regard.nn.masks import masked_softmax, reverse
from regard.nn.recurrent_stack import RecurrentStack
from regard.nn.scores import AdditiveScore, ConcatScore

B, T, S, D, M, A, N, I = 3, 5, 7, 11, 13, 17, 19, 23  # noqa: E741
MASK = torch.arange(S) < torch.tensor([7, 2, 0])[:, None]


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def asked(monkeypatch, attention, queries, **options):
    """The outputs, and how often the op ran."""
    count, run = 0, kernels.additive_attention

    def counted(*arguments, **keywords):
        nonlocal count
        count += 1
        return run(*arguments, **keywords)

    monkeypatch.setattr(kernels, "additive_attention", counted)
    memory = attention.remember(randn(B, S, M), randn(B, S, N), MASK)
    found = attention(queries, memory, **options)
    monkeypatch.undo()
    return memory, found, count


@pytest.mark.parametrize("score", [AdditiveScore, ConcatScore])
def test_several_queries_of_an_additive_score_run_as_one_op(score, monkeypatch):
    attention = Attention(score(D, M, A)).double()
    memory, (context, weights), count = asked(monkeypatch, attention, randn(B, T, D))
    assert count == 1
    expected = masked_softmax(attention.score(randn(B, T, D), memory.keys), MASK[:, None])
    assert (weights - expected).abs().max() <= 1e-12
    assert (context - expected @ memory.values).abs().max() <= 1e-12
    _, (again, unasked), _ = asked(monkeypatch, attention, randn(B, T, D), need_weights=False)
    assert unasked is None
    assert torch.equal(again, context)


def test_a_single_query_rounds_as_before(monkeypatch):
    attention = Attention(AdditiveScore(D, M, A)).double()
    memory, (context, weights), count = asked(monkeypatch, attention, randn(B, 1, D))
    assert count == 0
    expected = masked_softmax(attention.score(randn(B, 1, D), memory.keys), MASK[:, None])
    assert torch.equal(weights, expected)
    assert torch.equal(context, expected @ memory.values)


@pytest.mark.parametrize("options", ["visible", "forced_weights", "dropout"])
def test_unsupported_cases_run_without_the_op(options, monkeypatch):
    attention = Attention(AdditiveScore(D, M, A), dropout=0.5).double()
    attention.train(options == "dropout")
    given = {
        "visible": {"visible": torch.ones(T, S, dtype=torch.bool)},
        "forced_weights": {"forced_weights": torch.full((B, T, S), torch.nan, dtype=torch.float64)},
        "dropout": {},
    }[options]
    assert asked(monkeypatch, attention, randn(B, T, D), **given)[2] == 0
    assert asked(monkeypatch, attention.eval(), randn(B, T, D))[2] == 1


CELLS = {
    "elman": ElmanCell,
    "gru before": GRUCell,
    "gru after": lambda *sizes: GRUCell(*sizes, reset_after=True),
    "lstm": LSTMCell,
}


@pytest.mark.parametrize("name", CELLS)
def test_two_directions_are_a_line_and_its_reverse(name):
    stack = RecurrentStack(lambda size: CELLS[name](size, D), I, 2, bidirectional=True).double()
    x, h = randn(B, S, I), randn(B, D)
    start = HiddenState(h, randn(B, D, seed=1) if name == "lstm" else None)
    shown, last = stack.scan(x, (start, start), MASK)
    for layer, (right, left) in enumerate(zip(stack.layers, stack.backward_cells, strict=True)):
        ahead, end = right.scan(x, start, MASK)
        back, front = left.scan(reverse(x, MASK), start, MASK)
        x = torch.cat([ahead, reverse(back, MASK)], dim=-1)
        assert (last[layer].h - torch.cat([end.h, front.h], dim=-1)).abs().max() <= 1e-12
        if name == "lstm":
            assert torch.equal(last[layer].c, torch.cat([end.c, front.c], dim=-1))
    assert (shown - x).abs().max() <= 1e-12


def test_both_directions_of_a_gru_that_resets_before_are_one_op(monkeypatch):
    run, count = kernels.bidirectional_gru_before_scan, 0

    def counted(*arguments, **keywords):
        nonlocal count
        count += 1
        return run(*arguments, **keywords)

    monkeypatch.setattr(kernels, "bidirectional_gru_before_scan", counted)
    for name, ops in (("gru before", 3), ("gru after", 0)):
        count = 0
        stack = RecurrentStack(
            lambda size, name=name: CELLS[name](size, D), I, 3, bidirectional=True
        )
        stack.double().scan(randn(B, S, I), (HiddenState(randn(B, D)),) * 3, MASK)
        assert count == ops


def test_a_masked_position_changes_no_state():
    cell = CellWeights(randn(3 * D, I), randn(3 * D, D), None)
    weights = {"forward": cell, "backward": cell}
    x, h = randn(B, S, I), randn(B, D)
    shown, last = kernels.bidirectional_gru_before_scan(x, h, mask=MASK, **weights)
    assert torch.equal(last[2], torch.cat([h[2], h[2]]))
    assert not shown[~MASK].any()
    wild = torch.where(MASK[..., None], x, 1e3)
    for one, other in zip(
        (shown, last),
        kernels.bidirectional_gru_before_scan(wild, h, mask=MASK, **weights),
        strict=True,
    ):
        assert torch.equal(one, other)
