"""Every section has its defaults and its bounds, and refuses what it cannot be, all at once."""

import ast
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, fields
from pathlib import Path
from typing import Annotated, get_args

import pytest

from regard.choices import either, printable
from regard.config import settings as module
from regard.config.checks import above, at_least, at_most, must_be
from regard.config.files import FileConfig
from regard.config.model import (
    DECODERS,
    ENCODERS,
    DecoderConfig,
    EmbeddingConfig,
    EncoderConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.config.names import CustomDecoderConfig
from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig
from regard.errors import ConfigError

DEFAULTS = {
    DataConfig: {
        "normalization": "NFC",
        "source_case": "keep",
        "max_source_length": 512,
        "max_target_length": 512,
        "dev_fraction": 0.05,
        "max_dev_sources": 2000,
        "max_examples": 5,
        "split_by": "source",
        "task": "auto",
        "trim": False,
        "file": asdict(FileConfig()),
    },
    FileConfig: {
        "format": "auto",
        "delimiter": "auto",
        "encoding": "auto",
        "header": "auto",
        "columns": "",
        "names": "",
        "group_by": "",
        "joiner": " ",
        "comment": "",
        "sheet": "",
    },
    TextConfig: {
        "source": "characters",
        "target": "characters",
        "tag_position": "last",
        "tag_separators": ";",
        "source_vocabulary_size": 8000,
        "target_vocabulary_size": 8000,
        "min_count": 1,
        "shared_vocabulary": False,
    },
    TrainConfig: {
        "seed": 1,
        "batch_tokens": 4096,
        "gradient_accumulation_steps": 1,
        "optimizer": "adam",
        "learning_rate": 0.001,
        "schedule": "constant",
        "warmup_steps": 0,
        "max_steps": 10000,
        "max_minutes": 0.0,
        "max_grad_norm": 1.0,
        "label_smoothing": 0.1,
        "rdrop_alpha": 0.0,
        "weight_decay": 0.0,
        "validate_every": 500,
        "save_every": 500,
        "report_every": 50,
        "patience": 10,
        "average_checkpoints": 0,
        "average_checkpoints_from": "best",
        "metric": "exact",
        "freeze": (),
        "device": "auto",
        "precision": "float32",
    },
    SearchConfig: {
        "beam_size": 1,
        "nbest": 1,
        "length_penalty": 1.0,
        "stop": "full",
        "max_length": 256,
        "min_length": 0,
        "same_length": False,
        "constraint": "none",
        "temperature": 0.0,
        "top_k": 0,
        "top_p": 1.0,
        "seed": 1,
        "batch_size": 32,
    },
}

REFUSALS = [
    (
        lambda: DataConfig(normalization="NFCC", dev_fraction=1.0, max_dev_sources=0),
        "data: normalization is NFCC; it must be NFC, NFD, NFKC or none. Did you mean NFC?\n"
        "data: dev_fraction is 1.0; it must be at least 0 and below 1.\n"
        "data: max_dev_sources is 0; it must be a whole number, at least 1.",
    ),
    (
        lambda: TextConfig(source="chars", shared_vocabulary="no"),
        "text: source is chars; it must be characters, words, whitespace, tagged, phonemes, "
        "unigram or bpe. Did you mean characters?\n"
        "text: shared_vocabulary is no; it must be true or false.",
    ),
    (
        lambda: TrainConfig(seed=-1, learning_rate=0, warmup_steps=0.5, max_grad_norm=-0.1),
        "train: seed is -1; it must be a whole number, at least 0.\n"
        "train: learning_rate is 0; it must be a number, above 0 and at most 100.\n"
        "train: warmup_steps is 0.5; it must be a whole number, at least 0.\n"
        "train: max_grad_norm is -0.1; it must be a number, at least 0.",
    ),
    (
        lambda: TrainConfig(
            learning_rate=float("inf"),
            max_minutes=float("nan"),
            weight_decay=float("inf"),
            device=0,
        ),
        "train: learning_rate is inf; it must be a number, above 0 and at most 100.\n"
        "train: max_minutes is nan; it must be a number, at least 0.\n"
        "train: weight_decay is inf; it must be a number, at least 0.\n"
        "train: device is 0; it must be text on one line.",
    ),
    (
        lambda: TrainConfig(seed=True, device="cpu\n"),
        "train: seed is true; it must be a whole number, at least 0.\n"
        "train: device is 'cpu\\n'; it must be text on one line.",
    ),
    (
        lambda: TrainConfig(optimizer=("adam",)),
        "train: optimizer is ('adam',); it must be adam, adamw or adadelta. Did you mean adam?",
    ),
    (
        lambda: SearchConfig(top_p=0, temperature="hot"),
        "search: temperature is hot; it must be a number, at least 0.\n"
        "search: top_p is 0; it must be a number, above 0 and at most 1.",
    ),
    (
        lambda: SearchConfig(top_p=1.5),
        "search: top_p is 1.5; it must be a number, above 0 and at most 1.",
    ),
    (
        lambda: SearchConfig(nbest=5, beam_size=4),
        "search: nbest is 5; it must be at most beam_size = 4. Set beam_size = 5.",
    ),
    (
        lambda: SearchConfig(min_length=257),
        "search: min_length is 257; it must be at most max_length = 256. Set max_length = 257.",
    ),
    (
        lambda: SearchConfig(nbest="5", beam_size=0, min_length=-1),
        "search: beam_size is 0; it must be a whole number, at least 1.\n"
        "search: nbest is 5; it must be a whole number, at least 1.\n"
        "search: min_length is -1; it must be a whole number, at least 0.",
    ),
    (
        lambda: Settings(model=small_model(), train=None),
        "settings: train is None; it must be a section.",
    ),
]


def small_model():
    return ModelConfig(
        source=EmbeddingConfig(size=2),
        target=EmbeddingConfig(size=3),
        encoder=RecurrentEncoderConfig(hidden_size=5),
        decoder=PlainDecoderConfig(hidden_size=7),
        readout=ReadoutConfig(),
    )


@pytest.mark.parametrize("section", DEFAULTS, ids=lambda section: section.__name__)
def test_a_section_has_its_defaults_in_their_order(section):
    made = asdict(section())
    assert made == DEFAULTS[section]
    assert list(made) == list(DEFAULTS[section])
    for name, value in DEFAULTS[section].items():
        assert type(made[name]) is type(value), name


@pytest.mark.parametrize(("make", "sentences"), REFUSALS)
def test_an_impossible_setting_is_refused(make, sentences):
    with pytest.raises(ConfigError) as refusal:
        make()
    assert str(refusal.value) == sentences


def test_inclusive_bounds_are_allowed():
    TrainConfig(
        seed=0, warmup_steps=0, max_minutes=0, max_grad_norm=0, patience=0, average_checkpoints=0
    )
    TrainConfig(learning_rate=1e-300)
    SearchConfig(top_p=1, temperature=0, length_penalty=0, top_k=0, seed=0)
    SearchConfig(nbest=4, beam_size=4, min_length=7, max_length=7)


def test_settings_need_a_model_and_nothing_else():
    made = Settings(model=small_model())
    assert [field.name for field in fields(Settings)] == [
        "data",
        "text",
        "model",
        "train",
        "search",
    ]
    assert (made.data, made.text) == (DataConfig(), TextConfig())
    assert (made.train, made.search) == (TrainConfig(), SearchConfig())
    with pytest.raises(TypeError):
        Settings()


@pytest.mark.parametrize("section", [*DEFAULTS, Settings])
def test_settings_are_immutable(section):
    made = Settings(model=small_model()) if section is Settings else section()
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(section)[0].name, None)


