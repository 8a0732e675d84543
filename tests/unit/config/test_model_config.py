"""Settings that cannot be are refused where they are made, all at once, each with its sentence."""

from dataclasses import fields
from pathlib import Path

import pytest

from regard.config import model as settings
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
        "model: num_heads = 4 does not divide model_size = 250; model_size = 248 would do\n"
        "model: dropout = 1.5, but it must be at least 0 and below 1",
    ),
    (
        lambda: settings.TransformerDecoderConfig(
            model_size=9, num_heads=3, feed_forward_size=7, attention_positions="rotary"
        ),
        "model: attention_positions = rotary turns pairs, but a head of model_size / num_heads = 3 "
        "has an odd width; model_size = 12 would do",
    ),
    (
        lambda: settings.TransformerEncoderConfig(model_size=8, num_heads=0, feed_forward_size=7),
        "model: num_heads = 0, but it must be a whole number, at least 1",
    ),
    (
        lambda: settings.RecurrentEncoderConfig(hidden_size=0, cell="lstms", bidirectional=1),
        "model.encoder: hidden_size = 0, but it must be a whole number, at least 1\n"
        "model.encoder: cell = lstms, but it must be elman, gru_before, gru_after or lstm; "
        "lstm would do\n"
        "model.encoder: bidirectional = 1, but it must be true or false",
    ),
    (
        lambda: settings.RecurrentEncoderConfig(
            hidden_size=7, bidirectional=True, reversed_source=True
        ),
        "model.encoder: reversed_source = true turns round a source that bidirectional = true "
        "reads from both ends anyway; reversed_source = false would do",
    ),
    (
        lambda: settings.ConvolutionalEncoderConfig(hidden_size=7, num_layers=1, kernel_size=4),
        "model.encoder: kernel_size = 4, but it must be odd to have a middle; 5 would do",
    ),
    (
        lambda: settings.AttentionConfig(score="dot", coverage=True),
        "model.decoder.attention: coverage = true is a term of the additive score, but "
        "score = dot; score = additive would do",
    ),
    (
        lambda: settings.LuongDecoderConfig(hidden_size=7, attentional=False),
        "model.decoder: input_feeding = true feeds h̃, but attentional = false makes none; "
        "attentional = true would do",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=("states",)),
        "model.readout: inputs = states, but it must be old_state, new_state, context or "
        "previous; old_state would do",
    ),
    (
        lambda: settings.TransformerEncoderConfig(
            model_size="256", num_heads=None, feed_forward_size=7
        ),
        "model: model_size = 256, but it must be a whole number, at least 1\n"
        "model: num_heads = None, but it must be a whole number, at least 1",
    ),
    (
        lambda: settings.ConvolutionalEncoderConfig(hidden_size=7, num_layers=1, kernel_size="3"),
        "model.encoder: kernel_size = 3, but it must be a whole number, at least 1",
    ),
    (
        lambda: settings.ReadoutConfig(inputs="new_state"),
        "model.readout: inputs = new_state, but it must be a list of names",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=["new_state", "new_state"]),
        "model.readout: inputs = ['new_state', 'new_state'], but it must name at least one thing, "
        "each once",
    ),
    (
        lambda: settings.ReadoutConfig(inputs=()),
        "model.readout: inputs = [], but it must name at least one thing, each once",
    ),
    (
        lambda: settings.EmbeddingConfig(size=7.5),
        "model.embedding: size = 7.5, but it must be a whole number, at least 1",
    ),
    (
        lambda: settings.ModelConfig(
            source=settings.EmbeddingConfig(size=7),
            target=settings.EmbeddingConfig(size=7),
            encoder="recurrent",
            decoder=settings.PlainDecoderConfig(hidden_size=7),
            readout=settings.ReadoutConfig(),
        ),
        "model: encoder = recurrent, but it must be a section of its own",
    ),
]


@pytest.mark.parametrize(("make", "sentences"), REFUSALS)
def test_a_setting_that_cannot_be_is_refused(make, sentences):
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
