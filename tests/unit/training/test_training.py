"""Training: the loss and the schedule by hand, learning that is real, and resuming to the bit."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.config.settings import TrainConfig
from regard.errors import InputError
from regard.models import PRESETS
from regard.training import loop
from regard.training.checkpoints import load_final_weights
from regard.training.early_stopping import TrainingProgress
from regard.training.learning_rate_schedule import learning_rate
from regard.training.loop import batch_loss, train, training_batches
from regard.training.optimizer import make_optimizer, optimizer_tensors, restore_optimizer
from regard.training.progress_report import ValidationResult
from training_job import RESUMED, SilentReport, job, run

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", {1: 0.25, 4: 1, 12: 1, 20: 1}),
        ("inverse_sqrt", {1: 0.25, 4: 1, 16: 0.5, 36: 1 / 3}),
        ("linear", {2: 0.5, 4: 1, 12: 0.5, 20: 0}),
        ("cosine", {2: 0.5, 4: 1, 12: 0.5, 20: 0}),
    ],
)
def test_schedules_agree_with_hand_computed_numbers(schedule, expected):
    config = TrainConfig(learning_rate=1.0, warmup_steps=4, max_steps=20, schedule=schedule)
    for step, rate in expected.items():
        assert learning_rate(config, step) == pytest.approx(rate)


@pytest.mark.parametrize("name", ["adam", "adamw", "adadelta"])
def test_a_restored_optimizer_continues_exactly(name):
    def steps(model, optimizer, numbers):
        for number in numbers:
            torch.manual_seed(number)
            model(torch.randn(3, 5)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    config = TrainConfig(optimizer=name, weight_decay=0.01)
    models = [torch.nn.Linear(5, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    one = make_optimizer(models[0], config)
    steps(models[0], one, range(3))
    half = {k: v.clone() for k, v in optimizer_tensors(one, models[0]).items()}
    weights = {k: v.clone() for k, v in models[0].state_dict().items()}
    steps(models[0], one, range(3, 6))
    other = make_optimizer(models[1], config)
    models[1].load_state_dict(weights)
    restore_optimizer(other, models[1], half)
    steps(models[1], other, range(3, 6))
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_validation_knows_better_from_worse():
    progress = TrainingProgress(step=10).after_validation(
        50.0, higher_is_better=True, num_checkpoints=2, best_of=True
    )
    assert (progress.best, progress.best_step, progress.stale) == (50.0, 10, 0)
    later = TrainingProgress(**{**vars(progress), "step": 20})
    later = later.after_validation(50.0, higher_is_better=True, num_checkpoints=2, best_of=True)
    assert (later.best_step, later.stale, later.checkpoints) == (10, 1, ((50.0, 10), (50.0, 20)))
    last = TrainingProgress(**{**vars(later), "step": 30})
    best = last.after_validation(60.0, higher_is_better=True, num_checkpoints=2, best_of=True)
    assert best.checkpoints == ((60.0, 30), (50.0, 10))
    newest = last.after_validation(40.0, higher_is_better=True, num_checkpoints=2, best_of=False)
    assert newest.checkpoints == ((50.0, 20), (40.0, 30))
    lower = last.after_validation(40.0, higher_is_better=False, num_checkpoints=1, best_of=True)
    assert (lower.best, lower.checkpoints) == (40.0, ((40.0, 30),))


@pytest.mark.parametrize("name", ["adam", "adamw", "adadelta"])
def test_frozen_parameters_are_not_optimized(name):
    model = torch.nn.Linear(2, 3)
    model.bias.requires_grad_(False)
    made = make_optimizer(model, TrainConfig(optimizer=name, weight_decay=0.1))
    assert [part for group in made.param_groups for part in group["params"]] == [model.weight]


def test_patience_stops_a_run_that_no_longer_improves(tmp_path):
    made, _, _ = job(tmp_path, max_steps=1000, validate_every=2, patience=3, batch_tokens=100)
    scores = iter([1.0, 5.0, 4.0, 3.0, 5.0])
    made = type(made)(**{**vars(made), "validate": lambda model: ValidationResult(next(scores))})
    progress = train(made, SilentReport())
    assert (progress.step, progress.best, progress.best_step) == (10, 5.0, 4)
    assert train(made, SilentReport()) == progress


def test_progress_of_an_earlier_version_is_read():
    progress = TrainingProgress(step=7, best=2.5, best_step=4, checkpoints=((2.5, 4), (2.0, 6)))
    old = progress.to_json()
    old["kept"] = [list(pair) for pair in old.pop("checkpoints")]
    assert TrainingProgress.from_json(old) == progress
    assert TrainingProgress.from_json(progress.to_json()) == progress


def test_no_batches_are_prepared_beyond_the_end_of_a_run(tmp_path, monkeypatch):
    """Nothing else would end a thread that makes them, while an error holds on to where it was."""
    ended = []

    def watched(job, progress):
        try:
            yield from training_batches(job, progress)
        finally:
            ended.append(True)

    monkeypatch.setattr(loop, "training_batches", watched)
    made, _, _ = job(tmp_path, max_steps=3)

    def stop():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory") as caught:
        train(made, SilentReport(), stop)
    assert ended == [True]
    assert caught.tb is not None


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("has_it", [True, False])
def test_a_cpu_computes_in_bfloat16_if_it_supports_it(tmp_path, monkeypatch, has_it, name):
    found = {"avx512_bf16": has_it}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    made, _, _ = job(tmp_path, name, dropout=0.0)
    batch = next(training_batches(made, TrainingProgress()))[2]
    losses, gradients = [], []
    for precision in ("float32", "tf32", "bfloat16"):
        made.model.zero_grad()
        losses.append(batch_loss(made.model, replace(made.config, precision=precision), batch))
        losses[-1].backward()
        gradients.append(torch.cat([p.grad.flatten() for p in made.model.parameters()]))
    assert torch.equal(gradients[0], gradients[1])
    assert torch.equal(gradients[0], gradients[2]) is not has_it
    assert losses[2].item() == pytest.approx(losses[0].item(), rel=1e-2)
    assert torch.dist(*gradients[::2]) < 0.03 * gradients[0].norm()


def test_checkpoint_averaging_takes_the_mean_of_the_saved_ones(tmp_path):
    made, _, _ = job(
        tmp_path,
        max_steps=6,
        validate_every=2,
        average_checkpoints=3,
        average_checkpoints_from="last",
    )
    seen = []

    def score(model):
        seen.append({n: p.detach().clone() for n, p in model.named_parameters()})
        return 0.0

    made = type(made)(**{**vars(made), "validate": lambda model: ValidationResult(score(model))})
    model = load_final_weights(made, train(made, SilentReport()))
    for name, parameter in model.named_parameters():
        mean = sum(weights[name].double() for weights in seen) / 3
        assert torch.equal(parameter, mean.float())


@pytest.mark.parametrize(
    ("after", "higher_is_better", "averaged"),
    [(3.0, True, True), (2.9, True, False), (0.9, False, True), (1.1, False, False)],
)
def test_an_average_that_is_worse_than_the_best_is_not_used(
    tmp_path, after, higher_is_better, averaged
):
    made, _, _ = job(tmp_path, max_steps=6, validate_every=2, average_checkpoints=2)
    scores, seen = iter([1.0, 2.0, 3.0, after]), []

    def score(model):
        seen.append({n: p.detach().clone() for n, p in model.named_parameters()})
        return ValidationResult(next(scores))

    kept = {"validate": score, "higher_is_better": higher_is_better}
    made = type(made)(**{**vars(made), **kept})
    model = load_final_weights(made, train(made, SilentReport()))
    wanted = seen[3] if averaged else seen[2 if higher_is_better else 0]
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, wanted[name])


def digest(folder):
    return hashlib.sha256((folder / "model.regard").read_bytes()).hexdigest()


def started(folder):
    command = [sys.executable, str(TESTS / "training_job.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'src'}:{TESTS}"}
    return subprocess.Popen(command, env=environment)


def killed_runs(folder, kills, seed):
    """Kill a run at random moments until it has been killed so often, then let it end."""
    rng, done = random.Random(seed), 0
    while True:
        log = folder / "log.jsonl"
        before = log.stat().st_mtime_ns if log.exists() else 0
        process = started(folder)
        if done < kills:
            # once the run is under way, at a moment of its own: also in the middle of a save
            while process.poll() is None and (not log.exists() or log.stat().st_mtime_ns == before):
                time.sleep(0.005)
            time.sleep(rng.uniform(0.0, 1.5))
            process.send_signal(signal.SIGKILL)
            done += 1
        if process.wait() == 0:
            return done
        assert process.returncode == -signal.SIGKILL


# the command is killed in every run of the tests: tests/invariant/test_resume_by_command.py
@pytest.mark.slow
def test_a_killed_run_ends_in_the_same_bytes(tmp_path):
    run(tmp_path / "whole", **RESUMED)
    killed_runs(tmp_path / "killed", kills=3, seed=int(os.environ["REGARD_SEED"]))
    assert digest(tmp_path / "killed") == digest(tmp_path / "whole")
    logs = [(tmp_path / name / "log.jsonl").read_text() for name in ("whole", "killed")]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_interrupted_run_saves_and_resumes(tmp_path, monkeypatch, precision):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    options = {**RESUMED, "precision": precision}
    run(tmp_path / "whole", **options)
    made, _, _ = job(tmp_path / "stopped", **options)
    asked = iter([False] * 12 + [True])
    progress = train(made, SilentReport(), stop=lambda: next(asked))
    assert (progress.step, progress.finished) == (13, False)
    run(tmp_path / "stopped", **options)
    assert digest(tmp_path / "stopped") == digest(tmp_path / "whole")


@pytest.mark.parametrize(
    ("steps", "what"),
    [(2, "the loss of update 2 is nan"), (1, "a weight after update 1 is not finite")],
)
def test_a_diverging_run_names_the_settings_that_help(tmp_path, monkeypatch, steps, what):
    made, _, _ = job(tmp_path, **{**RESUMED, "max_steps": steps})
    step = torch.optim.Adam.step

    def too_far(self):
        step(self)
        with torch.no_grad():
            made.model.readout.weight.fill_(torch.nan)

    monkeypatch.setattr(torch.optim.Adam, "step", too_far)
    with pytest.raises(InputError) as refused:
        train(made, SilentReport())
    sentence = f"{what}; it must be finite. Use a smaller train.learning_rate."
    assert str(refused.value) == sentence


def test_rdrop_alpha_reaches_the_loss(tmp_path):
    made, _, _ = job(tmp_path, dropout=0.4)
    made.model.train()
    batch = next(training_batches(made, TrainingProgress()))[2]
    losses = []
    for rdrop_alpha in (1e-9, 5.0):
        torch.manual_seed(0)
        losses.append(batch_loss(made.model, replace(made.config, rdrop_alpha=rdrop_alpha), batch))
    assert losses[1] > losses[0] + 1
