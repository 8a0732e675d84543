"""The self-attention that is shown is the one that a search uses, which never returns it.

Each way of computing it is watched during the search. The encoder's fused product is given the unit
matrix as values: its context is then its weights.
"""

import numpy as np
import pytest
import torch

from regard.decoders.transformer import TransformerDecoderBlock
from regard.inference import fused_transformer
from regard.nn import attention
from regard.translator import Translator
from small_models import saved

LINE, CLOSE = "abcdefg", {"rtol": 0, "atol": 1e-5}


@pytest.fixture
def translator():
    return Translator(saved("vaswani2017", max_length=12))


def watch_encoder(monkeypatch):
    """Collect the first line's weights of each call of the fused product."""
    fused, watched = attention.kernels.scaled_dot_attention, []

    def scaled_dot_attention(query, keys, values, **options):
        unit = torch.eye(keys.shape[-2]).expand(*keys.shape[:-1], -1)
        watched.append(fused(query, keys, unit, **options)[0].numpy())
        return fused(query, keys, values, **options)

    monkeypatch.setattr(attention.kernels, "scaled_dot_attention", scaled_dot_attention)
    return watched


def watch_decoder(monkeypatch):
    """Collect the first line's weights of each block's step."""
    step, watched = fused_transformer._FusedBlock.attend_to_tokens, []

    def attend_to_tokens(block, x, query, keys, values):
        B, T, D = keys.shape
        q, k = (part.reshape(B, -1, block.heads, D // block.heads) for part in (query, keys))
        weights = torch.einsum("bthk,bshk->bhts", q, k).softmax(dim=-1)[0, :, 0]
        watched.append(torch.nn.functional.pad(weights, (0, 12 + 1 - T)).numpy())
        return step(block, x, query, keys, values)

    monkeypatch.setattr(fused_transformer._FusedBlock, "attend_to_tokens", attend_to_tokens)
    return watched


@pytest.mark.parametrize("pin", [{}, {0: 3, 2: 1}])
def test_it_is_what_a_greedy_search_computed(translator, monkeypatch, pin):
    with monkeypatch.context() as patch:
        encoder, decoder = watch_encoder(patch), watch_decoder(patch)
        plain = translator.translate(LINE, beam_size=1, pin=pin)
    T, S = len(plain.token_scores), len(LINE)
    shown = translator.self_attention(plain)
    # 3 layers of 2 heads; the search pads the source to 8
    assert len(encoder) == 3
    assert len(decoder) == 3 * T
    used = np.stack(encoder)[:, :, :S, :S].transpose(2, 0, 1, 3)
    np.testing.assert_allclose(shown.encoder, used, **CLOSE)
    steps = np.stack(decoder).reshape(T, 3, 2, -1)[..., :T]
    np.testing.assert_allclose(shown.decoder, steps, **CLOSE)
    # not the same everywhere, or the comparison would say little
    assert shown.decoder[-1].std() > 0.01


def test_a_pin_changes_it(translator):
    free, pinned = (
        translator.rescore([translator.translate(LINE)], self_attention=True)[0],
        translator.translate(LINE, pin={0: 3}, self_attention=True),
    )
    unforced = translator.rescore([pinned], self_attention=True)[0]
    assert np.abs(unforced.decoder_self_attention - pinned.decoder_self_attention).max() > 1e-3
    np.testing.assert_array_equal(free.encoder_self_attention, pinned.encoder_self_attention)


def test_rows_are_distributions_over_what_was_fed(translator):
    shown = translator.translate(LINE, self_attention=True)
    for weights in (shown.encoder_self_attention, shown.decoder_self_attention):
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    later = np.triu(np.ones((len(shown.token_scores),) * 2, dtype=bool), k=1)
    assert not shown.decoder_self_attention.transpose(1, 2, 0, 3)[..., later].any()


def test_asking_leaves_the_model_as_it_was(translator):
    before = translator.translate(LINE)
    translator.translate(LINE, self_attention=True)
    model = translator.models[0]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    blocks = [part for part in model.modules() if isinstance(part, TransformerDecoderBlock)]
    assert len(blocks) == 3
    after = translator.translate(LINE)
    assert after.token_scores == before.token_scores
    assert before.encoder_self_attention is None


def test_a_blank_line_and_a_recurrent_model_have_none(translator):
    blank, line = translator.translate([" ", "ab"], self_attention=True)
    assert blank.encoder_self_attention is blank.decoder_self_attention is None
    assert line.encoder_self_attention.shape == (2, 3, 2, 2)
    recurrent = Translator(saved("luong2015"))
    assert recurrent.self_attention(recurrent.translate("ab")) == (None, None)
    assert recurrent.self_attention_shapes == (None, None)
