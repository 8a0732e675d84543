"""One file decides which implementation runs, and can say why."""

import pytest
import torch

from regard.kernels import CHOICES, Asking, bfloat16_instructions, has_bfloat16
from regard.kernels.choose import Call, Candidate, Choice, on_cuda
from regard.kernels.library import filled_linear


def only_short(call):
    return "too long" if call.arguments and len(call.arguments[0]) > 2 else None


def choice():
    short = Candidate(lambda x: ("short", x), "short", "it is short", only_short)
    on_gpu = Candidate(
        lambda x: ("gpu", x), "gpu", "fast", lambda c: "no" if c.device == "cpu" else None
    )
    return Choice((on_gpu, short, Candidate(lambda x: ("any", x), "any", "takes all")))


def test_the_first_that_can_runs():
    run = choice().run
    assert run(torch.ones(2))[0] == "short"
    assert run(torch.ones(3))[0] == "any"
    assert choice().choose(Call("cuda", torch.float32)).source == "gpu"


def test_a_choice_explains_itself_by_what_better_ones_said():
    assert choice().explain("cpu") == ("short", "gpu: no; it is short")
    assert choice().explain("cuda") == ("gpu", "fast")


def test_an_op_of_one_implementation_is_that_function():
    def function(x):
        return x

    assert Choice((Candidate(function, "plain", "all there is"),)).run is function


@pytest.mark.parametrize(
    ("device", "dtype", "sentence"),
    [
        ("cpu", torch.float32, "needs a CUDA device"),
        ("cuda", torch.float64, "computes in float32 and bfloat16, not float64"),
    ],
)
def test_triton_says_what_it_cannot_do(device, dtype, sentence):
    assert on_cuda("look_then_move").refuses(Call(device, dtype)) == sentence


def test_triton_is_taken_where_it_is_installed(monkeypatch):
    chooser, call = "regard.kernels.choose.find_spec", Call("cuda", torch.float32)
    monkeypatch.setattr(chooser, lambda name: None)
    missing = "is not installed; pip install triton would do"
    assert on_cuda("look_then_move").refuses(call) == missing
    monkeypatch.setattr(chooser, lambda name: name)
    assert on_cuda("look_then_move").refuses(call) is None


@pytest.mark.parametrize(
    ("cell", "v", "sentence"),
    [
        ("lstm", 1, "knows no LSTM"),
        ("gru_after", None, "asks by the additive score alone"),
        ("gru_after", 1, "needs a CUDA device"),
    ],
)
def test_the_recurrence_on_a_gpu_says_which_cells_and_scores_it_does_not_know(cell, v, sentence):
    asking = Asking(None if v is None else torch.ones(2, 3), None if v is None else torch.ones(2))
    arguments = (cell, *[None] * 6, asking, None)
    best = CHOICES["look_then_move"].candidates[0]
    assert best.refuses(Call("cpu", torch.float32, arguments)) == sentence


def test_kernels_of_another_module_are_imported_when_they_run():
    run = on_cuda("sqrt", "math").run
    assert run(4.0) == 2.0


def test_on_a_cpu_every_op_has_something_that_runs():
    for name, op in CHOICES.items():
        source, reason = op.explain("cpu")
        assert source != "Triton", name
        assert reason, name
    by_hand = {name for name, op in CHOICES.items() if op.explain("cpu")[0] == "backward by hand"}
    assert by_hand == {
        "additive_attention",
        "gru_before_both",
        "gru_before_scan",
        "linear_loss",
        "look_then_move",
        "move_then_look",
    }


@pytest.mark.parametrize("width", [5, 8, 13])
def test_a_product_that_is_filled_up_is_the_product(width):
    x, W, b = torch.randn(3, 4, width), torch.randn(6, width), torch.randn(6)
    given = [part.requires_grad_() for part in (x, W, b)]
    with torch.autocast("cpu", torch.bfloat16):
        found = [linear(*given) for linear in (filled_linear, torch.nn.functional.linear)]
    ours, usual = ((y, *torch.autograd.grad(y.float().square().sum(), given)) for y in found)
    for got, right in zip(ours, usual, strict=True):
        torch.testing.assert_close(got, right, rtol=2e-2, atol=2e-2)


def test_only_odd_widths_are_filled_up(monkeypatch):
    call = Call("cuda", torch.float32, (torch.ones(2, 620),))
    first = CHOICES["linear"].candidates[0]
    assert first.refuses(call) == "needs a CUDA device and precision = bfloat16"
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    assert first.refuses(call) is None
    assert first.refuses(call._replace(arguments=(torch.ones(2, 624),))) == "has nothing to fill up"


@pytest.mark.parametrize("names", [["avx512_bf16"], ["avx512_bf16", "amx_bf16"], []])
def test_bfloat16_is_for_gpus_and_for_cpus_that_have_it(monkeypatch, names):
    found = {"avx2": True, **dict.fromkeys(names, True)}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    assert bfloat16_instructions() == names
    assert has_bfloat16("cpu") is bool(names)
    assert has_bfloat16("cuda")


def test_a_torch_that_cannot_say_what_a_cpu_has_means_that_it_has_not(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not has_bfloat16("cpu")
