"""One dispatcher decides which implementation runs, and can say why."""

import pytest
import torch

from regard.kernels import OPS, ScoreParameters, bfloat16_instructions, has_bfloat16
from regard.kernels.dispatch import Call, Implementation, Op
from regard.kernels.fused_torch import padded_linear
from regard.kernels.registry import triton

MODULE = "regard.kernels.triton.recurrent_attention"


def only_short(call):
    return "too long" if call.arguments and len(call.arguments[0]) > 2 else None


def op():
    short = Implementation(lambda x: ("short", x), "short", "it is short", only_short)
    on_gpu = Implementation(
        lambda x: ("gpu", x), "gpu", "fast", lambda c: "no" if c.device == "cpu" else None
    )
    return Op((on_gpu, short, Implementation(lambda x: ("any", x), "any", "takes all")))


def test_the_first_implementation_that_supports_a_call_runs():
    run = op().run
    assert run(torch.ones(2))[0] == "short"
    assert run(torch.ones(3))[0] == "any"
    assert op().select(Call("cuda", torch.float32)).name == "gpu"


def test_an_op_explains_itself_by_the_reasons_against_faster_implementations():
    assert op().explain(Call("cpu")) == ("short", "gpu: no; it is short")
    assert op().explain(Call("cuda")) == ("gpu", "fast")


def test_an_op_of_one_implementation_is_that_function():
    def function(x):
        return x

    assert Op((Implementation(function, "plain", "all there is"),)).run is function


@pytest.mark.parametrize(
    ("device", "dtype", "sentence"),
    [
        ("cpu", torch.float32, "needs a CUDA device"),
        ("cuda", torch.float64, "computes in float32 and bfloat16, not float64"),
    ],
)
def test_triton_names_what_it_does_not_support(device, dtype, sentence):
    assert triton("look_then_move", MODULE).why_not(Call(device, dtype)) == sentence


def test_triton_runs_if_it_is_installed(monkeypatch):
    find_spec, call = "regard.kernels.registry.find_spec", Call("cuda", torch.float32)
    monkeypatch.setattr(find_spec, lambda name: None)
    missing = "is not installed; install it with: pip install triton"
    assert triton("look_then_move", MODULE).why_not(call) == missing
    monkeypatch.setattr(find_spec, lambda name: name)
    assert triton("look_then_move", MODULE).why_not(call) is None


@pytest.mark.parametrize(
    ("cell", "v", "sentence"),
    [
        ("lstm", 1, "does not support LSTMs"),
        ("gru_after", None, "supports only the additive score"),
        ("gru_after", 1, "needs a CUDA device"),
    ],
)
def test_the_gpu_recurrence_names_unsupported_cells_and_scores(cell, v, sentence):
    additive = ScoreParameters(torch.ones(2, 3), torch.ones(2))
    score = ScoreParameters(None, None) if v is None else additive
    fastest = OPS["look_then_move"].implementations[0]
    call = Call("cpu", torch.float32, (torch.ones(2),), {"cell": cell, "score": score})
    assert fastest.why_not(call) == sentence


def test_kernels_of_another_module_are_imported_when_they_run():
    run = triton("sqrt", "math").run
    assert run(4.0) == 2.0


def test_every_op_has_an_implementation_for_the_cpu():
    decisions = {name: op.explain(Call("cpu")) for name, op in OPS.items()}
    for name, (implementation, reason) in decisions.items():
        assert implementation != "Triton", name
        assert reason, name
    custom = {name for name, decision in decisions.items() if decision[0] == "custom autograd"}
    assert custom == {
        "additive_attention",
        "bidirectional_gru_before_scan",
        "gru_before_scan",
        "linear_loss",
        "look_then_move",
        "move_then_look",
    }


@pytest.mark.parametrize("width", [5, 8, 13])
def test_a_padded_product_is_the_product(width):
    x, W, b = torch.randn(3, 4, width), torch.randn(6, width), torch.randn(6)
    leaves = [part.requires_grad_() for part in (x, W, b)]
    with torch.autocast("cpu", torch.bfloat16):
        products = [f(x, W, bias=b) for f in (padded_linear, torch.nn.functional.linear)]
    ours, usual = ((y, *torch.autograd.grad(y.float().square().sum(), leaves)) for y in products)
    for got, right in zip(ours, usual, strict=True):
        torch.testing.assert_close(got, right, rtol=2e-2, atol=2e-2)


def test_only_odd_widths_are_padded(monkeypatch):
    call = Call("cuda", torch.float32, (torch.ones(2, 620),))
    first = OPS["linear"].implementations[0]
    assert first.why_not(call) == "needs a CUDA device and train.precision = bfloat16"
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    assert first.why_not(call) is None
    assert (
        first.why_not(call._replace(arguments=(torch.ones(2, 624),)))
        == "the width needs no padding"
    )


@pytest.mark.parametrize("names", [["avx512_bf16"], ["avx512_bf16", "amx_bf16"], []])
def test_bfloat16_is_for_gpus_and_cpus_that_support_it(monkeypatch, names):
    capabilities = {"avx2": True, **dict.fromkeys(names, True)}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert bfloat16_instructions() == names
    assert has_bfloat16("cpu") is bool(names)
    assert has_bfloat16("cuda")


def test_a_torch_without_cpu_capabilities_means_no_bfloat16(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not has_bfloat16("cpu")
