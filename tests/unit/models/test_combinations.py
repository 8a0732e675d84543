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
            "has no states to copy": entry.encoder != "recurrent",
            "makes two; decoder.initial_state = tanh": entry.directions == "two",
            "num_layers = 2 and decoder.num_layers = 1": (entry.decoder, entry.num_layers)
            == ("cho", 2),
            "do not carry the same things": (entry.decoder, entry.cell) == ("cho", "lstm"),
        }
        if any(copied.values()):
            return next(sentence for sentence, wrong in copied.items() if wrong)
    if entry.decoder == "plain" and entry.first == "zero":
        return "tells the decoder nothing of the source"
    if entry.decoder in ("bahdanau", "luong", "luong_fed"):
        width = {"convolutional": 5, "transformer": 6}.get(entry.encoder, 5)
        width *= 2 if entry.directions == "two" else 1
        if entry.score in ("dot", "scaled_dot", "gaussian", "gaussian_learned") and width != 5:
            return "needs queries and keys of one width"
    return None


def check(entry):
    """Build and run an entry, forward, backward and step by step, or see it refused."""
    config = entry.config(**SIZES)
    expected = why_not(entry)
    if expected is not None:
        with pytest.raises(ConfigError, match=expected) as refusal:
            build(config, small.V_X, small.V_Y)
        assert all(problem.endswith("would do") for problem in refusal.value.problems)
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


WORDS = EmbeddingConfig(size=5)
HEADS = {"model_size": 6, "feed_forward_size": 5, "num_heads": 2}

REFUSALS = {
    "decoder.initial_state = tanh maps a summary, but summary = none; summary = last would "
    "do": base(summary="none"),
    "the decoder's context is a summary, but summary = none; summary = last would do": base(
        summary="none",
        decoder=ChoDecoderConfig(hidden_size=7, initial_state="zero"),
        readout=ReadoutConfig(),
    ),
    "summary = backward, but nothing in the decoder asks for one; summary = none would do": base(
        decoder=BahdanauDecoderConfig(hidden_size=7, initial_state="zero")
    ),
    "summary = backward is the backward direction's state, but the encoder has none; "
    "summary = last would do": base(encoder=RecurrentEncoderConfig(hidden_size=7)),
    "decoder.initial_state = zero tells the decoder nothing of the source; "
    "decoder.initial_state = tanh and summary = last would do": base(
        decoder=PlainDecoderConfig(hidden_size=7, initial_state="zero"),
        summary="none",
        readout=ReadoutConfig(),
    ),
    "decoder.initial_state = copy, but the encoder has no states to copy; "
    "decoder.initial_state = tanh and summary = last would do": base(
        encoder=ConvolutionalEncoderConfig(hidden_size=7, num_layers=1),
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy"),
        summary="none",
    ),
    "decoder.initial_state = copy takes one state a layer, but encoder.bidirectional = true makes "
    "two; "
    "decoder.initial_state = tanh and summary = last would do": base(
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy"), summary="none"
    ),
    "decoder.initial_state = copy, but encoder.cell = gru_before and decoder.cell = lstm do not "
    "carry the "
    "same things; decoder.initial_state = tanh and summary = last would do": base(
        encoder=RecurrentEncoderConfig(hidden_size=7),
        decoder=LuongDecoderConfig(hidden_size=7, initial_state="copy", cell="lstm"),
        summary="none",
    ),
    "decoder.initial_state = copy, but encoder.hidden_size = 7 and decoder.hidden_size = 11; "
    "decoder.initial_state = tanh and summary = last would do": base(
        encoder=RecurrentEncoderConfig(hidden_size=7),
        decoder=LuongDecoderConfig(hidden_size=11, initial_state="copy"),
        summary="none",
    ),
    "decoder.attention.score = dot needs queries and keys of one width, but decoder.hidden_size = "
    "7 and the encoder shows 14; decoder.attention.score = bilinear would do": base(
        decoder=BahdanauDecoderConfig(hidden_size=7, attention=AttentionConfig(score="dot"))
    ),
    "encoder.model_size = 6 is not source.size = 5, but a Transformer adds to its input; "
    "source.size = 6 would do": base(encoder=TransformerEncoderConfig(**HEADS), summary="last"),
    "decoder.model_size = 6 is not target.size = 5, but a Transformer adds to its input; "
    "target.size = 6 would do": base(
        decoder=TransformerDecoderConfig(**HEADS), summary="none", readout=ReadoutConfig()
    ),
    "readout.inputs = old_state, but this decoder has none to show; "
    "readout.inputs = new_state would do": base(
        decoder=ConvolutionalDecoderConfig(hidden_size=5, num_layers=1),
        summary="none",
        readout=ReadoutConfig(inputs=("old_state",)),
    ),
    "tied_embeddings = output makes the readout an embedding's matrix, but it has inputs = "
    "['new_state', "
    "'context']; readout.kind = tanh and readout.size = 5 would do": base(
        tied_embeddings="output", readout=ReadoutConfig(inputs=("new_state", "context"))
    ),
    "tied_embeddings = output needs a readout as wide as target.size = 5, but it is 3 wide; "
    "target.size = 3 would do": base(tied_embeddings="output"),
    "tied_embeddings = all needs one width, but source.size = 11 and target.size = 5; "
    "tied_embeddings = output would do": base(
        tied_embeddings="all",
        source=EmbeddingConfig(size=11),
        readout=ReadoutConfig(kind="tanh", inputs=("new_state",), size=5),
    ),
    "tied_embeddings = all needs one vocabulary, but the source's has 17 symbols and the target's "
    "19; "
    "tied_embeddings = output would do": base(
        tied_embeddings="all", readout=ReadoutConfig(kind="tanh", inputs=("new_state",), size=5)
    ),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_does_not_fit_is_refused_with_a_sentence_that_says_what_would(sentence):
    with pytest.raises(ConfigError) as refusal:
        build(REFUSALS[sentence], small.V_Y if "one width" in sentence else small.V_X, small.V_Y)
    assert refusal.value.problems == (sentence,)
    assert str(refusal.value) == f"model: {sentence}"


def follow(config, path, value):
    """Set what an advice names."""
    first, _, rest = path.partition(".")
    if rest:
        return replace(config, **{first: follow(getattr(config, first), rest, value)})
    old = getattr(config, first)
    if isinstance(old, tuple):
        return replace(config, **{first: (value,)})
    return replace(config, **{first: int(value) if isinstance(old, int) else value})


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_would_do_does(sentence):
    config = REFUSALS[sentence]
    if "Transformer adds" in sentence and "decoder" in sentence:
        config = replace(config, source=WORDS)
    advice = re.findall(r"([\w.]+) = (\w+)", sentence.rsplit("; ", 1)[1])
    assert advice
    for path, value in advice:
        config = follow(config, path, value)
    build(config, small.V_X, small.V_Y)


def test_everything_that_is_wrong_is_said_at_once():
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


def test_tied_matrices_are_one_and_learn_together():
    config = base(tied_embeddings="output", readout=ReadoutConfig(kind="tanh", size=5))
    model = build(config, small.V_X, small.V_Y)
    assert model.readout.weight is model.target_embedding.weight
    assert model.source_embedding.weight is not model.target_embedding.weight
