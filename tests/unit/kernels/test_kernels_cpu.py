"""Ops with a backward pass of their own, against their definitions in plain PyTorch."""

import pytest
import torch
from kernel_cases import CASES, ODD, SIZES, gradients, leaves, outputs
from torch.utils._python_dispatch import TorchDispatchMode

from regard.kernels.cpu import additive_attention, linear_loss
from regard.nn.cross_entropy import label_smoothed_loss

by_case = pytest.mark.parametrize("name", CASES)
# PyTorch derives, and casts, in its own way what it computes itself, and without gradients it may
# multiply in another order
of_ours = pytest.mark.parametrize("name", [x for x in CASES if x != "bidirectional_gru_after_scan"])


def assert_within(actual, expected, bound):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert (one - other).abs().max() <= bound * max(1.0, other.abs().max())


@pytest.mark.parametrize("sizes", SIZES)
@by_case
def test_outputs_and_every_gradient_are_the_definitions(name, sizes):
    case = CASES[name]
    inputs = case.inputs(sizes=sizes)
    tensors = leaves(inputs)
    actual, expected = (outputs(run, inputs) for run in (case.run, case.definition))
    assert_within(actual, expected, 1e-12)
    assert_within(gradients(actual, tensors), gradients(expected, tensors), 1e-10)


@by_case
def test_a_gradient_may_arrive_through_one_output_alone(name):
    case = CASES[name]
    inputs = case.inputs()
    for i in range(len(outputs(case.run, inputs))):
        actual, expected = (outputs(run, inputs)[i] for run in (case.run, case.definition))
        for leaf in leaves(inputs):
            one, other = (
                torch.autograd.grad(
                    output.square().sum(), leaf, retain_graph=True, allow_unused=True
                )
                for output in (actual, expected)
            )
            nothing = torch.zeros_like(leaf)
            one, other = ([nothing if part is None else part for part in x] for x in (one, other))
            assert_within(one, other, 1e-10)


@by_case
def test_gradients_are_those_of_finite_differences(name):
    _gradcheck(name, fast=True)


@pytest.mark.slow
@by_case
def test_every_single_gradient_is_that_of_finite_differences(name, record_property):
    record_property("numbers moved", _gradcheck(name, fast=False))


def _gradcheck(name, *, fast):
    case = CASES[name]
    small = {"B": 3, "T": 2, "S": 3, "D": 5, "A": 7, "N": 5, "I": 3, "O": 7, "V": 5}
    inputs = case.inputs(sizes=(small, (3, 1, 0)))
    tensors = leaves(inputs)

    def run(*_):
        return tuple(outputs(case.run, inputs))

    assert torch.autograd.gradcheck(run, tensors, fast_mode=fast)
    return sum(leaf.numel() for leaf in tensors)


@by_case
def test_two_runs_are_equal_to_the_last_bit(name):
    case = CASES[name]
    inputs = case.inputs(torch.float32)
    tensors = leaves(inputs)
    first, second = outputs(case.run, inputs), outputs(case.run, inputs)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)
    for one, other in zip(gradients(first, tensors), gradients(second, tensors), strict=True):
        assert torch.equal(one, other)


@of_ours
def test_without_gradients_it_is_equal_to_the_last_bit(name):
    case = CASES[name]
    inputs = case.inputs(torch.float32)
    first = outputs(case.run, inputs)
    with torch.no_grad():
        for one, other in zip(first, outputs(case.run, inputs), strict=True):
            assert torch.equal(one, other)
            assert not other.requires_grad


