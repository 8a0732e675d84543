"""Whatever a tree of settings holds that cannot be gets its sentence; every one is pinned here."""

import copy
import re
import tomllib
from datetime import date

import pytest

from regard.config.toml import settings_from
from regard.errors import ConfigError

TREE = tomllib.loads("""
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

[model.readout]
inputs = ["old_state", "context"]
""")


def changed(path, value, tree=TREE):
    """Return a tree with one value put somewhere in it, or taken away by `...`."""
    tree = copy.deepcopy(tree)
    *outer, name = path.split("/")
    inner = tree
    for part in outer:
        inner = inner.setdefault(part, {})
    inner[name] = value
    if value is ...:
        del inner[name]
    return tree


def refusal(tree):
    with pytest.raises(ConfigError) as error:
        settings_from(tree)
    assert str(error.value) == "\n".join(f"settings: {line}" for line in error.value.problems)
    return list(error.value.problems)


SENTENCES = [
    (
        "train/learning_rat",
        1,
        "Unknown setting train.learning_rat. Did you mean train.learning_rate?",
    ),
    ("train/beam_size", 5, "Unknown setting train.beam_size. Did you mean search.beam_size?"),
    ("seed", 1, "Unknown setting seed. Did you mean train.seed or search.seed?"),
    ("train/xyzzy", 1, "Unknown setting train.xyzzy."),
    ("train/xyzzy", {}, "Unknown section train.xyzzy."),
    ("trian", {"seed": 2}, "Unknown section trian. Did you mean train?"),
    ("encoder", {"kind": "recurrent"}, "Unknown section encoder. Did you mean model.encoder?"),
    ("train/a b", 1, "Unknown setting train.'a b'."),
    ("train/", 1, "Unknown setting train.''."),
    (
        "model/kind",
        "bahdanau",
        "Unknown setting model.kind. Did you mean model.encoder.kind, model.decoder.kind or "
        "model.readout.kind?",
    ),
    (
        "model/encoder/knd",
        "lstm",
        "Unknown setting model.encoder.knd. Did you mean model.encoder.kind?",
    ),
    (
        "model/encoder/kernel_size",
        3,
        "Unknown setting model.encoder.kernel_size for kind = recurrent. Only kind = "
        "convolutional has it.",
    ),
    (
        "model/decoder/num_heads",
        3,
        "Unknown setting model.decoder.num_heads for kind = bahdanau. Only kind = transformer has "
        "it.",
    ),
    (
        "model/encoder/hidden_size",
        ...,
        "model.encoder.hidden_size is missing; it must be a whole number, at least 1.",
    ),
    (
        "model/encoder/kind",
        ...,
        "model.encoder.kind is missing; it must be recurrent, convolutional or transformer.",
    ),
    (
        "model/encoder/kind",
        "transform",
        "model.encoder.kind is transform; it must be recurrent, convolutional or transformer. "
        "Did you mean transformer?",
    ),
    (
        "model/encoder/kind",
        ["recurrent"],
        "model.encoder.kind is ['recurrent']; it must be recurrent, convolutional or "
        "transformer. Did you mean recurrent?",
    ),
    ("model/readout", ..., "model.readout is missing. Add a section [model.readout]."),
    ("model/source", ..., "model.source.size is missing; it must be a whole number, at least 1."),
    ("model/source", 2, "model.source is 2; it must be a section."),
    ("train", [], "train is []; it must be a section."),
    ("train/seed", "2", 'train.seed is "2"; it must be a whole number, at least 0.'),
    ("train/seed", 2.0, "train.seed is 2.0; it must be a whole number, at least 0."),
    ("train/seed", True, "train.seed is true; it must be a whole number, at least 0."),
    ("train/seed", None, "train.seed is None; it must be a whole number, at least 0."),
    ("train/seed", {"x": 1}, "train.seed is {'x': 1}; it must be a whole number, at least 0."),
    (
        "train/seed",
        2**63,
        "train.seed is 9223372036854775808; it must be a number within 64 bits.",
    ),
    ("train/max_steps", 16**5000, "train.max_steps is …; it must be a number within 64 bits."),
    (
        "train/device",
        date(2001, 2, 3),
        "train.device is 2001-02-03; it must be text on one line.",
    ),
    (
        "train/optimizer",
        ["adam"],
        "train.optimizer is ['adam']; it must be adam, adamw or adadelta.",
    ),
    (
        "model/target/size",
        0,
        "model.target.size is 0; it must be a whole number, at least 1.",
    ),
    (
        "model/encoder/reversed_source",
        True,
        "model.encoder.reversed_source is true, but bidirectional = true reads both "
        "directions anyway. Set reversed_source = false.",
    ),
    (
        "model/readout/inputs",
        "context",
        "model.readout.inputs is context; it must be a list of names.",
    ),
    (
        "model/readout/inputs",
        ["state"],
        "model.readout.inputs is state; it must be old_state, new_state, context or previous. "
        "Did you mean old_state?",
    ),
    (
        "search/nbest",
        2,
        "search.nbest is 2; it must be at most beam_size = 1. Set beam_size = 2.",
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "sentence"), SENTENCES, ids=[path for path, _, _ in SENTENCES]
)
def test_an_impossible_value_gets_its_error_message(path, value, sentence):
    assert refusal(changed(path, value)) == [sentence]