def test_every_kind_of_encoder_and_decoder_has_its_name():
    assert list(ENCODERS) == ["recurrent", "convolutional", "transformer"]
    assert set(ENCODERS.values()) == set(get_args(EncoderConfig))
    assert list(DECODERS) == ["plain", "cho", "bahdanau", "luong", "convolutional", "transformer"]
    assert set(DECODERS.values()) | {CustomDecoderConfig} == set(get_args(DecoderConfig))
    for kinds in (ENCODERS, DECODERS):
        for kind, section in kinds.items():
            assert section.__name__.lower().startswith(kind)


def test_every_setting_is_documented_where_it_is_defined():
    tree = ast.parse(Path(module.__file__).read_text())
    sections = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert len(sections) == 5
    for section in sections:
        for node, below in zip(section.body, section.body[1:], strict=False):
            if isinstance(node, ast.AnnAssign):
                text = ast.literal_eval(below.value)
                assert text[0].isupper(), text
                assert text.endswith("."), text


def test_a_type_describes_its_valid_values():
    assert must_be(Annotated[int, at_least(0)]) == "a whole number, at least 0"
    assert must_be(Annotated[int, above(2), at_most(5)]) == "a whole number, above 2 and at most 5"
    assert must_be(Annotated[float, at_most(0.5)]) == "a number, at most 0.5"
    assert must_be(int) == "a whole number, at least 1"
    assert must_be(float) == "at least 0 and below 1"
    assert must_be(EncoderConfig) == "a section"


def test_names_are_joined_by_commas_and_and():
    assert either(["a"]) == "a"
    assert either(["a", "b"]) == "a or b"
    assert either(["a", "b", "c"]) == "a, b or c"


def test_an_error_prints_any_value_on_one_line():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert printable("h̃") == "h̃"
    assert printable("") == "''"
    assert printable("a\nb\u2028") == "'a\\nb\\u2028'"
    assert printable("\ud800") == "'\\ud800'"
    assert printable("x" * 80) == "x" * 80
    assert printable("x" * 81) == "x" * 79 + "…"
    assert printable(10**10_000) == "…"
    assert printable(nested) == "…"


def test_settings_need_neither_torch_nor_numpy():
    script = (
        "import sys, tomllib\n"
        "from regard.config import documentation, settings, toml\n"
        "text = '''[model.source]\\nsize = 2\\n[model.target]\\nsize = 3\\n'''\n"
        "text += '''[model.encoder]\\nkind = \"recurrent\"\\nhidden_size = 5\\n'''\n"
        "text += '''[model.decoder]\\nkind = \"plain\"\\nhidden_size = 7\\n[model.readout]\\n'''\n"
        "made = toml.settings_from(toml.read_settings(text, 'x.toml'))\n"
        "toml.to_toml(made), toml.differences(made, made), documentation.settings_markdown()\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
