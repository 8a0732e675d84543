"""Settings that cannot be are refused where they are made, all at once, each with its sentence."""

from dataclasses import fields
from pathlib import Path

import pytest

from regard.config import model as settings
from regard.config.settings import SearchConfig
from regard.errors import (
    ConfigError,
    DataError,
    InputError,
    ModelFileError,
    RegardError,
)

REFUSALS = [
    (
        lambda: settings.TransformerEncoderConfig(
            model_size=250, num_heads=4, feed_forward_size=7, dropout=1.5
        ),
        "model: num_heads is 4; it must be a divisor of model_size = 250. Set model_size = 248.\n"
        "model: dropout is 1.5; it must be at least 0 and below 1.",
    ),
    (
        lambda: settings.TransformerDecoderConfig(
            model_size=9, num_heads=3, feed_forward_size=7, attention_positions="rotary"
        ),
        "model: attention_positions is rotary, but model_size / num_heads = 3 is odd; "
        "it must be even. Set model_size = 12.",
    ),
    (
        lambda: settings.TransformerEncoderConfig(model_size=8, num_heads=0, feed_forward_size=7),
        "model: num_heads is 0; it must be a whole number, at least 1.",
    ),
    (
        lambda: settings.RecurrentEncoderConfig(hidden_size=0, cell="lstms", bidirectional=1),
        "model.encoder: hidden_size is 0; it must be a whole number, at least 1.\n"
        "model.encoder: cell is lstms; it must be elman, gru_before, gru_after or lstm. "
        "Did you mean lstm?\n"
        "model.encoder: bidirectional is 1; it must be true or false.",
    ),
    (
        lambda: settings.RecurrentEncoderConfig(
            hidden_size=7, bidirectional=True, reversed_source=True
        ),
        "model.encoder: reversed_source is true, but bidirectional = true reads both "
        "directions anyway. Set reversed_source = false.",
    ),
    (
        lambda: settings.ConvolutionalEncoderConfig(hidden_size=7, num_layers=1, kernel_size=4),
        "model.encoder: kernel_size is 4; it must be odd. Set kernel_size = 5.",
    ),
    (
        lambda: settings.AttentionConfig(score="dot", coverage=True),
        "model.decoder.attention: coverage is true, but score = dot has no coverage; only "
        "the additive score has. Set score = additive.",
    ),
    (
        lambda: settings.LuongDecoderConfig(hidden_size=7, attentional=False),
        "model.decoder: input_feeding is true, but attentional = false computes no h̃ to feed. "
        "Set attentional = true.",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=("states",)),
        "model.readout: inputs is states; it must be old_state, new_state, context or "
        "previous. Did you mean old_state?",
    ),
    (
        lambda: settings.TransformerEncoderConfig(
            model_size="256", num_heads=None, feed_forward_size=7
        ),
        "model: model_size is 256; it must be a whole number, at least 1.\n"
        "model: num_heads is None; it must be a whole number, at least 1.",
    ),
    (
        lambda: settings.ConvolutionalEncoderConfig(hidden_size=7, num_layers=1, kernel_size="3"),
        "model.encoder: kernel_size is 3; it must be a whole number, at least 1.",
    ),
    (
        lambda: settings.ReadoutConfig(inputs="new_state"),
        "model.readout: inputs is new_state; it must be a list of names.",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=["new_state", "new_state"]),
        "model.readout: inputs is ['new_state', 'new_state']; it must name at least one input, "
        "each once.",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=()),
        "model.readout: inputs is []; it must name at least one input, each once.",
    ),
    (
        lambda: settings.EmbeddingConfig(size=7.5),
        "model.embedding: size is 7.5; it must be a whole number, at least 1.",
    ),
    (
        lambda: settings.ModelConfig(
            source=settings.EmbeddingConfig(size=7),
            target=settings.EmbeddingConfig(size=7),
            encoder="recurrent",
            decoder=settings.PlainDecoderConfig(hidden_size=7),
            readout=settings.ReadoutConfig(),
        ),
        "model: encoder is recurrent; it must be a section.",
    ),
]


@pytest.mark.parametrize(("make", "sentences"), REFUSALS)
def test_an_impossible_setting_is_refused(make, sentences):
    with pytest.raises(ConfigError) as refusal:
        make()
    assert str(refusal.value) == sentences


def test_every_setting_is_documented_where_it_is_defined():
    source = Path(settings.__file__).read_text()
    for name in dir(settings):
        section = getattr(settings, name)
        own = getattr(section, "__module__", None) == settings.__name__
        if own and isinstance(section, type) and name.endswith("Config"):
            assert section.__doc__, name
            body = source.split(f"class {name}")[1].split("\nclass ")[0].split("@dataclass")[0]
            for field in fields(section):
                if field.name in section.__annotations__:
                    after = body.split(f"\n    {field.name}: ")[1].split("\n", 1)[1]
                    assert after.lstrip().startswith('"""'), (name, field.name)


def test_the_exception_tree():
    assert issubclass(ConfigError, RegardError)
    assert issubclass(InputError, RegardError)
    assert not issubclass(InputError, ConfigError)
    assert issubclass(DataError, RegardError)
    assert issubclass(ModelFileError, RegardError)
    assert str(DataError("a.tsv", 3, "no tab")) == "a.tsv, line 3: no tab"
    assert str(DataError("a.tsv", None, "is empty")) == "a.tsv: is empty"
    assert str(ModelFileError("m.regard", "is cut off")) == "m.regard: is cut off"
    error = ConfigError("train", ["one", "two"])
    assert (error.section, error.problems) == ("train", ("one", "two"))
    assert str(error) == "train: one\ntrain: two"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: settings.RecurrentEncoderConfig(hidden_size=8, num_layers=10**5),
            "model.encoder: num_layers is 100000; it must be at most 1000.",
        ),
        (
            lambda: settings.EmbeddingConfig(size=512, positions="sinusoidal", max_length=65_536),
            "model.embedding: max_length is 65536; it must be at most 32768 for sinusoidal "
            "positions of size = 512.",
        ),
        (
            lambda: SearchConfig(length_penalty=1e5),
            "search: length_penalty is 100000.0; it must be at most 10.",
        ),
        (
            lambda: SearchConfig(beam_size=1000, max_length=5000),
            "search: max_length is 5000; it must be at most 500 with beam_size = 1000.",
        ),
        (
            lambda: SearchConfig(beam_size=1000, batch_size=5000),
            "search: batch_size is 5000; it must be at most 100 with beam_size = 1000.",
        ),
        (
            lambda: SearchConfig(temperature=1e-300),
            "search: temperature is 1e-300; it must be 0 or at least 0.001.",
        ),
    ],
)
def test_a_number_beyond_all_use_is_refused_with_its_limit(make, sentence):
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == sentence


def test_a_limit_is_not_part_of_other_sentences():
    """Who typed 0 need not read that 65,536 would be too much."""
    with pytest.raises(ConfigError, match=r"it must be a whole number, at least 1\.$"):
        settings.RecurrentEncoderConfig(hidden_size=0)
