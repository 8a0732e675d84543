"""Kernels on a GPU against float64, beside plain PyTorch at the same precision: `pytest -m gpu`."""

import pytest
import torch

from regard.kernels import CellWeights, ScoreParameters, reference

pytestmark = pytest.mark.gpu

# sentences, target and source positions, width of the state, of the alignment
SIZES = [(5, 7, 11, 13, 17), (3, 1, 1, 5, 3), (67, 6, 50, 104, 100), (2, 3, 1100, 8, 16)]
BOTH = (torch.float32, torch.bfloat16)


@pytest.fixture(autouse=True)
def poisoned():
    """What is not written is not a number: all memory that will be handed out has been NaN."""
    waste = [
        torch.full((1 << n,), torch.nan, device="cuda") for n in range(8, 27) for _ in range(2)
    ]
    del waste


def normal(*shape, scale=1.0):
    return torch.randn(shape, device="cuda", dtype=torch.float64) * scale


def visible(B, S):
    """Lines of any length: the whole, nothing, one, and in between."""
    lengths = torch.randint(1, S + 1, (B,), device="cuda")
    for row, length in enumerate((S, 0, 1)[: max(1, B - 1)]):
        lengths[row] = length
    return torch.arange(S, device="cuda") < lengths[:, None]


def graded(compute, inputs, dtype, grads):
    """What comes out, and the gradient of everything that went in."""
    leaves = [part.to(dtype).requires_grad_() for part in inputs]
    outputs = [part for part in compute(*leaves) if part is not None]
    loss = sum((out.double() * grad).sum() for out, grad in zip(outputs, grads, strict=True))
    return [x.detach() for x in (*outputs, *torch.autograd.grad(loss, leaves))]


def error(got, exact):
    return float((got.double() - exact).norm() / exact.norm().clamp(min=1e-30))


def agree(ours, plain, inputs, shapes, dtype):
    """Twice the error of plain PyTorch at most, everything written, and the same bits twice."""
    grads = [normal(*shape) for shape in shapes]
    exact = graded(plain, inputs, torch.float64, grads)
    usual = graded(plain, inputs, dtype, grads)
    first, second = (graded(ours, inputs, dtype, grads) for _ in range(2))
    # below this a sum of a handful of numbers may or may not be rounded at all
    least = torch.finfo(dtype).eps
    for number, (got, again, other, right) in enumerate(
        zip(first, second, usual, exact, strict=True)
    ):
        assert got.isfinite().all(), number
        assert torch.equal(got, again), number
        bound = max(2 * error(other, right), least)
        assert error(got, right) <= bound, (number, error(got, right), error(other, right))


def recurrence(B, T, S, D, A):
    G = 3 * D
    return [
        normal(B, T, G),
        normal(B, S, G),
        normal(B, S, A),
        normal(B, D, scale=0.5),
        normal(A, D, scale=D**-0.5),
        normal(A, scale=A**-0.5),
        normal(G, D, scale=D**-0.5),
    ]


