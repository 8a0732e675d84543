"""Every combination of parts builds and runs, or is refused with its sentence."""

import os
import random
import re
from dataclasses import replace

import pytest
import torch

import presets as small
from combinations_table import combinations
from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    ChoDecoderConfig,
    ConvolutionalDecoderConfig,
    ConvolutionalEncoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    TransformerEncoderConfig,
)
from regard.errors import ConfigError
from regard.models import PRESETS, build

# a convolutional encoder shows its words' width, here the decoder's own: dot builds there
SIZES = {"hidden_size": 5, "embedding_size": 5, "head_size": 3, "num_heads": 2}
TABLE = list(combinations())


def why_not(entry):
    """Say from the entry alone, not from regard's rules, why it cannot be; None if it can."""
    looped = entry.decoder not in ("convolutional", "transformer")
    if looped and entry.first == "copy":
        copied = {
            "encoder has no recurrent states": entry.encoder != "recurrent",
            r"makes two\. Set decoder\.initial_state = tanh": entry.directions == "two",
            "num_layers is 2 and decoder.num_layers is 1": (entry.decoder, entry.num_layers)
            == ("cho", 2),
            "whose states differ in kind": (entry.decoder, entry.cell) == ("cho", "lstm"),
        }
        if any(copied.values()):
            return next(sentence for sentence, wrong in copied.items() if wrong)
    if entry.decoder == "plain" and entry.first == "zero":
        return "the decoder gets nothing of the source"
    if entry.decoder in ("bahdanau", "luong", "luong_fed"):
        width = {"convolutional": 5, "transformer": 6}.get(entry.encoder, 5)
        width *= 2 if entry.directions == "two" else 1
        if entry.score in ("dot", "scaled_dot", "gaussian", "gaussian_learned") and width != 5:
            return "which needs queries and keys of one width"
    return None


def check(entry):
    """Build and run an entry, forward, backward and step by step, or see it refused."""
    config = entry.config(**SIZES)
    expected = why_not(entry)
    if expected is not None:
        with pytest.raises(ConfigError, match=expected) as refusal:
            build(config, small.V_X, small.V_Y)
        assert all(ADVICE.search(problem) for problem in refusal.value.problems)
        return False
    torch.manual_seed(0)
    model = build(config, small.V_X, small.V_Y)
    _, _, (source, mask, fed) = small.batch(model, lengths=((3, 2), (1, 3)))
    scored = model(source, mask, fed, need_weights=True)
    scored.logits.logsumexp(dim=-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    memory, state = model.start(source, mask)
    for t in range(fed.shape[1]):
        state, step = model.step(state, fed[:, t], memory)
        assert (step.logits - scored.logits[:, t]).abs().max() < 1e-4
    attends = entry.decoder not in ("plain", "plain_every_step", "cho")
    assert (scored.weights is not None) == attends
    return True


def run(entries):
    """Check each entry; a failure names the one it was."""
    built = 0
    for entry in entries:
        print(entry)
        built += check(entry)
    return built


def test_a_sample_of_the_table_builds_or_is_refused():
    entries = random.Random(int(os.environ["REGARD_SEED"])).sample(TABLE, 200)
    built = run(entries)
    assert 20 < built < 180


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["recurrent", "convolutional", "transformer"])
def test_the_whole_table_builds_or_is_refused(encoder, record_property):
    entries = [entry for entry in TABLE if entry.encoder == encoder]
    built = run(entries)
    assert built == sum(why_not(entry) is None for entry in entries)
    record_property("combinations", len(entries))
    record_property("build", built)
    record_property("refused", len(entries) - built)


def test_the_table_has_every_axis_and_no_entry_twice():
    assert len(set(TABLE)) == len(TABLE)
    axes = [set(values) for values in zip(*TABLE, strict=True)]
    assert [len(axis) for axis in axes] == [3, 8, 4, 2, 3, 3, 8, 3]


def base(**parts):
    """A combination that builds, to change one part of."""
    return replace(PRESETS["bahdanau2015"](**small.SIZES["bahdanau2015"]), **parts)


EMBEDDING = EmbeddingConfig(size=5)
HEADS = {"model_size": 6, "feed_forward_size": 5, "num_heads": 2}

ADVICE = re.compile(r"\. Set (.+)\.$")

