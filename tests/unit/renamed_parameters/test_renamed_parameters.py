"""Parameters of earlier versions: read under the names that they have today."""

import pytest

from regard.renamed_parameters import with_new_names


def test_an_old_name_becomes_the_new_one():
    old = {"decoder.first.W_s.0.weight": 1, "decoder.first.W_s.0.weight/exp_avg": 2}
    assert with_new_names(old) == {
        "decoder.initial_state.W_s.0.weight": 1,
        "decoder.initial_state.W_s.0.weight/exp_avg": 2,
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("encoder.blocks.0.attention.W_q.weight", "encoder.blocks.0.self_attention.W_q.weight"),
        (
            "encoder.blocks.0.attention.attention.relative.a_K",
            "encoder.blocks.0.self_attention.attention.relative.a_K",
        ),
        (
            "encoder.blocks.12.around_attention.norm.bias",
            "encoder.blocks.12.self_attention_residual.norm.bias",
        ),
        (
            "encoder.blocks.1.around_feed_forward.norm.bias",
            "encoder.blocks.1.feed_forward_residual.norm.bias",
        ),
        (
            "decoder.blocks.10.words.W_o.weight/exp_avg",
            "decoder.blocks.10.self_attention.W_o.weight/exp_avg",
        ),
        (
            "decoder.blocks.0.around_words.norm.weight",
            "decoder.blocks.0.self_attention_residual.norm.weight",
        ),
        ("decoder.blocks.0.source.W_k.weight", "decoder.blocks.0.cross_attention.W_k.weight"),
        (
            "decoder.blocks.0.around_source.norm.weight",
            "decoder.blocks.0.cross_attention_residual.norm.weight",
        ),
        (
            "decoder.blocks.3.around_feed_forward.norm.weight",
            "decoder.blocks.3.feed_forward_residual.norm.weight",
        ),
    ],
)
def test_an_old_name_inside_a_block_becomes_the_new_one(old, new):
    assert with_new_names({old: 1}) == {new: 1}


def test_other_names_stay():
    names = ["decoder.initial_state.W_s.0.weight", "decoder.firsts", "x.decoder.first.W", ""]
    names += ["encoder.blocks.0.words.W", "decoder.blocks.0.attention.W", "decoder.blocks.words.W"]
    names += ["encoder.blocks.0.self_attention.attention.relative.a_K"]
    names += ["decoder.blocks.0.cross_attention.W_q.weight", "decoder.blocks.0.feed_forward.W_1"]
    assert list(with_new_names(dict.fromkeys(names))) == names
