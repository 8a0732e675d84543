"""start, step, unroll: every decoder keeps one contract."""

import pytest
import torch

import presets as small
from letters import array, assert_close, assert_within
from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from regard.errors import InputError
from regard.models import build
from regard.nn.tensor_record import TensorRecord


def recurrent(decoder, **attention):
    """A model around a decoder that no preset has."""
    inputs = ("old_state", "new_state", "context", "previous")
    torch.manual_seed(0)
    options = {"attention": AttentionConfig(**attention)} if attention else {}
    words = EmbeddingConfig(size=small.E)
    part = {"hidden_size": small.D, "num_layers": 2, "residual": True}
    config = ModelConfig(
        source=words,
        target=words,
        encoder=RecurrentEncoderConfig(bidirectional=True, **part),
        summary="mean",
        decoder=decoder(**part, **options),
        readout=ReadoutConfig(kind="tanh", inputs=inputs, size=small.R),
    )
    return build(config, small.V_X, small.V_Y).double().eval()


def transformer(positions):
    torch.manual_seed(0)
    part = {"model_size": 12, "feed_forward_size": 11, "num_heads": 3, "max_distance": 2}
    part |= {"attention_positions": positions, "num_layers": 2}
    words = EmbeddingConfig(size=12)
    config = ModelConfig(
        source=words,
        target=words,
        encoder=TransformerEncoderConfig(**part),
        decoder=TransformerDecoderConfig(**part),
        readout=ReadoutConfig(inputs=("new_state", "previous")),
    )
    return build(config, small.V_X, small.V_Y).double().eval()


MODELS = {
    **{name: lambda name=name: small.model(name) for name in small.SIZES},
    "luong2015, not fed": lambda: small.model("luong2015", input_feeding=False),
    "luong2015, local-m": lambda: small.model(
        "luong2015", input_feeding=False, window="local_m", half_width=2
    ),
    "luong2015, local-p, fed": lambda: small.model("luong2015", window="local_p", half_width=2),
    "vaswani2017, pre-norm": lambda: small.model("vaswani2017", pre_norm=True),
    "gehring2017, widths apart": lambda: small.model("gehring2017", hidden_size=11),
    "plain": lambda: recurrent(PlainDecoderConfig),
    "plain, context at every step": lambda: recurrent(
        lambda **part: PlainDecoderConfig(context_every_step=True, **part)
    ),
    "bahdanau, covered": lambda: recurrent(BahdanauDecoderConfig, score="additive", coverage=True),
    "luong, covered": lambda: recurrent(LuongDecoderConfig, score="additive", coverage=True),
    "luong, covered, not fed": lambda: recurrent(
        lambda **part: LuongDecoderConfig(input_feeding=False, **part),
        score="additive",
        coverage=True,
    ),
    "transformer, rotary": lambda: transformer("rotary"),
    "transformer, relative": lambda: transformer("relative"),
}
WITHOUT = ("cho2014", "sutskever2014", "plain", "plain, context at every step")
by_model = pytest.mark.parametrize("name", MODELS)
with_attention = pytest.mark.parametrize("name", [name for name in MODELS if name not in WITHOUT])


def tensors(record):
    """All tensors of a state, in order."""
    if isinstance(record, torch.Tensor):
        return [record]
    parts = vars(record).values() if isinstance(record, TensorRecord) else record or ()
    return [tensor for part in parts for tensor in tensors(part)]


def by_steps(model, given, forced_weights=None):
    source, mask, fed = given
    memory, state = model.start(source, mask)
    logits, weights = [], []
    for t in range(fed.shape[1]):
        here = None if forced_weights is None else forced_weights[:, t]
        state, scored = model.step(state, fed[:, t], memory, forced_weights=here)
        logits.append(scored.logits)
        weights.append(scored.weights)
    stacked = None if weights[0] is None else torch.stack(weights, dim=1)
    return torch.stack(logits, dim=1), stacked, state


@by_model
def test_unroll_is_the_loop_of_steps(name):
    model = MODELS[name]()
    _, _, given = small.batch(model)
    memory, state = model.start(*given[:2])
    end, scored = model.unroll(state, given[2], memory)
    logits, weights, stepped = by_steps(model, given)
    assert_within(scored.logits, array(logits), 1e-10)
    assert (scored.weights is None) == (weights is None) == (name in WITHOUT)
    if weights is not None:
        assert_within(scored.weights, array(weights), 1e-10)
    for unrolled, moved in zip(tensors(end), tensors(stepped), strict=True):
        assert_within(unrolled, array(moved), 1e-10)


@by_model
def test_a_line_can_be_unrolled_in_chunks(name):
    model = MODELS[name]()
    _, _, (source, mask, fed) = small.batch(model)
    memory, state = model.start(source, mask)
    whole = model.unroll(state, fed, memory)[1].logits
    pieces = []
    for part in fed.split([2, 1, 3], dim=1):
        state, scored = model.unroll(state, part, memory)
        pieces.append(scored.logits)
    assert_close(torch.cat(pieces, dim=1), array(whole))


