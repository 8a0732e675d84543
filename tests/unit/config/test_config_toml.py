"""A file of settings is read, overridden, checked and written; every sentence is pinned here."""

import copy
import tomllib
from dataclasses import replace

import pytest

from regard.config.model import (
    AttentionConfig,
    BahdanauDecoderConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerEncoderConfig,
)
from regard.config.renamed_settings import RenamedSettingWarning, with_new_names
from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig
from regard.config.toml import (
    differences,
    override,
    read_settings,
    settings_from,
    to_toml,
    to_tree,
)
from regard.errors import ConfigError, DataError

WRITTEN = """\
[data]
normalization = "NFKC"

[train]
learning_rate = 0.01
max_minutes = 7

[model]
summary = "backward"

[model.source]
size = 2

[model.target]
size = 3

[model.encoder]
kind = "recurrent"
hidden_size = 5
bidirectional = true

[model.decoder]
kind = "bahdanau"
hidden_size = 7

[model.decoder.attention]
align_size = 11

[model.readout]
inputs = ["old_state", "context"]
"""
MADE = Settings(
    data=DataConfig(normalization="NFKC"),
    train=TrainConfig(learning_rate=0.01, max_minutes=7),
    model=ModelConfig(
        source=EmbeddingConfig(size=2),
        target=EmbeddingConfig(size=3),
        encoder=RecurrentEncoderConfig(hidden_size=5, bidirectional=True),
        summary="backward",
        decoder=BahdanauDecoderConfig(hidden_size=7, attention=AttentionConfig(align_size=11)),
        readout=ReadoutConfig(inputs=("old_state", "context")),
    ),
)
TREE = tomllib.loads(WRITTEN)


def test_a_file_becomes_settings():
    assert settings_from(read_settings(WRITTEN, "run.toml")) == MADE


def test_byte_order_marks_and_line_endings_change_nothing():
    text = "\ufeff" + WRITTEN.replace("\n", "\r\n")
    assert settings_from(read_settings(text, "run.toml")) == MADE


NO_TOML = [
    (
        "[train]\nseed 1",
        2,
        "run.toml, line 2: it is not TOML at column 6: "
        "expected '=' after a key in a key/value pair.",
    ),
    (
        "\n[train]\nseed = [1\n\n",
        3,
        "run.toml, line 3: it is not TOML at the end: unclosed array.",
    ),
    (
        "seed = 1\nseed = 2\n",
        2,
        "run.toml, line 2: it is not TOML at column 9: cannot overwrite a value.",
    ),
    (
        "seed = " + "1" * 5000,
        None,
        "run.toml: a number in it has thousands of digits. Write a number within 64 bits.",
    ),
    ("seed = " + "[" * 50_000, None, "run.toml: its tables or lists are nested too deeply."),
]


@pytest.mark.parametrize(("text", "line", "sentence"), NO_TOML, ids=["=", "[", "twice", "1", "[[["])
def test_invalid_toml_is_refused_with_its_line(text, line, sentence):
    with pytest.raises(DataError) as error:
        read_settings(text, "run.toml")
    assert str(error.value) == sentence
    assert (error.value.file, error.value.line) == ("run.toml", line)


def test_every_setting_is_written_under_its_description():
    lines = to_toml(MADE).splitlines()
    for line, comment in [
        ("[train]", "# Optimization, validation, checkpoints, and when training stops."),
        (
            "patience = 10",
            "# Early stopping: number of validations without a better score before training stops. "
            "0 disables it.",
        ),
        ('optimizer = "adam"', "# Optimizer. (adam, adamw or adadelta)"),
        (
            'kind = "bahdanau"',
            "# Kind of this section. (plain, cho, bahdanau, luong, convolutional or transformer)",
        ),
        (
            'inputs = ["old_state", "context"]',
            "# Inputs of the readout, concatenated in this order. (old_state, new_state, context "
            "or "
            "previous)",
        ),
    ]:
        assert lines[lines.index(line) - 1] == comment
    bare = to_toml(MADE, comments=False).splitlines()
    assert bare == [line for line in lines if not line.startswith("#")]
    settings = [line for line in lines if " = " in line and not line.startswith("#")]
    above = [lines[lines.index(line) - 1] for line in settings]
    assert all(line.startswith("# ") for line in above)


def test_a_written_file_begins_with_its_sections_in_order():
    lines = to_toml(MADE, comments=False).splitlines()
    assert lines[:3] == ["[data]", 'normalization = "NFKC"', 'source_case = "keep"']
    assert [line for line in lines if line.startswith("[")] == [
        "[data]",
        "[data.file]",
        "[text]",
        "[model]",
        "[model.source]",
        "[model.target]",
        "[model.encoder]",
        "[model.decoder]",
        "[model.decoder.attention]",
        "[model.readout]",
        "[train]",
        "[search]",
    ]
    assert to_toml(MADE).endswith("batch_size = 32\n")


def test_a_tree_holds_every_setting_and_the_kinds():
    tree = to_tree(MADE)
    assert tree["text"] == {
        "source": "characters",
        "target": "characters",
        "tag_position": "last",
        "tag_separators": ";",
        "source_vocabulary_size": 8000,
        "target_vocabulary_size": 8000,
        "min_count": 1,
        "shared_vocabulary": False,
    }
    assert list(tree["model"]["encoder"])[:2] == ["kind", "hidden_size"]
    assert tree["model"]["decoder"]["kind"] == "bahdanau"
    assert tree["model"]["decoder"]["attention"]["align_size"] == 11
    assert tree["model"]["readout"]["inputs"] == ["old_state", "context"]
    assert tree["model"]["readout"]["kind"] == "linear"
    assert settings_from(tree) == MADE