def test_the_largest_toml_integer_is_a_whole_number():
    assert settings_from(changed("train/seed", 2**63 - 1)).train.seed == 2**63 - 1


def test_errors_of_all_sections_are_reported_at_once():
    tree = {
        "dta": {},
        "train": {"seed": -1, "steps": 3},
        "model": {
            "summary": "lst",
            "source": {"size": 0},
            "encoder": {
                "kind": "convolutional",
                "num_layers": 1,
                "kernel_size": 4,
                "dropout": 1.5,
                "num_heads": 3,
            },
            "decoder": {"kind": "luong", "attention": {"score": "dot", "coverage": True}},
        },
        "search": "beam",
    }
    kinds = "plain, cho, bahdanau, luong or convolutional"
    assert refusal(tree) == [
        "Unknown section dta. Did you mean data?",
        "model.source.size is 0; it must be a whole number, at least 1.",
        "model.target.size is missing; it must be a whole number, at least 1.",
        "Unknown setting model.encoder.num_heads for kind = convolutional. Only kind = "
        "transformer has it.",
        "model.encoder.hidden_size is missing; it must be a whole number, at least 1.",
        "model.encoder.kernel_size is 4; it must be odd. Set kernel_size = 5.",
        "model.encoder.dropout is 1.5; it must be at least 0 and below 1.",
        "model.decoder.hidden_size is missing; it must be a whole number, at least 1.",
        "model.decoder.attention.coverage is true, but score = dot has no coverage; only "
        "the additive score has. Set score = additive.",
        "model.readout is missing. Add a section [model.readout].",
        "model.summary is lst; it must be none, last, backward, mean, max or tanh. "
        "Did you mean last?",
        "Unknown setting train.steps. Did you mean train.max_steps?",
        "train.seed is -1; it must be a whole number, at least 0.",
        "search is beam; it must be a section.",
    ]
    tree["model"]["decoder"] = {"kind": "transformer", "hidden_size": 3}
    assert f"Only kind = {kinds} has it." in refusal(tree)[7]


def test_a_model_is_needed_with_all_that_has_no_default():
    assert refusal({}) == [
        "model.source.size is missing; it must be a whole number, at least 1.",
        "model.target.size is missing; it must be a whole number, at least 1.",
        "model.encoder.kind is missing; it must be recurrent, convolutional or transformer.",
        "model.decoder.kind is missing; it must be plain, cho, bahdanau, luong, convolutional "
        "or transformer.",
        "model.readout is missing. Add a section [model.readout].",
    ]


def test_a_value_that_is_not_a_tree_is_refused():
    assert refusal([1]) == ["the tree is [1]; it must be a section."]


def paths(tree, path=""):
    for name, value in tree.items():
        yield f"{path}{name}"
        if isinstance(value, dict):
            yield from paths(value, f"{path}{name}/")


def test_a_value_too_long_to_print_is_refused_anywhere():
    deep = tomllib.loads("a." * 5000 + "a = 1")
    tree = changed("model/decoder/attention/coverage", True)
    for path in [*paths(tree), "model/decoder/attention/score", "train/seed"]:
        for endless in (16**5000, deep):
            told = refusal(changed(path, endless, tree))
            names = [re.sub("^Unknown (setting|section) ", "", line) for line in told]
            assert all(name.startswith(path.replace("/", ".")) for name in names)
    assert refusal(changed("model/decoder/attention/score", deep, tree)) == [
        "model.decoder.attention.score is …; it must be additive, concat, dot, scaled_dot, "
        "bilinear, gaussian, gaussian_learned or location."
    ]
    assert refusal(changed("a", deep)) == ["Unknown section a."]
