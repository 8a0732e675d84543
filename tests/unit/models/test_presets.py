"""A paper's name means its equations: each preset, whole, against its oracle."""

import pytest
import torch

import presets as small
from letters import array, assert_within
from oracle import luong2015 as luong_oracle
from regard.config.model import (
    AttentionConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.errors import ConfigError
from regard.models import PRESETS, build, paper_sizes, preset
from regard.nn.dropout import Dropout
from regard.special_tokens import BOS

# what is built, and what its oracle must be told
VARIANTS = {
    "cho2014": ("cho2014", {}, {}),
    "sutskever2014": ("sutskever2014", {}, {}),
    "bahdanau2015": ("bahdanau2015", {}, {}),
    "luong2015": ("luong2015", {}, {}),
    "gehring2017": ("gehring2017", {}, {}),
    "gehring2017, wide kernels": ("gehring2017", {"kernel_size": 5}, {}),
    "gehring2017, kernels of one": ("gehring2017", {"kernel_size": 1}, {}),
    "gehring2017, channels of another width": ("gehring2017", {"hidden_size": 11}, {}),
    "vaswani2017": ("vaswani2017", {}, {}),
    "vaswani2017, pre-norm": ("vaswani2017", {"pre_norm": True}, {"pre_norm": True}),
    **{
        f"luong2015, {score}, {window}{', fed' if fed else ''}": (
            "luong2015",
            {"score": score, "window": window, "half_width": 2, "input_feeding": fed},
            {"score": score, "window": window, "input_feeding": fed},
        )
        for score in ("dot", "bilinear", "concat", "location")
        for window in ("global", "local_m", "local_p")
        for fed in (False, True)
    },
}


def check_against_the_oracle(variant, seed):
    """Compare every number of a batch; return how many there were."""
    name, options, told = VARIANTS[variant]
    model = small.model(name, seed, **options)
    sources, targets, given = small.batch(model, seed)
    scored = model(*given, need_weights=True)
    log_probs = scored.logits.log_softmax(dim=-1)
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected, weights = small.by_oracle(name, model, source, target, **told)
        T, S = len(target), len(source)
        assert_within(log_probs[b, :T], expected, 1e-9)
        if weights is None:
            assert scored.weights is None
        else:
            assert_within(scored.weights[b, :T, :, :, :S], weights, 1e-9)
            assert not scored.weights[b, :T, :, :, S:].any()
    return log_probs.numel()


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_probability_and_every_weight_is_the_papers(variant):
    check_against_the_oracle(variant, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_it_is_the_papers_for_many_weights_and_lines(name, record_property):
    variants = [variant for variant in VARIANTS if VARIANTS[variant][0] == name]
    numbers = sum(check_against_the_oracle(v, seed) for v in variants for seed in range(1, 101))
    record_property("models", 100 * len(variants))
    record_property("log-probabilities", numbers)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_single_gradient_agrees_with_finite_differences(name, record_property):
    model = small.model(name, seed=7)
    _, _, (source, mask, fed) = small.batch(model, lengths=((3, 2), (1, 3)))
    parameters = list(model.parameters())

    def log_probs(*_):
        return model(source, mask, fed).logits.log_softmax(dim=-1)

    assert torch.autograd.gradcheck(log_probs, parameters)
    record_property("parameters", sum(parameter.numel() for parameter in parameters))


def test_the_deep_form_of_bahdanau_queries_with_its_top_layer():
    torch.manual_seed(0)
    config = PRESETS["bahdanau2015"](**small.SIZES["bahdanau2015"], num_layers=3)
    # the oracle's encoder has one layer; only the decoder is deep
    encoder = RecurrentEncoderConfig(hidden_size=small.D, bidirectional=True)
    config = ModelConfig(
        source=config.source,
        target=config.target,
        encoder=encoder,
        summary="backward",
        decoder=config.decoder,
        readout=config.readout,
    )
    model = build(config, small.V_X, small.V_Y).double()
    sources, targets, given = small.batch(model)
    scored = model(*given, need_weights=True)
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected, weights = small.by_oracle("bahdanau2015", model, source, target, deep=True)
        T, S = len(target), len(source)
        assert_within(scored.logits[b, :T].log_softmax(dim=-1), expected, 1e-9)
        assert_within(scored.weights[b, :T, :, :, :S], weights, 1e-9)


def test_the_plain_tutorial_form_is_luongs_decoder_with_a_linear_readout():
    torch.manual_seed(0)
    words = EmbeddingConfig(size=small.E)
    part = {"cell": "lstm", "hidden_size": small.D, "num_layers": 2}
    model = build(
        ModelConfig(
            source=words,
            target=words,
            encoder=RecurrentEncoderConfig(**part),
            decoder=LuongDecoderConfig(
                initial_state="copy",
                attention=AttentionConfig(score="bilinear"),
                attentional=False,
                input_feeding=False,
                **part,
            ),
            readout=ReadoutConfig(inputs=("new_state", "context")),
        ),
        small.V_X,
        small.V_Y,
    ).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    sources, targets, given = small.batch(model)
    scored = model(*given, need_weights=True)
    p = {
        **small.embeddings(model),
        "encoder": [small.letters.lstm(cell) for cell in model.encoder.stack.layers],
        "decoder": [small.letters.lstm(cell) for cell in model.decoder.stack.layers],
        "W_a": array(model.decoder.attention.score.W.weight),
        "W_s": array(model.readout.weight),
        "b_s": array(model.readout.bias),
    }
    for b, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected, weights = luong_oracle.plain(source, target, p, bos=BOS, score="bilinear")
        T, S = len(target), len(source)
        assert_within(scored.logits[b, :T].log_softmax(dim=-1), expected, 1e-9)
        assert_within(scored.weights[b, :T, 0, 0, :S], weights, 1e-9)


@pytest.mark.parametrize("name", PRESETS)
def test_gradients_of_the_whole_agree_with_finite_differences(name):
    model = small.model(name)
    _, _, (source, mask, fed) = small.batch(model, lengths=((3, 2), (1, 3)))
    parameters = list(model.parameters())

    def log_probs(*_):
        return model(source, mask, fed).logits.log_softmax(dim=-1)

    assert torch.autograd.gradcheck(log_probs, parameters, fast_mode=True)


@pytest.mark.parametrize("name", PRESETS)
def test_a_line_does_not_depend_on_its_neighbours_or_on_padding(name):
    model = small.model(name)
    _, targets, (source, mask, fed) = small.batch(model)
    together = model(source, mask, fed, need_weights=True)
    _, _, (wide, wide_mask, _) = small.batch(model, padding=4)
    wide = torch.where(wide_mask, wide, 5)
    padded = model(wide, wide_mask, fed, need_weights=True)
    assert (padded.logits - together.logits).abs().max() <= 1e-12
    if padded.weights is not None:
        S = mask.shape[1]
        assert (padded.weights[..., :S] - together.weights).abs().max() <= 1e-12
        assert not padded.weights[..., S:].any()
    for b, target in enumerate(targets):
        S, T = int(mask[b].sum()), len(target)
        alone = model(
            source[b : b + 1, :S], mask[b : b + 1, :S], fed[b : b + 1, :T], need_weights=True
        )
        assert (alone.logits[0] - together.logits[b, :T]).abs().max() <= 1e-12
        if alone.weights is not None:
            assert (alone.weights[0] - together.weights[b, :T, ..., :S]).abs().max() <= 1e-12


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_every_preset_runs_in_other_types(name, dtype):
    model = small.model(name, dtype=dtype)
    _, _, given = small.batch(model)
    scored = model(*given)
    assert scored.logits.dtype == dtype
    assert scored.logits.isfinite().all()


@pytest.mark.parametrize("name", PRESETS)
def test_an_empty_source_is_accepted(name):
    model = small.model(name)
    _, _, (source, mask, fed) = small.batch(model)
    mask = mask.clone()
    mask[0] = False
    scored = model(source, mask, fed, need_weights=True)
    assert scored.logits.isfinite().all()
    if scored.weights is not None:
        assert not scored.weights[0].any()
    scored.logits.sum().backward()
    for parameter in model.parameters():
        assert parameter.grad.isfinite().all()


@pytest.mark.parametrize("name", ["cho2014", "sutskever2014", "bahdanau2015", "luong2015"])
@pytest.mark.parametrize("cell", ["elman", "gru_before", "gru_after", "lstm"])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_recurrent_preset_takes_any_cell_depth_and_direction(
    name, cell, num_layers, bidirectional
):
    options = {"cell": cell, "num_layers": num_layers, "bidirectional": bidirectional}
    model = small.model(name, **options)
    _, _, given = small.batch(model)
    model(*given).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_an_unknown_preset_is_refused_by_name():
    sentence = (
        "model: preset is bahdanau2014; it must be one of cho2014, sutskever2014, bahdanau2015, "
        "luong2015, gehring2017, vaswani2017. Did you mean bahdanau2015?"
    )
    for function in (preset, paper_sizes):
        with pytest.raises(ConfigError) as refusal:
            function("bahdanau2014")
        assert str(refusal.value) == sentence


def test_vaswanis_three_matrices_are_one():
    model = small.model("vaswani2017")
    assert model.source_embedding.weight is model.target_embedding.weight
    assert model.readout.weight is model.target_embedding.weight
    names = [name for name, _ in model.named_parameters()]
    assert sum("embedding" in name or "readout" in name for name in names) == 1


def test_chos_first_word_is_the_zero_vector_and_elsewhere_it_is_learned():
    for name, expected in (("cho2014", False), ("bahdanau2015", True)):
        model = small.model(name)
        start = model.target_embedding(torch.tensor([[BOS, 5]]))
        assert bool(start[0, 0].any()) == expected
        assert start[0, 1].any()


@pytest.mark.parametrize("name", PRESETS)
def test_every_configured_dropout_acts_in_training_alone(name):
    model = small.model(name, dropout=0.5, **({"num_layers": 2} if "20" in name else {}))
    _, _, given = small.batch(model)
    sites = {n: m for n, m in model.named_modules() if isinstance(m, Dropout) and m.p}
    assert sites.keys() >= {"source_embedding.dropout", "target_embedding.dropout"}
    for silent in sites.values():
        silent.p = 0.0
    quiet = model.train()(*given).logits
    assert torch.equal(quiet, model.eval()(*given).logits)
    model.train()
    for site, dropout in sites.items():
        dropout.p = 0.5
        torch.manual_seed(0)
        assert not torch.equal(model(*given).logits, quiet), site
        dropout.p = 0.0


def test_dropout_layers_are_at_their_places():
    """By name, for each preset: what a dropout of 0.5 reaches."""
    expected = {
        "cho2014": {"readout"},
        "sutskever2014": {"encoder.stack", "decoder.stack", "readout"},
        "bahdanau2015": {"encoder.stack", "decoder.stack", "readout"},
        "luong2015": {"encoder.stack", "decoder.stack", "readout"},
        "gehring2017": {"encoder.blocks.0", "decoder.blocks.0", "readout"},
        "vaswani2017": {
            "encoder.blocks.0.self_attention.attention",
            "encoder.blocks.0.self_attention_residual",
            "encoder.blocks.0.feed_forward",
            "encoder.blocks.0.feed_forward_residual",
            "decoder.blocks.0.self_attention.attention",
            "decoder.blocks.0.self_attention_residual",
            "decoder.blocks.0.cross_attention.attention",
            "decoder.blocks.0.cross_attention_residual",
            "decoder.blocks.0.feed_forward",
            "decoder.blocks.0.feed_forward_residual",
        },
    }
    for name, sites in expected.items():
        options = {} if name in ("cho2014", "bahdanau2015") else {"num_layers": 1}
        model = small.model(name, dropout=0.5, **options)
        found = {
            site.removesuffix(".dropout")
            for site, module in model.named_modules()
            if isinstance(module, Dropout) and module.p == 0.5
        }
        if name == "cho2014":
            found -= {"encoder.stack"}
        assert found - {"source_embedding", "target_embedding"} == sites, name


def test_distinct_sizes():
    values = [small.V_X, small.V_Y, small.E, small.D, small.A, small.R]
    assert len(set(values)) == len(values)
    assert all(n > 1 and all(n % d for d in range(2, n)) for n in values)
