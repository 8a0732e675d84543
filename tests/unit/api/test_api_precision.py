"""The numbers that products are computed in, where nobody says which."""

import pytest
import torch
from api_cases import digits, look

from regard.api.automatic import choose


@pytest.mark.parametrize("has_it", [True, False])
@pytest.mark.parametrize(
    ("pairs", "said", "worth"),
    [
        (500, {}, False),
        (800, {}, True),
        (800, {"model": {"hidden_size": 191}}, False),
        (800, {"model": {"preset": "vaswani2017"}}, False),
        (800, {"model": {"preset": "vaswani2017", "model_size": 192}}, True),
        (800, {"train": {"precision": "tf32"}}, False),
    ],
)
def test_a_cpu_that_has_bfloat16_takes_it_where_models_are_wide(
    monkeypatch, has_it, pairs, said, worth
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has_it})
    choice = choose(look(digits(pairs)), said)
    usual = said.get("train", {}).get("precision", "float32")
    rough = has_it and worth
    assert choice.settings.train.precision == ("bfloat16" if rough else usual)
    reasons = {one.name: one.reason for one in choice.reasons}
    reason = "this CPU multiplies it itself, in about half the time"
    assert reasons.get("train.precision") == (reason if rough else None)