REFUSALS = {
    "decoder.initial_state is tanh, which maps a summary, but summary is none. Set summary = "
    "last.": base(summary="none"),
    "The decoder's context is a summary, but summary is none. Set summary = last.": base(
        summary="none",
        decoder=ChoDecoderConfig(hidden_size=7, initial_state="zero"),
        readout=ReadoutConfig(),
    ),
    "summary is backward, but the decoder does not use a summary. Set summary = none.": base(
        decoder=BahdanauDecoderConfig(hidden_size=7, initial_state="zero")
    ),
    "summary is backward, but the encoder has no backward direction. Set summary = last.": base(
        encoder=RecurrentEncoderConfig(hidden_size=7)
    ),
    "decoder.initial_state is zero, so the decoder gets nothing of the source. Set "
    "decoder.initial_state = tanh and summary = last.": base(
        decoder=PlainDecoderConfig(hidden_size=7, initial_state="zero"),
        summary="none",
        readout=ReadoutConfig(),
    ),
    "decoder.initial_state is copy, but the encoder has no recurrent states. Set "
    "decoder.initial_state = tanh and summary = last.": base(
        encoder=ConvolutionalEncoderConfig(hidden_size=7, num_layers=1),
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy"),
        summary="none",
    ),
    "decoder.initial_state is copy, which takes one state per layer, but encoder.bidirectional "
    "is true, which makes two. Set decoder.initial_state = tanh and summary = last.": base(
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy"), summary="none"
    ),
    "decoder.initial_state is copy, but encoder.cell is gru_before and decoder.cell is lstm, "
    "whose states differ in kind. Set decoder.initial_state = tanh and summary = last.": base(
        encoder=RecurrentEncoderConfig(hidden_size=7),
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy", cell="lstm"),
        summary="none",
    ),
    "decoder.initial_state is copy, but encoder.hidden_size is 7 and decoder.hidden_size is 11; "
    "they must be equal. Set decoder.initial_state = tanh and summary = last.": base(
        encoder=RecurrentEncoderConfig(hidden_size=7),
        decoder=LuongDecoderConfig(hidden_size=11, initial_state="copy"),
        summary="none",
    ),
    "decoder.attention.score is dot, which needs queries and keys of one width, but "
    "decoder.hidden_size is 7 and the encoder's output is 14 wide. Set decoder.attention.score "
    "= bilinear.": base(
        decoder=BahdanauDecoderConfig(hidden_size=7, attention=AttentionConfig(score="dot"))
    ),
    "encoder.model_size is 6, but source.size is 5; in a Transformer they must be equal. Set "
    "source.size = 6.": base(encoder=TransformerEncoderConfig(**HEADS), summary="last"),
    "decoder.model_size is 6, but target.size is 5; in a Transformer they must be equal. Set "
    "target.size = 6.": base(
        decoder=TransformerDecoderConfig(**HEADS), summary="none", readout=ReadoutConfig()
    ),
    "readout.inputs contains old_state, but this decoder has none. Set readout.inputs = "
    "new_state.": base(
        decoder=ConvolutionalDecoderConfig(hidden_size=5, num_layers=1),
        summary="none",
        readout=ReadoutConfig(inputs=("old_state",)),
    ),
    "tied_embeddings is output, which makes the readout an embedding's matrix, but "
    "readout.inputs is ['new_state', 'context']. Set readout.kind = tanh and readout.size = "
    "5.": base(tied_embeddings="output", readout=ReadoutConfig(inputs=("new_state", "context"))),
    "tied_embeddings is output, which needs a readout as wide as target.size = 5, but it is 3 "
    "wide. Set target.size = 3.": base(tied_embeddings="output"),
    "tied_embeddings is all, which needs embeddings of one width, but source.size is 11 and "
    "target.size is 5. Set tied_embeddings = output.": base(
        tied_embeddings="all",
        source=EmbeddingConfig(size=11),
        readout=ReadoutConfig(kind="tanh", inputs=("new_state",), size=5),
    ),
    "tied_embeddings is all, which needs one vocabulary, but the source's has 17 tokens and the "
    "target's 19. Set tied_embeddings = output.": base(
        tied_embeddings="all", readout=ReadoutConfig(kind="tanh", inputs=("new_state",), size=5)
    ),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_parts_that_do_not_fit_are_refused_with_advice(sentence):
    with pytest.raises(ConfigError) as refusal:
        build(
            REFUSALS[sentence],
            small.V_Y if "embeddings of one width" in sentence else small.V_X,
            small.V_Y,
        )
    assert refusal.value.problems == (sentence,)
    assert str(refusal.value) == f"model: {sentence}"


def follow(config, path, value):
    """Set a setting that an advice names."""
    first, _, rest = path.partition(".")
    if rest:
        return replace(config, **{first: follow(getattr(config, first), rest, value)})
    old = getattr(config, first)
    if isinstance(old, tuple):
        return replace(config, **{first: (value,)})
    return replace(config, **{first: int(value) if isinstance(old, int) else value})


@pytest.mark.parametrize("sentence", REFUSALS)
def test_a_model_builds_after_the_advice_is_followed(sentence):
    config = REFUSALS[sentence]
    if "in a Transformer" in sentence and "decoder" in sentence:
        config = replace(config, source=EMBEDDING)
    advice = re.findall(r"([\w.]+) = (\w+)", ADVICE.search(sentence)[1])
    assert advice
    for path, value in advice:
        config = follow(config, path, value)
    build(config, small.V_X, small.V_Y)


def test_all_problems_are_reported_at_once():
    config = base(
        decoder=LuongDecoderConfig(
            hidden_size=11,
            initial_state="copy",
            cell="lstm",
            attention=AttentionConfig(score="dot"),
        ),
        tied_embeddings="output",
    )
    with pytest.raises(ConfigError) as refusal:
        build(config, small.V_X, small.V_Y)
    assert len(refusal.value.problems) == 6
    assert str(refusal.value).count("\nmodel: ") == 5


def test_tied_matrices_are_one_parameter():
    config = base(tied_embeddings="output", readout=ReadoutConfig(kind="tanh", size=5))
    model = build(config, small.V_X, small.V_Y)
    assert model.readout.weight is model.target_embedding.weight
    assert model.source_embedding.weight is not model.target_embedding.weight
