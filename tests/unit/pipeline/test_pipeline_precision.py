"""The numbers that products are computed in, where nobody says which."""

import pytest
import torch
from pipeline_cases import digits, profile, quick

from regard.errors import ConfigError
from regard.pipeline.auto_configuration import auto_configure
from regard.pipeline.resume_checks import environment
from regard.training.run_folder import RunFolder


def has(monkeypatch, *names):
    """Let the CPU have some instructions."""
    found = dict.fromkeys(names, True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)


@pytest.mark.parametrize("has_it", [True, False])
@pytest.mark.parametrize(
    ("pairs", "said", "worth"),
    [
        (800, {}, False),
        (1200, {}, True),
        (1200, {"model": {"hidden_size": 255}}, False),
        (800, {"model": {"preset": "vaswani2017"}}, False),
        (800, {"model": {"preset": "vaswani2017", "model_size": 256}}, True),
        (1200, {"train": {"precision": "tf32"}}, False),
        (800, {"model": {"preset": "luong2015", "hidden_size": 256}}, False),
    ],
)
def test_a_cpu_with_bfloat16_uses_it_for_wide_models(monkeypatch, has_it, pairs, said, worth):
    has(monkeypatch, *["avx512_bf16"] * has_it)
    choice = auto_configure(profile(digits(pairs)), said)
    usual = said.get("train", {}).get("precision", "float32")
    rough = has_it and worth
    assert choice.settings.train.precision == ("bfloat16" if rough else usual)
    reasons = {one.name: one.reason for one in choice.reasons}
    reason = "this CPU has instructions for it, about twice as fast"
    assert reasons.get("train.precision") == (reason if rough else None)


def test_the_last_bit_of_bfloat16_depends_on_the_instructions_of_the_cpu(monkeypatch):
    cpu, gpu = torch.device("cpu"), torch.device("meta")
    usual = torch.backends.cpu.get_cpu_capability()
    has(monkeypatch, "avx512_bf16", "amx_bf16")
    assert environment(cpu, "bfloat16")["instructions"] == f"{usual} avx512_bf16 amx_bf16"
    assert environment(cpu, "float32")["instructions"] == usual
    assert environment(gpu, "bfloat16")["instructions"] == usual


def test_a_resumed_run_keeps_its_precision(monkeypatch, tmp_path):
    """Nobody said which: the first CPU chose bfloat16, and the second would not."""
    out = tmp_path / "m.regard"
    wide = {"out": out, "hidden_size": 256}
    has(monkeypatch, "avx512_bf16")
    quick(**wide)
    out.unlink()
    has(monkeypatch)
    with pytest.raises(ConfigError) as refused:
        quick(**wide, resume=True)
    (problem,) = refused.value.problems
    assert problem.startswith("instructions: ")
    quick(**wide, resume=True, allow_inexact=True)
    settings = RunFolder(tmp_path / "m.run").recipe()["settings"]
    assert settings["train"]["precision"] == "bfloat16"
    with pytest.raises(ConfigError, match=r"train\.precision"):
        quick(**wide, resume=True, allow_inexact=True, precision="float32")