@of_ours
def test_backward_may_run_twice_but_has_no_second_derivative(name):
    case = CASES[name]
    inputs = case.inputs()
    tensors = leaves(inputs)
    output = outputs(case.run, inputs)
    first, second = (gradients(output, tensors, retain=True) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)
    loss = torch.stack([part.square().sum() for part in output]).sum()
    (slope,) = torch.autograd.grad(loss, tensors[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@by_case
def test_float32_errs_at_most_twice_as_much_as_the_plain_loop(name):
    case = CASES[name]
    sizes = {"B": 5, "T": 7, "S": 11, "D": 67, "A": 71, "N": 73, "I": 79, "O": 83, "V": 89}
    errors = []
    # rounding is amplified from step to step, by luck: only the sum over draws can be compared
    for seed in range(4):
        results = []
        for run, dtype in (
            (case.definition, torch.float64),
            (case.definition, torch.float32),
            (case.run, torch.float32),
        ):
            inputs = case.inputs(dtype, sizes=(sizes, (11, 1, 0, 7, 11)), seed=seed)
            output = outputs(run, inputs)
            results.append([*(x.detach() for x in output), *gradients(output, leaves(inputs))])
        each = zip(*results, strict=True)
        errors.append([[float((x - truth).norm()) for x in actual] for truth, *actual in each])
    plain, actual = torch.tensor(errors).square().sum(dim=0).sqrt().unbind(dim=-1)
    size = torch.stack([truth.norm() for truth in results[0]])
    assert (actual <= 2 * plain + torch.finfo(torch.float32).eps * size).all()


@of_ours
def test_under_autocast_it_runs_in_bfloat16_and_stays_near_float32(name):
    case = CASES[name]
    inputs = case.inputs(torch.float32)
    tensors = leaves(inputs)
    exact = outputs(case.run, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        low_precision = outputs(case.run, inputs)
        inside = gradients(low_precision, tensors, retain=True)
    wide = torch.float32 if name.startswith("linear_loss") else torch.bfloat16
    assert {part.dtype for part in low_precision} == {wide}
    outside = gradients(low_precision, tensors)
    pairs = [*zip(low_precision, exact, strict=True)]
    pairs += zip(outside, gradients(exact, tensors), strict=True)
    for one, other in pairs:
        assert (one - other).norm() <= 0.06 * other.norm()
    for one, other in zip(inside, outside, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


class Made(TorchDispatchMode):
    """Counts the numbers in the largest tensor that an op makes."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        output = function(*args, **(kwargs or {}))
        for part in output if isinstance(output, tuple | list) else [output]:
            if isinstance(part, torch.Tensor):
                self.largest = max(self.largest, numbers(part))
        return output


def numbers(tensor):
    return tensor.untyped_storage().size() // tensor.itemsize


def made_and_saved(run, inputs):
    """How many numbers the largest tensor has, and how many wait for the way back."""
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = numbers(tensor)
        return tensor

    with Made() as mode:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            output = outputs(run, inputs)
        gradients(output, leaves(inputs))
    return mode.largest, sum(saved.values())


@pytest.mark.parametrize(
    "name", [name for name in CASES if name.endswith("additive")] + ["additive_attention"]
)
def test_no_tensor_of_queries_by_keys_by_width_is_allocated(name, monkeypatch):
    monkeypatch.setattr(additive_attention, "TILE", 1000)
    case = CASES[name]
    n = {**ODD, "T": 31, "S": 37, "D": 5, "A": 41, "N": 5, "O": 5}
    inputs = case.inputs(sizes=(n, (37, 1, 0)))
    all_at_once = n["B"] * n["T"] * n["S"] * n["A"]
    assert max(made_and_saved(case.definition, inputs)) >= all_at_once
    assert max(made_and_saved(case.run, inputs)) <= all_at_once / 5


def test_no_tensor_of_all_logits_is_allocated(monkeypatch):
    case = CASES["linear_loss"]
    n = {**ODD, "B": 3, "S": 101, "V": 97, "I": 3}
    inputs = case.inputs(sizes=(n, (101, 97, 89)))
    monkeypatch.setattr(linear_loss, "LOGITS", 1000)
    all_at_once = n["B"] * n["S"] * n["V"]
    assert max(made_and_saved(case.definition, inputs)) >= all_at_once
    assert max(made_and_saved(case.run, inputs)) <= all_at_once / 10


@pytest.mark.parametrize("at_once", [1, 100, 1000, 10**6])
def test_the_chunk_size_changes_nothing(at_once, monkeypatch):
    monkeypatch.setattr(additive_attention, "TILE", at_once)
    monkeypatch.setattr(linear_loss, "LOGITS", at_once)
    for name in ("additive_attention", "linear_loss, smoothed"):
        test_outputs_and_every_gradient_are_the_definitions(name, "odd")


@pytest.mark.parametrize("name", [n for n in CASES if n.endswith(("additive", "dot"))])
def test_a_row_with_nothing_visible_has_no_weights_and_no_gradients(name):
    case = CASES[name]
    inputs = case.inputs()
    output = case.run(**inputs)
    x, values, keys, mask = (inputs[name] for name in ("x", "values", "keys", "mask"))
    assert not mask[2].any()
    assert not output.weights[2].any()
    assert output.weights[:2].sum(dim=-1).allclose(torch.ones(2, ODD["T"], dtype=torch.float64))
    dx, *others = gradients([output.outputs, output.weights], [x, values, keys])
    assert dx[2].all()
    for gradient in others:
        assert not gradient[2].any()
        assert not gradient[1, 1:].any()
        assert gradient[0].any()


def test_the_loss_is_that_of_the_logits_and_ignores_masked_tokens():
    inputs = CASES["linear_loss, smoothed"].inputs(torch.float32)
    target, visible = inputs["target"], inputs["visible"]
    logits = torch.nn.functional.linear(inputs["x"], inputs["weight"], inputs["bias"])
    whole = label_smoothed_loss(logits[None], target[None], visible[None], inputs["smoothing"])
    loss = linear_loss.linear_loss(**inputs)
    assert abs(loss - whole) <= 1e-5 * whole
    other = torch.where(visible, target, (target + 1) % inputs["weight"].shape[0])
    assert linear_loss.linear_loss(**{**inputs, "target": other}) == loss
    # by hand: two words, logits (0, log 3), so p = (1/4, 3/4)
    two = torch.tensor([[0.0], [torch.tensor(3.0).log()]])
    loss = linear_loss.linear_loss(
        torch.ones(1, 1),
        two,
        bias=None,
        target=torch.tensor([0]),
        visible=torch.tensor([True]),
        smoothing=0.2,
    )
    expected = 0.8 * torch.tensor(4.0).log() + 0.1 * (torch.tensor(16.0 / 3).log())
    assert abs(loss - expected) <= 1e-6


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("linear_loss")])
def test_masked_rows_count_nothing(name, monkeypatch):
    monkeypatch.setattr(linear_loss, "ROW_SKIPPING_DEVICES", ())
    test_outputs_and_every_gradient_are_the_definitions(name, "odd")


def test_a_loss_of_no_visible_words_is_zero():
    inputs = CASES["linear_loss"].inputs()
    hidden = torch.zeros_like(inputs["visible"])
    loss = linear_loss.linear_loss(**{**inputs, "visible": hidden})
    assert loss == 0
    assert not torch.autograd.grad(loss, inputs["weight"])[0].any()