@pytest.mark.parametrize("dtype", BOTH, ids=str)
@pytest.mark.parametrize("cell", ["gru_before", "gru_after"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_bahdanau_kernel_equals_the_plain_loop(sizes, cell, dtype):
    from regard.kernels.triton import recurrent_attention

    B, T, S, D, _ = sizes
    torch.manual_seed(0)
    mask = visible(B, S)

    def run(function):
        def compute(x, values, keys, h, W, v, U):
            memory, score = {"keys": keys, "values": values, "mask": mask}, ScoreParameters(W, v)
            return function(x, cell=cell, **memory, h=h, c=None, score=score, U=U)

        return compute

    agree(
        run(recurrent_attention.look_then_move),
        run(reference.look_then_move),
        recurrence(*sizes),
        [(B, T, D), (B, T, S), (B, D)],
        dtype,
    )


@pytest.mark.parametrize("dtype", BOTH, ids=str)
@pytest.mark.parametrize("sizes", [(3, 7, 13), (5, 1, 8), (67, 9, 104)], ids=str)
@pytest.mark.parametrize("cell", ["gru_before", "gru_after"])
def test_the_bidirectional_kernel_equals_the_plain_loop(cell, sizes, dtype):
    from regard.kernels.triton import gru_scan

    B, T, D = sizes
    torch.manual_seed(0)
    mask = visible(B, T)

    def run(function):
        def compute(x, h, *weights):
            forward, backward = (CellWeights(*weights[i : i + 3]) for i in (0, 3))
            return function(x, h, mask=mask, forward=forward, backward=backward)

        return compute

    inputs = [normal(B, T, 11), normal(B, D)]
    for _ in range(2):
        scale = D**-0.5
        inputs += [normal(3 * D, 11), normal(3 * D, D, scale=scale), normal(3 * D)]
    both = (run(getattr(file, f"bidirectional_{cell}_scan")) for file in (gru_scan, reference))
    agree(*both, inputs, [(B, T, 2 * D), (B, 2 * D)], dtype)


@pytest.mark.parametrize("dtype", BOTH, ids=str)
def test_the_recurrence_kernel_equals_the_plain_loop(dtype):
    from regard.kernels.triton import gru_scan

    torch.manual_seed(0)
    inputs = [
        normal(5, 7, 11),
        normal(5, 13),
        normal(39, 11),
        normal(39, 13, scale=0.3),
        normal(39),
    ]

    def run(function):
        return lambda x, h, W, U, b: (function(x, h, W=W, U=U, b=b),)

    agree(
        run(gru_scan.gru_before_scan),
        run(reference.gru_before_scan),
        inputs,
        [(5, 7, 13)],
        dtype,
    )


@pytest.mark.parametrize("dtype", BOTH, ids=str)
@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["usual", "large"])
@pytest.mark.parametrize(
    "sizes", [(3, 7, 11, 13, 5), (3, 70, 130, 67, 32), (2, 1, 1, 3, 2)], ids=str
)
def test_additive_attention_is_its_definition(sizes, scale, dtype):
    from regard.kernels.triton import additive_attention

    B, T, S, A, N = sizes
    torch.manual_seed(0)
    mask = visible(B, S)
    inputs = [normal(B, T, A, scale=scale), normal(B, S, A, scale=scale)]
    inputs += [normal(A, scale=A**-0.5), normal(B, S, N)]

    def run(function):
        return lambda q, k, v, values: function(q, k, values, v=v, mask=mask)

    agree(
        run(additive_attention.additive_attention),
        run(reference.additive_attention),
        inputs,
        [(B, T, N), (B, T, S)],
        dtype,
    )


@pytest.mark.parametrize("dtype", BOTH, ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("V", [2, 29, 5003])
def test_fused_loss_and_gradient_of_logits_equal_their_definition(V, smoothing, dtype):
    from regard.kernels.triton.linear_loss import loss_rows_

    torch.manual_seed(0)
    logits = (normal(37, V) * 3).to(dtype)
    target = torch.randint(0, V, (37,), device="cuda")
    visible_rows = torch.rand(37, device="cuda") < 0.8
    exact = logits.double().requires_grad_()
    losses = torch.nn.functional.cross_entropy(
        exact, target, label_smoothing=smoothing, reduction="none"
    ).masked_fill(~visible_rows, 0.0)
    (grad,) = torch.autograd.grad(losses.sum(), exact)
    got = loss_rows_(logits, target, visible_rows, smoothing)
    # what went in is exact here, so that only what is written is rounded
    assert error(got, losses.detach()) <= 1e-6
    assert error(logits, grad) <= torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", BOTH, ids=str)
@pytest.mark.parametrize("chunk", [None, 29 * 8], ids=["at once", "in chunks"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_fused_readout_and_loss_equal_their_definition(bias, chunk, dtype, monkeypatch):
    from regard.kernels.triton import linear_loss

    if chunk:
        monkeypatch.setattr(linear_loss, "LOGITS", chunk)
    torch.manual_seed(0)
    target = torch.randint(0, 29, (37,), device="cuda")
    visible_rows = torch.rand(37, device="cuda") < 0.8
    inputs = [normal(37, 13), normal(29, 13), *([normal(29)] if bias else [])]

    def run(function):
        def compute(x, weight, shift=None):
            rows = {"target": target, "visible": visible_rows}
            return (function(x, weight, bias=shift, **rows, smoothing=0.1),)

        return compute

    agree(run(linear_loss.linear_loss), run(reference.linear_loss), inputs, [()], dtype)


def test_fused_adadelta_equals_the_librarys():
    from regard.kernels.triton.adadelta import Adadelta

    torch.manual_seed(0)
    theirs = normal(1031).float().requires_grad_()
    mine = theirs.detach().clone().requires_grad_()
    settings = {"rho": 0.95, "eps": 1e-6, "weight_decay": 0.01}
    library = torch.optim.Adadelta([theirs], lr=0.7, **settings)
    ours = Adadelta([mine], lr=0.7, **settings)
    for _ in range(3):
        theirs.grad = normal(1031).float()
        mine.grad = theirs.grad.clone()
        library.step()
        ours.step()
    assert error(mine.detach(), theirs.detach().double()) <= 1e-6
    for name, tensor in ours.state[mine].items():
        assert error(tensor, library.state[theirs][name].double()) <= 1e-6
