"""What a setting asks for is built; decoders that no preset has agree with their oracles."""

from dataclasses import replace

import pytest
import torch

import letters
import presets as small
from letters import array, assert_within
from oracle import cells, plain
from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.errors import ConfigError, InputError
from regard.models import PRESETS, build
from regard.nn import positions, readouts, scores
from regard.nn.cells import ElmanCell, GRUCell, HiddenState, LSTMCell
from regard.special_tokens import BOS

E, D = small.E, small.D
WORDS = EmbeddingConfig(size=E)
PART = {"hidden_size": D, "num_layers": 2}


def recurrent(decoder, **encoder):
    return ModelConfig(
        source=WORDS,
        target=WORDS,
        encoder=RecurrentEncoderConfig(**{**PART, **encoder}),
        summary="last" if decoder.initial_state == "tanh" else "none",
        decoder=decoder,
        readout=ReadoutConfig(),
    )


def made(config):
    torch.manual_seed(0)
    model = build(config, small.V_X, small.V_Y).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.mark.parametrize(
    ("cell", "kind", "reset_after"),
    [
        ("elman", ElmanCell, None),
        ("gru_before", GRUCell, False),
        ("gru_after", GRUCell, True),
        ("lstm", LSTMCell, None),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_the_cell_is_the_configured_one(cell, kind, reset_after, bias):
    decoder = PlainDecoderConfig(cell=cell, bias=bias, residual=True, **PART)
    model = made(recurrent(decoder, cell=cell, bias=bias, residual=True))
    for stack in (model.encoder.stack, model.decoder.stack):
        assert stack.residual
        for layer in stack.layers:
            assert isinstance(layer, kind)
            assert getattr(layer, "reset_after", None) == reset_after
            assert (layer.W.bias is not None) == bias


SCORES = {
    "additive": scores.AdditiveScore,
    "concat": scores.ConcatScore,
    "dot": scores.DotScore,
    "scaled_dot": scores.ScaledDotScore,
    "bilinear": scores.BilinearScore,
    "gaussian": scores.GaussianScore,
    "gaussian_learned": scores.GaussianScore,
    "location": scores.LocationScore,
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("decoder", [BahdanauDecoderConfig, LuongDecoderConfig])
def test_the_attention_is_the_configured_one(score, decoder):
    config = AttentionConfig(
        score=score, align_size=11, max_length=13, window="local_p", half_width=3, dropout=0.5
    )
    model = made(recurrent(decoder(attention=config, **PART)))
    looks = model.decoder.attention
    assert type(looks.score) is SCORES[score]
    assert looks.dropout.p == 0.5
    assert looks.window.half_width == 3
    assert looks.window.W_p is not None
    if score.startswith("gaussian"):
        assert (len(list(looks.score.parameters())) == 1) == (score == "gaussian_learned")
    if score in ("additive", "concat"):
        assert looks.score.v.shape == (11,)
    assert model.max_source_length == (13 if score == "location" else None)
    assert model.decoder.attention_shape == (1, 1)


@pytest.mark.parametrize("kind", ["none", "rotary", "relative"])
def test_positions_inside_attention_are_the_configured_ones_in_self_attention_only(kind):
    config = PRESETS["vaswani2017"](**{**small.SIZES["vaswani2017"], "model_size": 12})
    config = replace(
        config,
        encoder=replace(config.encoder, attention_positions=kind, max_distance=3),
        decoder=replace(config.decoder, attention_positions=kind, max_distance=3),
    )
    torch.manual_seed(0)
    model = build(config, small.V_Y, small.V_Y)
    own = [block.self_attention for block in model.encoder.blocks]
    own += [block.self_attention for block in model.decoder.blocks]
    for heads in own:
        assert (heads.rotary is not None) == (kind == "rotary")
        assert (heads.attention.relative is not None) == (kind == "relative")
        if kind == "relative":
            assert heads.attention.relative.max_distance == 3
    for block in model.decoder.blocks:
        assert block.cross_attention.rotary is None
        assert block.cross_attention.attention.relative is None
    assert model.decoder.attention_shape == (3, 2)


def test_embeddings_and_readouts_are_the_configured_ones():
    learned = replace(WORDS, positions="learned", max_length=17, scaled=True)
    decoder = PlainDecoderConfig(**PART)
    config = replace(
        recurrent(decoder),
        source=learned,
        readout=ReadoutConfig(kind="tanh", inputs=["new_state", "previous"], size=11, bias=False),
    )
    model = made(config)
    assert isinstance(model.source_embedding.positions, positions.LearnedPositions)
    assert model.source_embedding.scale == E**0.5
    assert model.target_embedding.positions is None
    assert model.target_embedding.scale == 1.0
    assert isinstance(model.readout.layer, readouts.TanhLayer)
    assert model.readout.layer.W.in_features == D + E
    assert model.readout.layer.W.bias is None
    assert (model.max_source_length, model.max_target_length) == (17, None)
    assert model.decoder.attention_shape is None


@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize(
    ("cell", "step", "letters_of"),
    [
        ("elman", cells.elman, letters.elman),
        ("gru_before", cells.gru_before, letters.gru),
        ("gru_after", cells.gru_after, letters.gru),
    ],
)
def test_a_fixed_context_decodes_by_its_equation(every_step, cell, step, letters_of):
    decoder = PlainDecoderConfig(hidden_size=D, cell=cell, context_every_step=every_step)
    model = made(recurrent(decoder, cell=cell, num_layers=1))
    sources, targets, given = small.batch(model)
    log_probs = model(*given).logits.log_softmax(dim=-1)
    p = {
        **small.embeddings(model),
        "encoder": letters_of(model.encoder.stack.layers[0]),
        "decoder": letters_of(model.decoder.stack.layers[0]),
        "W_s": array(model.decoder.initial_state.W_s[0].weight),
        "W_o": array(model.readout.weight),
        "b_o": array(model.readout.bias),
    }
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected = plain.forward(source, target, p, bos=BOS, cell=step, every_step=every_step)
        assert_within(log_probs[b, : len(target)], expected, 1e-9)


def test_coverage_in_bahdanaus_decoder_is_its_equation():
    config = PRESETS["bahdanau2015"](**small.SIZES["bahdanau2015"])
    covered = AttentionConfig(align_size=small.A, coverage=True)
    model = made(replace(config, decoder=replace(config.decoder, attention=covered)))
    sources, targets, given = small.batch(model)
    scored = model(*given, need_weights=True)
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected, weights = small.by_oracle("bahdanau2015", model, source, target)
        T, S = len(target), len(source)
        assert_within(scored.logits[b, :T].log_softmax(dim=-1), expected, 1e-9)
        assert_within(scored.weights[b, :T, :, :, :S], weights, 1e-9)


def test_a_batch_of_nothing_but_empty_sources_still_decodes():
    for name in PRESETS:
        model = small.model(name)
        source, mask = torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, 0, dtype=torch.bool)
        fed = torch.tensor([[BOS, 5], [BOS, 7]])
        scored = model(source, mask, fed)
        hidden = torch.zeros(2, 3, dtype=torch.bool)
        same = model(torch.full((2, 3), 9), hidden, fed)
        assert_within(scored.logits, array(same.logits), 1e-12)


def test_an_empty_target_is_refused():
    model = small.model("bahdanau2015")
    _, _, (source, mask, fed) = small.batch(model)
    with pytest.raises(
        InputError, match=r"no tokens to feed, but the decoder needs .*one\. Begin with BOS\."
    ):
        model(source, mask, fed[:, :0])


def test_stepping_past_the_last_position_is_refused():
    for name in ("gehring2017", "vaswani2017"):
        model = small.model(name, max_length=7)
        assert model.max_target_length == 7
        _, _, (source, mask, fed) = small.batch(model)
        memory, state = model.start(source, mask)
        state, _ = model.unroll(state, fed, memory)
        state, _ = model.step(state, fed[:, 0], memory)
        sentence = r"has 8 tokens, but the model has 7 positions\. Set max_length = 8\."
        with pytest.raises(InputError, match=sentence):
            model.step(state, fed[:, 0], memory)


def test_a_fresh_state_and_a_stepped_one_cannot_be_joined_by_mistake():
    model = small.model("vaswani2017")
    _, _, (source, mask, fed) = small.batch(model)
    memory, fresh = model.start(source, mask)
    stepped, _ = model.step(fresh, fed[:, 0], memory)
    for parts in ([fresh, stepped], [stepped, fresh]):
        with pytest.raises((RuntimeError, ValueError)):
            type(fresh).join(parts)
    with pytest.raises(ValueError, match="only if all or none of them hold a field"):
        HiddenState.join(
            [HiddenState(source[:, :2].double()), HiddenState(*[source[:, :2].double()] * 2)]
        )


@pytest.mark.parametrize("name", PRESETS)
def test_a_mask_with_holes_or_padding_on_the_left_is_refused(name):
    model = small.model(name)
    source = torch.full((1, 4), 5)
    sentence = "source_mask hides a position before a visible one, but padding must be on the right"
    for visible in ([False, True, True, True], [True, False, True, True]):
        with pytest.raises(InputError, match=sentence):
            model.start(source, torch.tensor([visible]))


def test_forced_weights_of_another_shape_are_refused():
    model = small.model("vaswani2017")
    _, _, (source, mask, fed) = small.batch(model)
    memory, state = model.start(source, mask)
    sentence = r"shape \[3, 1, 1, 7\]; it must be \[3, 3, 2, S\] for 3 layers and 2 heads\."
    with pytest.raises(InputError, match=sentence):
        model.step(state, fed[:, 0], memory, forced_weights=torch.zeros(3, 1, 1, 7))
    with pytest.raises(InputError, match=r"it must be \[3, 6, 3, 2, S\] for"):
        model.unroll(state, fed, memory, forced_weights=torch.zeros(3, 6, 1, 1, 7))


@pytest.mark.parametrize("size", [3, 4])
def test_a_vocabulary_of_special_tokens_alone_is_refused(size):
    config = PRESETS["cho2014"](**small.SIZES["cho2014"])
    sentence = f"target_vocabulary is {size}; it must be a whole number above 4, because the ids of"
    with pytest.raises(ConfigError, match=sentence):
        build(config, small.V_X, size)


def test_a_transformer_need_not_be_tied():
    for tied_embeddings, count in (("all", 1), ("output", 2), ("none", 3)):
        model = build(
            PRESETS["vaswani2017"](**small.SIZES["vaswani2017"], tied_embeddings=tied_embeddings),
            19,
            19,
        )
        tables = [model.source_embedding, model.target_embedding, model.readout]
        assert len({table.weight.data_ptr() for table in tables}) == count
