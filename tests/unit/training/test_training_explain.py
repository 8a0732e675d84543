"""What runs in an update of a model, part by part, is said as it is."""

import pytest
import torch

from regard.config.settings import TrainConfig
from regard.kernels import OPS, PRECISIONS, Call, PrecisionRequest
from regard.models import build, preset
from regard.training.explain import explain_training, why_not_cuda_graph
from regard.training.optimizer import explain_optimizer, make_optimizer

RECURRENT = {"embedding_size": 3, "hidden_size": 5}
SIZES = {
    "cho2014": {**RECURRENT, "readout_size": 7},
    "sutskever2014": {**RECURRENT, "num_layers": 2},
    "bahdanau2015": {**RECURRENT, "align_size": 7, "readout_size": 11},
    "luong2015": {**RECURRENT, "num_layers": 1},
    "gehring2017": {**RECURRENT, "num_layers": 2, "kernel_size": 3},
    "vaswani2017": {"model_size": 8, "feed_forward_size": 11, "num_heads": 2, "num_layers": 2},
}


def explained(name, device="cpu", *, train=None, **changes):
    model = build(preset(name)(**{**SIZES[name], **changes}), 13, 13)
    return explain_training(model.eval(), TrainConfig(**(train or {})), device)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", SIZES)
def test_every_part_of_every_preset_has_an_implementation_and_a_reason(name, device):
    decisions = explained(name, device)
    parts = {part.split()[0] for part in decisions}
    assert parts == {"precision", "encoder", "decoder", "loss", "gradients", "optimizer"}
    for implementation, reason in decisions.values():
        assert implementation
        assert reason


def test_a_model_stays_in_its_mode():
    model = build(preset("luong2015")(**SIZES["luong2015"]), 13, 13)
    for mode in (model.train(), model.eval()):
        was_training = mode.training
        explain_training(model, TrainConfig(), "cpu")
        assert model.training is was_training


def test_an_encoder_names_the_scan_of_its_cells():
    def encoder(cell):
        return explained("bahdanau2015", cell=cell)["encoder"].implementation

    assert encoder("gru_before") == "custom autograd"
    assert encoder("gru_after") == "torch.gru"
    assert encoder("lstm") == "torch.lstm"
    assert encoder("elman") == "torch.rnn_tanh"


def test_a_recurrent_decoder_names_the_op_of_its_recurrence_or_why_it_goes_step_by_step():
    decisions = explained("bahdanau2015")
    assert decisions["decoder"].implementation == "at once"
    assert decisions["decoder recurrence"] == OPS["look_then_move"].explain(Call("cpu"))
    lstm = explained("bahdanau2015", "cuda", cell="lstm")["decoder recurrence"]
    assert lstm.reason.startswith("Triton: does not support LSTMs; ")
    stepwise = explained("bahdanau2015", num_layers=2)
    assert stepwise["decoder"] == ("step by step", "at once: it has 2 layers; every decoder can")
    assert "decoder recurrence" not in stepwise


def test_attention_names_its_op_or_why_there_is_none():
    def attention(**changes):
        decisions = explained("luong2015", input_feeding=False, **changes)
        return decisions["decoder attention"]

    assert attention(score="scaled_dot").implementation == "scaled_dot_product_attention"
    assert attention(score="additive").implementation == "custom autograd"
    assert attention(score="gaussian") == (
        "scores, softmax and sum",
        "scaled_dot_attention: its score is GaussianScore; "
        "additive_attention: its score is GaussianScore; every score can",
    )
    reason = attention(score="additive", window="local_m").reason
    assert "it has a window, relative positions, coverage or dropout" in reason
    for dropout, implementation in (
        (0.0, "scaled_dot_product_attention"),
        (0.1, "two random bytes per weight"),
    ):
        heads = explained("vaswani2017", dropout=dropout)
        for part in ("encoder self-attention", "decoder self-attention", "decoder cross-attention"):
            assert heads[part].implementation == implementation


def test_r_drop_needs_all_logits():
    assert explained("luong2015")["loss"].implementation == "custom autograd"
    loss = explained("luong2015", train={"rdrop_alpha": 1.0})["loss"]
    assert loss.implementation == "all logits"
    assert "R-Drop" in loss.reason


@pytest.mark.parametrize(
    ("setting", "device", "implementation", "reason"),
    [
        ("float32", "cpu", "float32", "bfloat16: train.precision is float32"),
        ("tf32", "cpu", "float32", "tf32: needs a CUDA device"),
        ("tf32", "cuda", "tf32", "bfloat16: train.precision is tf32"),
        ("bfloat16", "cuda", "bfloat16", "the device multiplies it itself"),
        ("bfloat16", "cpu", "float32", "bfloat16: this CPU would emulate it"),
    ],
)
def test_the_precision_is_what_the_device_supports(
    setting, device, implementation, reason, monkeypatch
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict, raising=False)
    decision = PRECISIONS.explain(PrecisionRequest(setting, device))
    assert decision.implementation == implementation
    assert reason in decision.reason


def test_low_precision_changes_what_runs_on_a_gpu(monkeypatch):
    monkeypatch.setattr("regard.kernels.registry.find_spec", lambda name: name)
    for precision, implementation in (
        ("float32", "torch.gru"),
        ("tf32", "Triton"),
        ("bfloat16", "Triton"),
    ):
        train = {"precision": precision}
        encoder = explained("bahdanau2015", "cuda", cell="gru_after", train=train)["encoder"]
        assert encoder.implementation == implementation


def test_the_explained_optimizer_is_the_one_in_use():
    parameters = torch.nn.Linear(2, 3)
    for name, implementation in (
        ("adam", "fused Adam"),
        ("adamw", "fused AdamW"),
        ("adadelta", "torch.optim.Adadelta"),
    ):
        config = TrainConfig(optimizer=name)
        assert explain_optimizer(config, Call("cpu")).implementation == implementation
        optimizer = make_optimizer(parameters, config)
        assert type(optimizer).__name__ == implementation.split()[-1].rpartition(".")[2]
        assert bool(optimizer.defaults.get("fused")) is implementation.startswith("fused")
    elsewhere = explain_optimizer(TrainConfig(), Call("mps"))
    assert elsewhere == (
        "torch.optim.Adam",
        "fused Adam: PyTorch has none for mps; it runs on every device",
    )


def test_a_cuda_graph_needs_a_cuda_device():
    assert why_not_cuda_graph("cuda") is None
    assert why_not_cuda_graph("cpu") == "needs a CUDA device"
    assert explained("luong2015", "cuda")["gradients"].implementation == "CUDA graph"
    assert explained("luong2015")["gradients"].implementation == "op by op"
