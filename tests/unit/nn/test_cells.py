"""Cells and stacks against their oracles."""

import numpy as np
import pytest
import torch

import letters
from oracle import cells as oracle
from regard import kernels
from regard.kernels import reference
from regard.nn.cells import ElmanCell, GRUCell, HiddenState, LSTMCell
from regard.nn.recurrent_stack import RecurrentStack

B, T, I, D = 3, 5, 7, 11  # noqa: E741
LENGTHS = (5, 0, 3)
MASK = torch.arange(T) < torch.tensor(LENGTHS)[:, None]

CELLS = {
    "elman": (ElmanCell, oracle.elman, letters.elman),
    "gru before": (GRUCell, oracle.gru_before, letters.gru),
    "gru after": (
        lambda *a, **k: GRUCell(*a, **k, reset_after=True),
        oracle.gru_after,
        letters.gru,
    ),
}


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_steps_by_its_equation(name, bias):
    make, step, letters_of = CELLS[name]
    cell = make(I, D, bias=bias).double()
    x, h = randn(B, I), randn(B, D)
    moved = cell(x, HiddenState(h))
    assert moved.c is None
    for b in range(B):
        letters.assert_close(moved.h[b], step(x[b].numpy(), h[b].numpy(), **letters_of(cell)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_scans_as_it_steps(name, bias):
    make, step, letters_of = CELLS[name]
    cell = make(I, D, bias=bias).double()
    x, h = randn(B, T, I), randn(B, D)
    states, last = cell.scan(x, HiddenState(h), MASK)
    for b, n in enumerate(LENGTHS):
        expected = oracle.run(step, x[b, :n].numpy(), h[b].numpy(), **letters_of(cell))
        for t in range(n):
            letters.assert_close(states[b, t], expected[t])
        assert not states[b, n:].any()
        letters.assert_close(last.h[b], expected[-1] if n else h[b].numpy())


@pytest.mark.parametrize("bias", [True, False])
def test_an_lstm_steps_and_scans_by_its_equation(bias):
    cell = LSTMCell(I, D, bias=bias).double()
    x, h, c = randn(B, T, I), randn(B, D), randn(B, D, seed=1)
    states, last = cell.scan(x, HiddenState(h, c), MASK)
    stepped = HiddenState(h, c)
    for b, n in enumerate(LENGTHS):
        h_b, c_b = h[b].numpy(), c[b].numpy()
        for t in range(n):
            h_b, c_b = oracle.lstm(x[b, t].numpy(), h_b, c_b, **letters.lstm(cell))
            letters.assert_close(states[b, t], h_b)
        assert not states[b, n:].any()
        letters.assert_close(last.h[b], h_b)
        letters.assert_close(last.c[b], c_b)
    for t in range(T):
        stepped = cell(x[:, t], stepped)
    letters.assert_close(stepped.h[0], letters.array(last.h[0]))
    letters.assert_close(stepped.c[0], letters.array(last.c[0]))


def test_chos_and_bahdanaus_gates_are_the_same_cell():
    cell = GRUCell(I, D).double()
    x, h = randn(B, I), randn(B, D)
    moved = cell(x, HiddenState(h))
    for b in range(B):
        x_b, h_b = x[b].numpy(), h[b].numpy()
        letters.assert_close(moved.h[b], oracle.cho_gru(x_b, h_b, **letters.cho_gru(cell)))
        unmapped = oracle.cho_gru(x_b, h_b, **letters.gru(cell))
        assert np.abs(unmapped - letters.array(moved.h[b])).max() > 1e-2


def test_the_two_resets_are_two_functions():
    before, after = GRUCell(I, D).double(), GRUCell(I, D, reset_after=True).double()
    after.load_state_dict(before.state_dict())
    x, h = randn(B, I), randn(B, D)
    assert (before(x, HiddenState(h)).h - after(x, HiddenState(h)).h).abs().max() > 1e-3


def test_library_recurrences_run_if_they_compute_the_same():
    sources = {name: op.explain(kernels.Call("cpu"))[0] for name, op in kernels.OPS.items()}
    assert sources["gru_after_scan"] == sources["bidirectional_gru_after_scan"] == "torch.gru"
    assert sources["lstm_scan"] == "torch.lstm"
    assert sources["elman_scan"] == "torch.rnn_tanh"
    assert sources["gru_before_scan"] == "custom autograd"
    assert sources["bidirectional_gru_before_scan"] == "custom autograd"


@pytest.mark.parametrize("bias", [True, False])
def test_library_recurrences_agree_with_their_definitions(bias):
    for name, rows in (("elman_scan", D), ("gru_after_scan", 3 * D)):
        weights = {"W": randn(rows, I), "U": randn(rows, D), "b": randn(rows) if bias else None}
        x, h = randn(B, T, I), randn(B, D)
        expected = getattr(reference, name)(x, h, **weights)
        letters.assert_close(getattr(kernels, name)(x, h, **weights), letters.array(expected))
    weights = {"W": randn(4 * D, I), "U": randn(4 * D, D), "b": randn(4 * D) if bias else None}
    x, state = randn(B, T, I), (randn(B, D), randn(B, D, seed=1))
    h, c = kernels.lstm_scan(x, state[0], c=state[1], mask=MASK, **weights)
    expected_h, expected_c = reference.lstm_scan(x, state[0], c=state[1], mask=MASK, **weights)
    letters.assert_close(h[MASK], letters.array(expected_h[MASK]))
    letters.assert_close(c, letters.array(expected_c))
    # a row with nothing visible keeps its store to the last bit
    assert torch.equal(c[1], state[1][1])


@pytest.mark.parametrize("rough", [False, True], ids=["float32", "bfloat16"])
def test_an_lstm_on_a_cpu_computes_in_the_dtype_of_its_weights(rough):
    W, U, b = randn(4 * D, I).float(), randn(4 * D, D).float(), randn(4 * D).float()
    x, state = randn(B, T, I).bfloat16(), (randn(B, D).bfloat16(), randn(B, D).bfloat16())
    with torch.autocast("cpu", torch.bfloat16, enabled=rough):
        h, c = kernels.lstm_scan(x, state[0], c=state[1], mask=MASK, W=W, U=U, b=b)
    whole_h, whole_c = (part.float() for part in state)
    expected = kernels.lstm_scan(x.float(), whole_h, c=whole_c, mask=MASK, W=W, U=U, b=b)
    assert torch.equal(h[MASK], expected[0][MASK])
    assert torch.equal(c, expected[1])


def stack(**options):
    return RecurrentStack(lambda size: GRUCell(size, D), I, 3, **options).double()


@pytest.mark.parametrize("residual", [False, True])
def test_a_stack_steps_and_scans_layer_by_layer(residual):
    layers = stack(residual=residual)
    x, h = randn(B, T, I), randn(B, D)
    start = tuple(cell.state_with_output(h) for cell in layers.layers)
    shown, last = layers.scan(x, start, torch.ones(B, T, dtype=torch.bool))
    inputs = [row.numpy() for row in x[0]]
    for layer, cell in enumerate(layers.layers):
        states = oracle.run(oracle.gru_before, inputs, h[0].numpy(), **letters.gru(cell))
        letters.assert_close(last[layer].h[0], states[-1])
        added = residual and layer > 0
        inputs = [s + x for s, x in zip(states, inputs, strict=True)] if added else states
    letters.assert_close(shown[0], inputs)
    states = start
    for t in range(T):
        output, states = layers.step(x[:, t], states)
        letters.assert_close(output, letters.array(shown[:, t]))


def test_outputs_of_two_directions_are_concatenated():
    layers = stack(bidirectional=True)
    x, h = randn(B, T, I), torch.zeros(B, D, dtype=torch.float64)
    start = tuple(cell.state_with_output(h) for cell in layers.layers)
    shown, last = layers.scan(x, start, MASK)
    n = LENGTHS[2]
    inputs = list(x[2, :n].numpy())
    for right, left in zip(layers.layers, layers.backward_cells, strict=True):
        forward = oracle.run(oracle.gru_before, inputs, np.zeros(D), **letters.gru(right))
        backward = oracle.run(oracle.gru_before, inputs[::-1], np.zeros(D), **letters.gru(left))
        inputs = [np.concatenate(pair) for pair in zip(forward, backward[::-1], strict=True)]
    letters.assert_close(shown[2, :n], inputs)
    letters.assert_close(last[-1].h[2], np.concatenate([forward[-1], backward[-1]]))


def test_dropout_is_between_layers_and_not_before_the_first():
    torch.manual_seed(0)
    one = RecurrentStack(lambda size: GRUCell(size, D), I, 1, dropout=0.9).double()
    three = stack(dropout=0.9)
    x = randn(B, T, I)
    everywhere = torch.ones(B, T, dtype=torch.bool)

    def run(layers):
        start = tuple(
            cell.state_with_output(torch.zeros(B, D, dtype=x.dtype)) for cell in layers.layers
        )
        return layers.scan(x, start, everywhere)[0]

    assert torch.equal(run(one), run(one))
    assert not torch.equal(run(three), run(three))
    assert torch.equal(run(three.eval()), run(three.eval()))