def test_text_is_escaped_for_toml():
    for device in ('a"b\\c', "cuda:1", "", "h̃ 你"):
        made = replace(MADE, train=TrainConfig(device=device))
        assert settings_from(tomllib.loads(to_toml(made))) == made


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("train.seed=2", 2),
        (" train . seed = 2 ", 2),
        ("train.seed=0.5", 0.5),
        ("train.seed=true", True),
        ("train.seed=adamw", "adamw"),
        ('train.seed="2"', "2"),
        ("train.seed=", ""),
        ("train.seed=a=b", "a=b"),
        ("train.seed=['a', 'b']", ["a", "b"]),
        ("train.seed={x = 1}", {"x": 1}),
        ("train.seed=1\nb = 2", "1\nb = 2"),
        ("train.seed=" + "[" * 50_000, "[" * 50_000),
        ("train.seed=" + "1" * 5000, "1" * 5000),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_assignment_takes_a_value_as_toml_or_as_text(assignment, expected):
    value = override({}, [assignment])["train"]["seed"]
    assert (value, type(value)) == (expected, type(expected))


def test_assignments_change_a_copy_one_after_the_other():
    before = copy.deepcopy(TREE)
    tree = override(
        TREE, ["train.learning_rate=1", "train.seed=3", "train.seed=5", "search.nbest=1"]
    )
    assert before == TREE
    assert tree["train"] == {"learning_rate": 1, "max_minutes": 7, "seed": 5}
    assert tree["search"] == {"nbest": 1}
    assert tree["model"] == TREE["model"]
    assert override(TREE, []) == TREE


def test_invalid_assignments_are_all_refused_at_once():
    with pytest.raises(ConfigError) as error:
        override({"train": {"seed": 1}}, ["train.seed", "=2", "a..b=2", "a b=2", "train.seed.x=2"])
    remedy = "is not an assignment. Write section.setting=value: train.seed=2."
    assert str(error.value) == (
        f"--set: train.seed {remedy}\n"
        f"--set: =2 {remedy}\n"
        f"--set: a..b=2 {remedy}\n"
        f"--set: a b=2 {remedy}\n"
        "--set: train.seed.x=2 is refused: train.seed is not a section. Write train.seed=2."
    )


def test_a_deep_assignment_is_an_unknown_section():
    tree = override(TREE, [".".join("a" * 5000) + "=1"])
    with pytest.raises(ConfigError, match=r"^settings: Unknown section a\.$"):
        settings_from(tree)


def test_differences_name_what_changes_and_how():
    assert differences(MADE, MADE) == []
    assert differences(MADE, replace(MADE, train=replace(MADE.train, max_minutes=7.0))) == []
    other = replace(
        MADE,
        text=TextConfig(shared_vocabulary=True),
        train=replace(MADE.train, seed=2, optimizer="adamw"),
        search=SearchConfig(length_penalty=0.6),
    )
    assert differences(MADE, other) == [
        "text.shared_vocabulary: false → true",
        "train.seed: 1 → 2",
        'train.optimizer: "adam" → "adamw"',
        "search.length_penalty: 1.0 → 0.6",
    ]


def test_differences_between_kinds_list_removed_and_added_settings():
    encoder = TransformerEncoderConfig(model_size=8, feed_forward_size=3, num_layers=1)
    decoder = LuongDecoderConfig(hidden_size=7, attention=AttentionConfig(align_size=11))
    model = replace(MADE.model, encoder=encoder, decoder=decoder)
    assert differences(MADE, replace(MADE, model=model)) == [
        'model.encoder.kind: "recurrent" → "transformer"',
        "model.encoder.hidden_size: 5 → none",
        'model.encoder.cell: "gru_before" → none',
        "model.encoder.bidirectional: true → none",
        "model.encoder.reversed_source: false → none",
        "model.encoder.residual: false → none",
        "model.encoder.bias: true → none",
        'model.decoder.kind: "bahdanau" → "luong"',
        "model.encoder.model_size: none → 8",
        "model.encoder.feed_forward_size: none → 3",
        "model.encoder.num_heads: none → 4",
        "model.encoder.pre_norm: none → false",
        'model.encoder.attention_positions: none → "none"',
        "model.encoder.max_distance: none → 16",
        "model.decoder.attentional: none → true",
        "model.decoder.input_feeding: none → true",
    ]


def test_an_old_switch_becomes_the_name_of_a_constraint():
    tree = to_tree(MADE)
    del tree["search"]["constraint"]
    for old, new in ((True, "repetition_pattern"), (False, "none")):
        tree["search"]["same_pattern"] = old
        before = copy.deepcopy(tree)
        assert settings_from(tree).search.constraint == new
        with pytest.warns(RenamedSettingWarning) as caught:
            assert with_new_names(tree)["search"]["constraint"] == new
        sentence = f'search.same_pattern is now search.constraint = "{new}".'
        assert [str(warning.message) for warning in caught] == [sentence]
        assert tree == before
    both = {**tree, "search": {**tree["search"], "constraint": "none"}}
    with pytest.raises(ConfigError, match=r"search\.same_pattern is now search\.constraint, but"):
        settings_from(both)
    for wrong in ("yes", 1, [], None):
        tree["search"]["same_pattern"] = wrong
        with pytest.raises(ConfigError, match=r"search\.constraint is "):
            settings_from(tree)
