"""Training on a GPU: recorded work is the plain work, and a run goes on to the same bits."""

from functools import partial

import pytest
import torch

from regard.models import PRESETS
from regard.nn.pointer_generator import PointerGenerator
from regard.training.early_stopping import TrainingProgress
from regard.training.loop import (
    batch_loss,
    eager_gradients,
    make_gradients,
    train,
    training_batches,
)
from training_job import RESUMED, SilentReport, job

pytestmark = pytest.mark.gpu
PRECISIONS = ("float32", "tf32", "bfloat16")
COPIES = "copies"


def on_gpu(folder, name="bahdanau2015", **options):
    """Make a job for a preset, or for the first of them to look, made to copy."""
    made, _, _ = job(folder, "bahdanau2015" if name == COPIES else name, **options)
    if name == COPIES:
        made.model.readout.pointer = pointer(made.model)
    made.model.cuda()
    return made


def pointer(model):
    """Point at every symbol that both sides may have."""
    torch.manual_seed(5)
    known, readout = model.source_embedding.weight.shape[0], model.readout
    sizes = model.decoder.state_size, model.encoder.key_size, readout.layer.W.in_features
    made = PointerGenerator(*sizes, known)
    made.target_ids[4:] = torch.arange(4, known).clamp(max=readout.weight.shape[0] - 1)
    return made


@pytest.mark.parametrize("name", [*PRESETS, COPIES])
@pytest.mark.parametrize("rdrop_alpha", [0.0, 2.0])
def test_cuda_graph_gradients_equal_eager_ones(tmp_path, name, rdrop_alpha):
    made = on_gpu(tmp_path, name, dropout=0.0, batch_tokens=300, rdrop_alpha=rdrop_alpha)
    made.model.train()
    batches = training_batches(made, TrainingProgress())
    taken = [next(batches)[2] for _ in range(5)]
    tokens = sum(batch.num_tokens for batch in taken)
    recorded = make_gradients(made.model, made.config)
    # twice: what was recorded in the first is replayed in the second
    for _ in "ab":
        made.model.zero_grad(set_to_none=False)
        loss = recorded(taken, tokens)()
    found = {n: p.grad.clone() for n, p in made.model.named_parameters()}
    made.model.zero_grad()
    usual = eager_gradients(partial(batch_loss, made.model, made.config), taken, tokens)()
    assert loss == pytest.approx(usual, rel=1e-5)
    for n, p in made.model.named_parameters():
        torch.testing.assert_close(found[n], p.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    "name", ["bahdanau2015", "luong2015", "gehring2017", "vaswani2017", COPIES]
)
def test_a_run_that_was_stopped_ends_in_the_same_bits(tmp_path, name, precision):
    options = {**RESUMED, "max_steps": 12, "save_every": 5, "precision": precision}
    whole = on_gpu(tmp_path / "whole", name, **options)
    train(whole, SilentReport())
    stopped = on_gpu(tmp_path / "stopped", name, **options)
    asked = iter(range(100))
    train(stopped, SilentReport(), lambda: next(asked) == 6)
    again = on_gpu(tmp_path / "stopped", name, **options)
    train(again, SilentReport())
    for (n, a), b in zip(whole.model.named_parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b), n


def test_a_model_learns_on_a_gpu_as_on_a_cpu(tmp_path):
    made = on_gpu(tmp_path, max_steps=400, validate_every=400, batch_tokens=800, precision="tf32",
                  learning_rate=0.005, report_every=100, pairs=4000)  # fmt: skip
    assert train(made, SilentReport()).best >= 90