@by_model
def test_requesting_weights_changes_nothing_else(name):
    model = MODELS[name]()
    _, _, given = small.batch(model)
    asked, unasked = model(*given, need_weights=True), model(*given, need_weights=False)
    assert_close(unasked.logits, array(asked.logits))
    assert unasked.weights is None
    memory, state = model.start(*given[:2])
    _, step = model.step(state, given[2][:, 0], memory, need_weights=False)
    assert step.weights is None
    assert_close(step.logits, array(asked.logits[:, 0]))


@by_model
def test_a_state_gathers_splits_and_joins_its_rows(name):
    model = MODELS[name]()
    _, _, (source, mask, fed) = small.batch(model)
    memory, state = model.start(source, mask)
    state, _ = model.unroll(state, fed[:, :2], memory)
    after = model.step(state, fed[:, 2], memory)[1].logits

    index = torch.tensor([2, 0, 2, 1])
    picked = model.step(state.gather(index), fed[index, 2], memory.gather(index))[1].logits
    assert_close(picked, array(after[index]))

    states, memories = state.split([1, 2]), memory.split([1, 2])
    parts = [
        model.step(s, words, m)[1].logits
        for s, words, m in zip(states, fed[:, 2].split([1, 2]), memories, strict=True)
    ]
    assert_close(torch.cat(parts), array(after))

    joined = type(state).join(states[::-1])
    for one, other in zip(
        tensors(joined), tensors(state.gather(torch.tensor([1, 2, 0]))), strict=True
    ):
        assert torch.equal(one, other)


@with_attention
def test_weights_can_be_forced_per_layer_and_head(name):
    model = MODELS[name]()
    _, _, given = small.batch(model)
    free = model(*given, need_weights=True)
    B, T, L, H, S = free.weights.shape
    forced_weights = torch.full((B, T, L, H, S), torch.nan, dtype=torch.float64)
    pinned = torch.nn.functional.one_hot(torch.tensor(1), S).double()
    forced_weights[0, 1, -1, -1] = pinned

    memory, state = model.start(*given[:2])
    _, scored = model.unroll(state, given[2], memory, forced_weights=forced_weights)
    assert torch.equal(scored.weights[0, 1, -1, -1], pinned)
    # other lines, and what came before, are as they were
    assert_close(scored.logits[1:], array(free.logits[1:]))
    assert_close(scored.logits[0, 0], array(free.logits[0, 0]))
    assert (scored.logits[0, 1] - free.logits[0, 1]).abs().max() > 1e-6
    # only the pinned head was touched in its layer and step
    untouched = torch.ones(L, H, dtype=torch.bool)
    untouched[-1, -1] = False
    if untouched.any():
        assert_close(scored.weights[0, 1][untouched], array(free.weights[0, 1][untouched]))
    logits, weights, _ = by_steps(model, given, forced_weights)
    assert_close(logits, array(scored.logits))
    assert_close(weights, array(scored.weights))


@with_attention
def test_forcing_the_models_own_weights_changes_nothing(name):
    model = MODELS[name]()
    _, _, given = small.batch(model)
    free = model(*given, need_weights=True)
    memory, state = model.start(*given[:2])
    _, scored = model.unroll(state, given[2], memory, forced_weights=free.weights)
    assert_close(scored.logits, array(free.logits))


@pytest.mark.parametrize("name", WITHOUT)
def test_a_decoder_without_attention_refuses_forced_weights(name):
    model = MODELS[name]()
    _, _, (source, mask, fed) = small.batch(model)
    memory, state = model.start(source, mask)
    forced_weights = torch.zeros(3, 6, 1, 1, 7, dtype=torch.float64)
    sentence = (
        r"Weights are forced, but this decoder has no attention\. Use a decoder with attention"
    )
    with pytest.raises(InputError, match=sentence):
        model.step(state, fed[:, 0], memory, forced_weights=forced_weights[:, 0])
    with pytest.raises(InputError, match=sentence):
        model.unroll(state, fed, memory, forced_weights=forced_weights)


def test_coverage_is_the_sum_of_the_weights_so_far():
    model = MODELS["bahdanau, covered"]()
    _, _, given = small.batch(model)
    memory, state = model.start(*given[:2])
    end, scored = model.unroll(state, given[2], memory)
    assert_close(end.coverage, array(scored.weights.sum(dim=1)[:, 0, 0]))
    # and it matters: without its weight the model says something else
    model.decoder.attention.score.w_c.data.zero_()
    other = model.unroll(state, given[2], memory)[1]
    assert_close(other.logits[:, 0], array(scored.logits[:, 0]))
    assert (other.logits[:, 1] - scored.logits[:, 1]).abs().max() > 1e-6


def test_a_later_word_does_not_change_an_earlier_score():
    for name, make in MODELS.items():
        model = make()
        _, _, (source, mask, fed) = small.batch(model)
        changed = fed.clone()
        changed[:, 3] = (changed[:, 3] + 5) % small.V_Y
        before, after = model(source, mask, fed).logits, model(source, mask, changed).logits
        assert_close(after[:, :3], array(before[:, :3]))
        assert (after[:, 3] - before[:, 3]).abs().max() > 1e-6, name


def test_a_line_longer_than_its_positions_is_refused():
    model = small.model("gehring2017", max_length=5)
    _, _, (source, mask, fed) = small.batch(model)
    sentence = r"has 7 tokens, but the model has 5 positions\. Set max_length = 7\."
    with pytest.raises(InputError, match=sentence):
        model(source, mask, fed)
